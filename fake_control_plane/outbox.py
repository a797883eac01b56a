"""Queue the messages of one stream, and drop old ones if the client does not read. No I/O."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final, Generic, Protocol, TypeVar

from msgspec.structs import replace

from fake_control_plane.kinds import Kind
from fake_control_plane.stream import Outgoing

MOST_BYTES: Final = 1 << 25
"""Most bytes of queued resources: as many as a server's transcript keeps. The queue keeps one
response of each type whatever its size."""

MOST_ITEMS: Final = 1000

_T = TypeVar("_T")


class Rules(Protocol[_T]):
    """How large an item is, and which of several have to be sent."""

    def size(self, item: _T) -> int:
        """Bytes of an item."""

    def newest(self, items: Sequence[_T]) -> tuple[list[_T], list[_T]]:
        """Return the items to keep, which replace all others, and the items to drop."""


class Outbox(Generic[_T]):
    """Items in the order in which they are sent, up to a bound."""

    def __init__(self, rules: Rules[_T]) -> None:
        self._rules = rules
        self._items: deque[_T] = deque()
        self._size = 0

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: _T) -> list[_T]:
        """Add an item.

        Returns:
            The items that are given up as there are too many, oldest first.
        """
        self._items.append(item)
        self._size += self._rules.size(item)
        if self._size <= MOST_BYTES and len(self._items) <= MOST_ITEMS:
            return []
        kept, given_up = self._rules.newest(tuple(self._items))
        self._items = deque(kept)
        self._size = sum(map(self._rules.size, kept))
        return given_up

    def take(self) -> _T:
        """Remove and return the oldest item; there must be one."""
        item = self._items.popleft()
        self._size -= self._rules.size(item)
        return item


class ResponseRules:
    """Keep the newest response of each type, and the newest that a fault made."""

    def size(self, item: Outgoing) -> int:
        """Return the bytes of its resources."""
        return sum(len(packed.body) for packed in item.resources)

    def newest(self, items: Sequence[Outgoing]) -> tuple[list[Outgoing], list[Outgoing]]:
        """One response of each type, with the newest version of each resource.

        A response that carries all of its type needs none of those before it.
        """
        kept: dict[tuple[str, bool], Outgoing] = {}
        given_up = []
        for item in items:
            place = item.type_url, bool(item.fault)
            before = kept.pop(place, None)
            if before is None:
                kept[place] = item
            else:
                kept[place] = _merged(before, item)
                given_up.append(before)
        return list(kept.values()), given_up


class NewestOnly(Generic[_T]):
    """Keep the newest item only: items are small, and each repeats the whole state."""

    def size(self, _: _T) -> int:
        """They are small."""
        return 0

    def newest(self, items: Sequence[_T]) -> tuple[list[_T], list[_T]]:
        """Keep the last item."""
        return [items[-1]], list(items[:-1])


def _merged(before: Outgoing, item: Outgoing) -> Outgoing:
    kind = Kind.of_type_url(item.type_url)
    if item.fault or kind is None or kind.is_complete:
        return item
    names = {packed.name for packed in item.resources}
    left = tuple(packed for packed in before.resources if packed.name not in names)
    return replace(item, resources=(*left, *item.resources)) if left else item
