"""A client, or a mutant of one, as scenarios are run against it."""

from __future__ import annotations

from typing import Any

import msgspec

from client_under_test.environments import Prepared
from client_under_test.manifests.manifest import Manifest
from conformance.judging import ring_keys
from conformance.judging.evidence import JudgedClient
from conformance.judging.ring_keys import RingKeys
from conformance.spec.oracles.backoff import Backoff

RESOLUTIONS_KNOB = "dns_min_interval_ms"


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A client, or a mutant of one, that scenarios are run against."""

    prepared: Prepared
    judged: JudgedClient
    environment: dict[str, str] = {}
    """More environment for the client, such as from ``--env``."""
    mutant: str = ""
    clause: str = ""
    """The clause that the mutant breaks: only scenarios that claim it run against the mutant."""
    side: str = ""
    """Which of several clients it is, if one run compares several. All scenarios run against it."""

    @property
    def label(self) -> str:
        """Return what tells it from the other targets of its run; empty if it is the only one."""
        return self.mutant or self.side

    @property
    def resolves_soon(self) -> bool:
        """Return whether the client has a knob for the minimum time between resolutions."""
        return RESOLUTIONS_KNOB in self.prepared.client.manifest.knobs


def backoff_of(manifest: Manifest) -> Backoff:
    """Return the backoff that a client declares, or the default of gRPC's document."""
    stated = manifest.backoff
    return Backoff() if stated is None else Backoff(**msgspec.structs.asdict(stated))


def subject_for(client: Prepared, **more: Any) -> Target:
    """Return a client as the target of scenarios, by its manifest."""
    manifest = client.client.manifest
    written = manifest.ring_key_format_of(client.version)
    keys = ring_keys.stated(written) or RingKeys()
    # A declared format is a choice like others. A format that the run found applies to all rings.
    formats = {ring_keys.CLAUSE: keys.format} if keys.format else {}
    judged = JudgedClient(
        name=client.client.name,
        version=client.version,
        variant=client.client.variant,
        follows=client.editions,
        issues=manifest.issues,
        ring_keys=keys,
        choices={**manifest.choices_of(client.version), **formats},
        backoff=backoff_of(manifest),
    )
    return Target(prepared=client, judged=judged, **more)
