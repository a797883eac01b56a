"""What the fleet saw: every attempt to connect, and every RPC that reached a backend."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from test_servers.backend_metrics import BackendMetrics
from test_servers.journal import Journal
from test_servers.modes import Mode

__all__ = ["Action", "Attempt", "Ender", "Ledger", "Metadata", "Rpc"]

Metadata = tuple[tuple[str, str | bytes], ...]
Ender = Literal["client", "gate", "backend"]


class Rpc(msgspec.Struct, frozen=True, kw_only=True):
    """An RPC as its backend saw it.

    Attributes:
        at: When the backend's handler began, monotonic seconds.
        ended_at: When it was over, None while it is not.
        status: Name of the status that the backend ended it with. CANCELLED says that the client
            gave up, its deadline passed or the connection was lost. None while it is not over.
        metrics: The load that the backend reported at the end, None if it reported none.
        endpoint: Id of the endpoint.
        connection: Id of the connection that it came through, as in `Attempt`; 0 if through none
            of the gate's.
        path: Such as "/grpc.testing.TestService/UnaryCall".
        metadata: Pairs as received, repeats and the transport's own (user-agent) among them; values
            of keys that end in -bin are bytes.
        deadline: Seconds that the client had left when the RPC arrived, None without a deadline.
    """

    at: float
    ended_at: float | None = None
    status: str | None = None
    metrics: BackendMetrics | None = None
    endpoint: str
    connection: int
    path: str
    metadata: Metadata
    deadline: float | None

    def values(self, key: str) -> tuple[str | bytes, ...]:
        """Return the values of a metadata key, in order."""
        return tuple(value for name, value in self.metadata if name == key)


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """A connection that a gate accepted.

    Attributes:
        endpoint: Id of the endpoint.
        connection: Id of the connection, counted from 1 through the whole fleet.
        peer: The client's address.
        mode: The gate's mode when it accepted.
        accepted_at: When, monotonic seconds.
        first_byte_at: When the first byte came from the client, None before.
        closed_at: When the first sign of the end was seen: either side's FIN or reset, or the
            gate's own closing. None before.
        closed_by: The side that ended it, None before.
    """

    endpoint: str
    connection: int
    peer: str
    mode: Mode
    accepted_at: float
    first_byte_at: float | None = None
    closed_at: float | None = None
    closed_by: Ender | None = None


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """What was done to a gate.

    Attributes:
        endpoint: Id of the endpoint.
        at: When, monotonic seconds.
        mode: The mode that it was given; None where its live connections were dealt with.
        what: The action on live connections: "kill" or "go away". Empty with a mode.
    """

    endpoint: str
    at: float
    mode: Mode | None = None
    what: Literal["", "kill", "go away"] = ""


def as_lines(rpcs: Sequence[Rpc]) -> bytes:
    """JSON lines, with bytes in base64."""
    return msgspec.json.Encoder().encode_lines(rpcs)


class Ledger:
    """The record of one fleet. Rows are frozen; what happens to one later replaces it.

    Args:
        most: How many RPCs and how many attempts are kept at most, None for all. When there are
            more, the oldest half of them goes.
        forget: Gets the RPCs that go.
    """

    def __init__(
        self, most: int | None = None, forget: Callable[[list[Rpc]], object] = lambda _: None
    ) -> None:
        self._actions: list[Action] = []
        self._rpcs: Journal[Rpc] = Journal("RPCs", most, forget)
        self._attempts: Journal[Attempt] = Journal("attempts", most)

    @property
    def rpcs(self) -> tuple[Rpc, ...]:
        """All RPCs that are kept, in the order in which they began."""
        return self._rpcs.rows

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """All attempts that are kept, in the order in which they were accepted."""
        return self._attempts.rows

    @property
    def actions(self) -> tuple[Action, ...]:
        """What was done to gates, from their opening on, in that order."""
        return tuple(self._actions)

    def __len__(self) -> int:
        """How many RPCs there have been: a mark for `since`."""
        return len(self._rpcs)

    async def wait(
        self,
        predicate: Callable[[Rpc], bool],
        *,
        count: int = 1,
        since: int = 0,
        deadline: float,
    ) -> tuple[Rpc, ...]:
        """Wait until `count` RPCs satisfy a predicate at the same time, and return them in order.

        Args:
            predicate: Asked of each RPC, when it begins and when it ends.
            count: How many RPCs have to satisfy it.
            since: How many of the first RPCs are left out.
            deadline: Seconds from now.

        Raises:
            DeadlinePassed: Fewer did in time.
        """
        return await self._rpcs.wait(predicate, count=count, since=since, deadline=deadline)

    async def wait_attempts(
        self,
        predicate: Callable[[Attempt], bool],
        *,
        count: int = 1,
        since: int = 0,
        deadline: float,
    ) -> tuple[Attempt, ...]:
        """Like `wait`, for attempts: asked when one is accepted, first heard from and closed."""
        return await self._attempts.wait(predicate, count=count, since=since, deadline=deadline)

    def write(self, path: Path) -> None:
        """Write the RPCs that are kept as JSON lines, bytes in base64."""
        path.write_bytes(as_lines(self.rpcs))

    # What follows is for gates and backends.

    def did(self, endpoint: str, action: Mode | Literal["kill", "go away"]) -> None:
        """Record a change of a gate."""
        at = time.monotonic()
        if isinstance(action, str):
            self._actions.append(Action(endpoint=endpoint, at=at, what=action))
        else:
            self._actions.append(Action(endpoint=endpoint, at=at, mode=action))

    def began(
        self, endpoint: str, connection: int, path: str, metadata: Metadata, deadline: float | None
    ) -> int:
        """Record the start of an RPC; return its index."""
        index = len(self._rpcs)
        self._rpcs.append(
            Rpc(
                at=time.monotonic(),
                endpoint=endpoint,
                connection=connection,
                path=path,
                metadata=metadata,
                deadline=deadline,
            )
        )
        return index

    def ended(self, index: int, status: str, metrics: BackendMetrics | None = None) -> None:
        """Record the end of an RPC, and the load that its backend reported."""
        row, now = self._rpcs.get(index), time.monotonic()
        if row is not None:
            self._rpcs.amend(
                index, msgspec.structs.replace(row, ended_at=now, status=status, metrics=metrics)
            )

    def accepted(self, endpoint: str, peer: str, mode: Mode, at: float) -> int:
        """Record an attempt; return the connection's id."""
        connection = len(self._attempts) + 1
        self._attempts.append(
            Attempt(
                endpoint=endpoint,
                connection=connection,
                peer=peer,
                mode=mode,
                accepted_at=at,
            )
        )
        return connection

    def heard(self, connection: int) -> None:
        """Record the first byte of a connection."""
        row = self._attempts.get(connection - 1)
        if row is not None:
            self._attempts.amend(
                connection - 1, msgspec.structs.replace(row, first_byte_at=time.monotonic())
            )

    def closed(self, connection: int, by: Ender) -> None:
        """Record the end of a connection; only the first report counts."""
        row = self._attempts.get(connection - 1)
        if row is not None and row.closed_at is None:
            self._attempts.amend(
                connection - 1,
                msgspec.structs.replace(row, closed_at=time.monotonic(), closed_by=by),
            )
