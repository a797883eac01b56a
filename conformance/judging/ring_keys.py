"""How a client names the entries of its rings, and what that makes of an expectation. Pure.

A42 gives the key of an entry as an example only. So a client is held to the format that its
manifest states or that a calibration has found, exactly; and to its arcs where neither tells one.
"""

from __future__ import annotations

import msgspec

from conformance.judging.expectations import Expectation, MatchesRing
from conformance.judging.observations import Calls
from conformance.judging.verdicts import Cause
from conformance.spec.oracles.ring.keys import KEY_FORMATS, KeyFormat

CLAUSE = "A42-RING-03"
"""The clause that leaves the format to the client; a manifest states it as `ring-key-formats`."""

UNKNOWN = "unknown"
"""A manifest's value for a format that the suite does not know."""


class RingKeys(msgspec.Struct, frozen=True, kw_only=True):
    """The format of the keys of a client's ring entries, as far as known."""

    format: str | None = None
    """One of KEY_FORMATS, which binds the client; None: unknown."""
    is_found: bool = False
    """True if a calibration found the format; False if the manifest states it."""
    note: str = ""
    """Why it is unknown, in words."""
    refusal: Cause | None = None
    """If that is because the client refused the plain ring: what other scenarios end by, too."""

    @property
    def known(self) -> KeyFormat | None:
        """The format, as the oracle has it."""
        return KEY_FORMATS.get(self.format or "")

    def bind(self, expected: Expectation) -> Expectation:
        """Return the expectation for a client with this key format."""
        if not isinstance(expected, MatchesRing):
            return expected
        if self.known is None:
            return msgspec.structs.replace(expected, by_arcs=True)
        return msgspec.structs.replace(expected, key_format=self.known)


def stated(written: str | None) -> RingKeys | None:
    """Return the manifest's format; None if it states none and a calibration must find it."""
    if written is None:
        return None
    if written == UNKNOWN:
        return RingKeys(note="client.toml says so")
    return RingKeys(format=written)


def found(plain: MatchesRing, calls: Calls) -> RingKeys:
    """Return the format that calls on a plain ring reveal.

    Args:
        plain: the expected endpoints, by any known way of building the ring.
        calls: calls with enough hashes that no wrong format explains all of them by chance.
    """
    fitting = plain.key_formats(calls)
    if len(fitting) == 1:
        (only,) = (name for name, known in KEY_FORMATS.items() if known in fitting)
        return RingKeys(format=only, is_found=True)
    if fitting:
        return RingKeys(note="several known formats fit the calls on a plain ring")
    return RingKeys(note=f"none that is known fits: on a plain ring {plain.finding(calls).saw}")
