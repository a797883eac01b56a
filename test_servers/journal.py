"""Rows that are appended and amended, and waits on them that need no polling."""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

from test_servers.exceptions import DeadlinePassed

__all__ = ["Journal"]

Row = TypeVar("Row")


class Journal(Generic[Row]):
    """Frozen rows in the order of their beginning, each with its newest contents.

    Args:
        noun: What a row is, in the plural, for messages.
        most: How many rows are kept at most, None for all. The oldest half goes for one more.
        forget: Gets those that go.
    """

    def __init__(
        self,
        noun: str,
        most: int | None = None,
        forget: Callable[[list[Row]], object] = lambda _: None,
    ) -> None:
        self._noun = noun
        self._most = most
        self._forget = forget
        self._gone = 0
        self._rows: list[Row] = []
        self._waits: set[_Wait[Row]] = set()

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows that are kept, as they are now."""
        return tuple(self._rows)

    def __len__(self) -> int:
        """How many rows there have been."""
        return self._gone + len(self._rows)

    def get(self, index: int) -> Row | None:
        """Return the row at an index; None if it is no longer kept."""
        return self._rows[index - self._gone] if index >= self._gone else None

    def append(self, row: Row) -> None:
        """Add a row; its index is the journal's previous length."""
        if len(self._rows) == self._most:
            old = self._rows[: (self._most + 1) // 2]
            del self._rows[: len(old)]
            self._gone += len(old)
            self._forget(old)
        self._rows.append(row)
        if self._waits:
            self._tell(len(self) - 1, row)

    def amend(self, index: int, row: Row) -> None:
        """Replace the row at an index, which is kept."""
        self._rows[index - self._gone] = row
        if self._waits:
            self._tell(index, row)

    def _tell(self, index: int, row: Row) -> None:
        for wait in tuple(self._waits):
            wait.see(index, row)

    async def wait(
        self,
        predicate: Callable[[Row], bool],
        *,
        count: int = 1,
        since: int = 0,
        deadline: float,
    ) -> tuple[Row, ...]:
        """Wait until `count` rows satisfy a predicate at the same time, and return them in order.

        Args:
            predicate: Asked of each row as it is now, then whenever one is added or amended.
            count: How many rows have to satisfy it.
            since: Index of the first row that counts.
            deadline: Seconds from now.

        Raises:
            DeadlinePassed: Fewer rows satisfied it in time; the message says how many.
        """
        wait = _Wait(predicate, count, since)
        for index in range(max(since, self._gone), len(self)):
            wait.see(index, self._rows[index - self._gone])
        self._waits.add(wait)
        try:
            async with asyncio.timeout(deadline):
                return await wait.done
        except TimeoutError:
            last = f"; the last is {self._rows[-1]!r}" if self._rows else ""
            raise DeadlinePassed(
                f"{len(wait.found)} of {count} awaited {self._noun} were seen within "
                f"{deadline:g} s, of {len(self)} in all{last}"
            ) from None
        finally:
            self._waits.discard(wait)


class _Wait(Generic[Row]):
    """One wait: the rows that satisfy its predicate at this moment."""

    def __init__(self, predicate: Callable[[Row], bool], count: int, since: int) -> None:
        self._predicate = predicate
        self._count = count
        self._since = since
        self.found: dict[int, Row] = {}
        self.done: asyncio.Future[tuple[Row, ...]] = asyncio.get_running_loop().create_future()
        self._check()

    def see(self, index: int, row: Row) -> None:
        if index < self._since or self.done.done():
            return
        try:
            satisfied = self._predicate(row)
        except Exception as error:  # noqa: BLE001 - a predicate's fault belongs to who waits, not to the RPC
            self.done.set_exception(error)
            return
        if satisfied:
            self.found[index] = row
            self._check()
        else:
            self.found.pop(index, None)

    def _check(self) -> None:
        if len(self.found) >= self._count:
            self.done.set_result(tuple(self.found[index] for index in sorted(self.found)))
