"""Compare the client's report of calls with what the backends received. Pure.

A client with the capability `metadata` gives each call an id of its own, by which a backend's row
is found. For other clients, consecutive calls that are alike share a mark, and are counted.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

import msgspec

from client_under_test.launching.channels import CALL_ID_KEY, OpenedStream, Outcome
from client_under_test.launching.channels import Call as PlannedCall
from conformance.judging.observations import OPEN, WAITING, Call
from test_servers import Rpc

ClaimedAnswer = tuple[str | None, str]
"""A mark, and the endpoint that reportedly answered calls with that mark."""


def marked_by_rows(planned: Sequence[PlannedCall]) -> list[PlannedCall]:
    """Return the calls with one mark for each run of consecutive calls that are alike.

    For a client that cannot give each call metadata of its own.
    """
    marked: list[PlannedCall] = []
    for call in planned:
        last = marked[-1] if marked else None
        alike = last is not None and last.metadata == call.metadata
        mark = last.mark if last is not None and alike else call.id
        marked.append(msgspec.structs.replace(call, mark=mark))
    return marked


def ids(row: Rpc) -> tuple[str, ...]:
    """Return the ids, or marks, of a call that a backend received."""
    return tuple(map(str, row.values(CALL_ID_KEY)))


def said_ok(outcomes: Iterable[Outcome]) -> set[str]:
    """Return the ids of the calls that the client reports as OK."""
    return {outcome.id for outcome in outcomes if outcome.status == "OK"}


def lie_by_id(
    outcomes: Iterable[Outcome], arrived: Mapping[str, str], opened: Iterable[OpenedStream] = ()
) -> str | None:
    """Describe a false statement of the client's report; None if there is none.

    Args:
        outcomes: what it reports.
        arrived: by call, the endpoint whose backend received it.
        opened: streams of which it reports that they are open.
    """
    outcomes = tuple(outcomes)
    for stream in opened:
        if (real := arrived.get(stream.id)) != stream.hostname:
            return (
                f"the client reports that {stream.hostname} has opened {stream.id}, "
                f"but {real or 'nobody'} received it"
            )
    missing = said_ok(outcomes) - arrived.keys()
    if missing:
        hint = "" if arrived else "; no RPC had an id: does the adapter send the metadata of calls?"
        return (
            f"the client reports {len(missing)} calls as OK that no backend received, "
            f"{min(missing)} for one{hint}"
        )
    for outcome in outcomes:
        told, real = outcome.hostname, arrived.get(outcome.id)
        if outcome.status == "OK" and told is not None and told != real:
            return (
                f"the client reports that {outcome.id} was answered by {told}, "
                f"but {real} received it"
            )
    return None


def answered_by(outcomes: Iterable[Outcome]) -> dict[str, str]:
    """By call that is reported as OK, the endpoint that the client says answered it."""
    return {call.id: call.hostname or "nobody" for call in outcomes if call.status == "OK"}


def claims(planned: Iterable[PlannedCall], told: Mapping[str, str]) -> Counter[ClaimedAnswer]:
    """Count the calls of each mark that each endpoint answered according to the client."""
    return Counter((call.mark, told[call.id]) for call in planned if call.id in told)


def lie_by_count(claimed: Counter[ClaimedAnswer], counted: Counter[ClaimedAnswer]) -> str | None:
    """Describe what is untrue if the client reports more calls than the backends received.

    The backends may receive more than it reports: such a client makes more calls than requested.
    """
    for (mark, where), more in sorted((claimed - counted).items()):
        return (
            f"the client reports {claimed[mark, where]} calls like {mark} as answered by "
            f"{where}, {more} more than were received there"
        )
    return None


def ended(
    channel: str,
    planned: Iterable[PlannedCall],
    outcomes: Iterable[Outcome],
    endpoints: Mapping[str, str] = MappingProxyType({}),
    opened: Iterable[OpenedStream] = (),
) -> tuple[Call, ...]:
    """Return the calls that have ended, with the client's status and the backends' rows.

    Those that have not ended are streams that are open, or wait to be.
    """
    by_id = {outcome.id: (outcome.status, outcome.details, outcome.headers) for outcome in outcomes}
    known = dict.fromkeys((stream.id for stream in opened), (OPEN, "", ())) | by_id
    made = ((call, *known.get(call.id, (WAITING, "", ()))) for call in planned)
    return tuple(
        Call(
            id=call.id,
            channel=channel,
            path=call.path,
            metadata=tuple((key, _as_text(value)) for key, value in call.metadata),
            status=status,
            details=details,
            endpoint=endpoints.get(call.id),
            headers=headers,
        )
        for call, status, details, headers in made
    )


def can_be_plain(planned: Collection[PlannedCall], paths: Collection[str]) -> bool:
    """Return whether a client with only these paths and text metadata can make the calls."""
    return all(
        call.path in paths and not any(key.endswith("-bin") for key, _ in call.metadata)
        for call in planned
    )


def _as_text(value: str | bytes) -> str:
    return value if isinstance(value, str) else base64.b64encode(value).decode()
