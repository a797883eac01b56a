"""The least time between two resolutions of a name: who is told of a short one, and keeps to it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from client_under_test.environments import prepare
from client_under_test.manifests.clients import find
from conformance import timing
from conformance.judging.evidence import JudgedClient
from conformance.runner.targets import Target

JUDGED = JudgedClient(name="reference", version="1.0.0", variant=None, follows=("A37",))


@pytest.mark.parametrize("knob", ["dns_min_interval_ms", "failover_timeout_ms"])
def test_who_resolves_soon(knob: str) -> None:
    prepared = prepare(find("reference"))
    knobs = {knob: prepared.client.manifest.knobs[knob]}  # type: ignore[index]
    manifest = msgspec.structs.replace(prepared.client.manifest, knobs=knobs)
    client = msgspec.structs.replace(prepared.client, manifest=manifest)
    subject = Target(prepared=msgspec.structs.replace(prepared, client=client), judged=JUDGED)
    assert subject.resolves_soon is (knob == "dns_min_interval_ms")


async def test_nobody_waits_for_what_is_shipped(xdspec: Any) -> None:
    """The name server's world is in a process of its own: it has the scenario's knobs, too."""
    ended = await xdspec.run("run", "reference", "--scenario", "dns_reresolution.*")
    seen = tuple(ended.scenarios.values())
    if any(result["verdict"] == "skip" for result in seen):
        pytest.skip(next(clause["seen"][0] for clause in ended.clauses.values() if clause["seen"]))
    assert {result["verdict"] for result in seen} == {"pass"}
    # One may find that the least time has passed already; not all do.
    longest = max(result["seconds"] for result in seen)
    assert timing.SOON_AGAIN.apart < longest < timing.RESOLUTIONS.apart
