"""Compute the allowed results of a request while endpoints fail and lists change.

Nothing is said here of where a request has to go, only of what can be the reason that it went
somewhere or failed. Times are seconds of one clock; what was so within the last moments before an
event, a window, may be its reason. So a soak decides A42-RING-18 and A42-PICK-23.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct


class Listing(Struct, frozen=True, kw_only=True):
    """A list of endpoints, from when it is sent until the client has acknowledged the next."""

    addresses: tuple[str, ...]
    began: float
    ended: float


class Fault(Struct, frozen=True, kw_only=True):
    """A time in which an endpoint does not take connections, or drops those that it has."""

    address: str
    began: float
    ended: float
    is_silent: bool = False
    """Whether it keeps who connects waiting, rather than closing."""


class Request(Struct, frozen=True, kw_only=True):
    """A request from its start to its end."""

    id: str
    began: float
    ended: float
    status: str
    endpoint: str | None = None
    """Where it was received, if at all."""


def listed(listings: Sequence[Listing], since: float, until: float) -> frozenset[str]:
    """The addresses that were listed at some moment of this time."""
    return frozenset(
        address
        for listing in listings
        if listing.began <= until and since <= listing.ended
        for address in listing.addresses
    )


def is_placed(request: Request, listings: Sequence[Listing], moments: float) -> bool:
    """Whether it was received nowhere, or at an endpoint of a list in the last moments."""
    there = listed(listings, request.began - moments, request.ended)
    return request.endpoint is None or request.endpoint in there


def may_fail(
    request: Request, listings: Sequence[Listing], faults: Sequence[Fault], moments: float
) -> bool:
    """Whether something in the last moments can be why it did not succeed.

    That is a change of the list, or a fault of an endpoint on it. One that runs into its deadline
    waits to the end, so there must be something then for which it waits: an endpoint that is
    silent, or a change. Any other may fail by whatever came while it was under way.
    """
    if request.status == "OK":
        return True
    waited = request.status == "DEADLINE_EXCEEDED"
    since = (request.ended if waited else request.began) - moments
    for old, new in pairwise(listings):
        if new.began <= request.ended and since <= old.ended:
            return True
    there = listed(listings, since, request.ended)
    return any(
        fault.address in there
        and fault.began <= request.ended
        and since <= fault.ended
        and (fault.is_silent or not waited)
        for fault in faults
    )
