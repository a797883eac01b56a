"""Compute the allowed results of a request while endpoints fail and lists change.

This module does not compute the endpoint that a request must reach. It decides whether a recent
change or fault can explain the endpoint or the failure. Times are seconds of one clock; `moments`
is the number of seconds for which a change or fault stays an explanation. A soak decides
A42-RING-18 and A42-PICK-23.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct


class Listing(Struct, frozen=True, kw_only=True):
    """A list of endpoints, in force from its push until the client ACKs the next list."""

    addresses: tuple[str, ...]
    began: float
    ended: float


class Fault(Struct, frozen=True, kw_only=True):
    """A period in which an endpoint accepts no connections, or drops those that it has."""

    address: str
    began: float
    ended: float
    is_silent: bool = False
    """True if the endpoint leaves connection attempts unanswered; False if it refuses them."""


class Request(Struct, frozen=True, kw_only=True):
    """A request from its start to its end."""

    id: str
    began: float
    ended: float
    status: str
    endpoint: str | None = None
    """The endpoint that received the request, if any did."""


def listed(listings: Sequence[Listing], since: float, until: float) -> frozenset[str]:
    """Return the addresses that were on a list at some time between `since` and `until`."""
    return frozenset(
        address
        for listing in listings
        if listing.began <= until and since <= listing.ended
        for address in listing.addresses
    )


def is_placed(request: Request, listings: Sequence[Listing], moments: float) -> bool:
    """Return whether a recent list contains the endpoint that received the request, if any."""
    there = listed(listings, request.began - moments, request.ended)
    return request.endpoint is None or request.endpoint in there


def may_fail(
    request: Request, listings: Sequence[Listing], faults: Sequence[Fault], moments: float
) -> bool:
    """Return whether the request succeeded, or a recent change or fault explains its failure.

    An explanation is a change of the list, or a fault of an endpoint on it. A request that exceeds
    its deadline was queued until then, so its explanation must be recent at its end: a silent
    endpoint, or a change. Any other failure may have an explanation at any time of the request.
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
