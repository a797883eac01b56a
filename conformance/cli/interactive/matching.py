"""Which of the requests that backends received are the calls that a person was asked for. Pure.

A call that carries the id that it was told with is known by it. Calls of a client that sends none
are known by their path and by the metadata that was asked for; those that are alike are taken in
the order in which they came, as nobody can tell which of them is which.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Mapping, Sequence

from client_under_test import CALL_ID_KEY
from client_under_test import Call as PlannedCall
from test_servers import Rpc

MetadataKey = tuple[tuple[str, tuple[str | bytes, ...]], ...]
"""By key, all its values in their order."""


def recognize(
    planned: Sequence[PlannedCall], rows: Mapping[int, Rpc]
) -> tuple[dict[str, int], tuple[int, ...]]:
    """By the id of each call that was received, its row; and the rows of more than was asked for.

    Args:
        planned: what was asked for.
        rows: what backends received and nobody has recognized yet, by number, the oldest first.
    """
    found, rest, again = _by_id({call.id for call in planned}, rows)
    by_keys: dict[tuple[str, ...], list[PlannedCall]] = defaultdict(list)
    for call in planned:
        if call.id not in found:
            by_keys[_keys(call)].append(call)
    # Those with most metadata first: a call without any is like every other.
    for keys in sorted(by_keys, key=len, reverse=True):
        waiting: dict[tuple[str, MetadataKey], deque[int]] = defaultdict(deque)
        for number, row in rest.items():
            waiting[row.path, _of_row(row, keys)].append(number)
        for key in by_keys[keys]:
            if alike := waiting[key.path, _of_call(key, keys)]:
                found[key.id] = alike.popleft()
                del rest[found[key.id]]
    return found, (*again, *rest)


def _by_id(
    ids: Collection[str], rows: Mapping[int, Rpc]
) -> tuple[dict[str, int], dict[int, Rpc], list[int]]:
    """The rows with these ids; those without any; and those with one that another has, too."""
    found: dict[str, int] = {}
    rest: dict[int, Rpc] = {}
    again = []
    for number, row in rows.items():
        carried = [str(value) for value in row.values(CALL_ID_KEY)]
        if not carried:
            rest[number] = row
        for name in carried:
            if name in found:
                again.append(number)
            elif name in ids:
                found[name] = number
    return found, rest, again


def _keys(call: PlannedCall) -> tuple[str, ...]:
    return tuple(sorted({key for key, _ in call.metadata}))


def _of_call(call: PlannedCall, keys: Collection[str]) -> MetadataKey:
    return tuple((key, tuple(v for name, v in call.metadata if name == key)) for key in keys)


def _of_row(row: Rpc, keys: Collection[str]) -> MetadataKey:
    return tuple((key, row.values(key)) for key in keys)
