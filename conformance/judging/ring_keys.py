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
"""What a manifest says of a format that is none of the known."""


class RingKeys(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the keys of a client's ring entries."""

    format: str | None = None
    """One of KEY_FORMATS, which binds the client; None: unknown."""
    is_found: bool = False
    """Whether a calibration has found it, and not the manifest stated it."""
    note: str = ""
    """Why it is unknown, in words."""
    refusal: Cause | None = None
    """If that is because the client refused the plain ring: what other scenarios end by, too."""

    @property
    def known(self) -> KeyFormat | None:
        """The format, as the oracle has it."""
        return KEY_FORMATS.get(self.format or "")

    def bind(self, expected: Expectation) -> Expectation:
        """The same expectation, of a client whose keys are these."""
        if not isinstance(expected, MatchesRing):
            return expected
        if self.known is None:
            return msgspec.structs.replace(expected, by_arcs=True)
        return msgspec.structs.replace(expected, key_format=self.known)


def stated(written: str | None) -> RingKeys | None:
    """What a manifest says; None if it says nothing, so that it is to be found out."""
    if written is None:
        return None
    if written == UNKNOWN:
        return RingKeys(note="client.toml says so")
    return RingKeys(format=written)


def found(plain: MatchesRing, calls: Calls) -> RingKeys:
    """What calls on a plain ring tell.

    Args:
        plain: where each of them belongs, by any known way of building the ring.
        calls: with so many hashes that a wrong format explains all of them by no chance.
    """
    fitting = plain.key_formats(calls)
    if len(fitting) == 1:
        (only,) = (name for name, known in KEY_FORMATS.items() if known in fitting)
        return RingKeys(format=only, is_found=True)
    if fitting:
        return RingKeys(note="several known formats fit the calls on a plain ring")
    return RingKeys(note=f"none that is known fits: on a plain ring {plain.finding(calls).saw}")
