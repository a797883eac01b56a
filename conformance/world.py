"""One world a scenario: a control plane, a fleet, a client process, and what was seen of them."""

from __future__ import annotations

import asyncio
import base64
import math
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec

from client_under_test import (
    CALL_ID_KEY,
    Batch,
    Channel,
    ClientProcess,
    Outcome,
    Prepared,
    StateWatch,
)
from client_under_test import Call as PlannedCall
from client_under_test.contract import StateName
from client_under_test.exceptions import ClientHung, ClientTrouble, NotSeen
from client_under_test.hosts import with_hosts, write_hosts
from client_under_test.nursery import Nurseries
from conformance import dialect, timing
from conformance.bootstrap import VARIABLE as BOOTSTRAP_VARIABLE
from conformance.bootstrap import bootstrap
from conformance.catalogue import Catalogue, edition_for
from conformance.evidence import Judged
from conformance.expectations import Evenly, Expectation, MapsLike, Reaches, fits
from conformance.lateness import Lateness
from conformance.oracles.request_hash import HashPolicy, xxh64
from conformance.oracles.ring import KEY_FORMATS, KeyFormat, RingVariant, values_telling_sizes
from conformance.seen import (
    Answer,
    Attempt,
    Attempts,
    Call,
    Calls,
    Connections,
    Elapsed,
    Reported,
    Seen,
    States,
)
from conformance.serving import (
    BY_SESSION,
    LISTENER,
    SESSION,
    Policy,
    RingHash,
    Route,
    Served,
    plain,
)
from conformance.verdicts import Check, Wanted, expectation_of, leaves_a_choice
from fake_control_plane import ControlPlane, DeadlinePassed, Kind, Push, StreamOpened
from test_servers import Attempt as Accepted
from test_servers import DeadlinePassed as FleetDeadlinePassed
from test_servers import Endpoint, Fleet, Mode, PortTaken, Rpc, Serve, Stall

UNARY = "/grpc.testing.TestService/UnaryCall"
EMPTY = "/grpc.testing.TestService/EmptyCall"
CONCURRENCY = 32
ENOUGH_TO_DIFFER = 24
"""Calls with different hashes that do not all meet one of four equal endpoints by chance, in none
of up to 40 such groups. One of 256 entries in 1,024 owns more than 0.4 of the ring with a chance
below 1e-20 (Beta(256, 768)), and 40 x 4 x 0.4^24 is below 1e-7. Nor do all of them meet by chance,
by another hash, what they should: that is below 1e-9."""

ENOUGH_TO_SPREAD = 60
"""Calls with random hashes that meet every one of four equal endpoints: `Everywhere` checks it, and
58 are the fewest that it takes for sure."""

TURNS, ROUNDS = 10, 4
"""Endpoints that get the same number of calls by lot, instead of in turn, with a chance of
40! / (4!^10 x 10^40), about 1e-6."""

ENOUGH_TO_TELL = 120
"""Calls with different hashes, of which one at least meets a ninth of all hashes, unless by a
chance of (8/9)^120, below 1e-6."""

ENOUGH_TO_MAP = 40
"""Calls with different hashes, of which one at least shows a change of a third of the ring, unless
by a chance of (2/3)^40, 1e-7, if it is known where each of them belongs."""

BY_ARCS = 400
"""Calls with different hashes where arcs are all that a ring can be judged by."""

TO_CHOOSE_FROM = tuple(f"value-{number}" for number in range(20_000))
"""Header values of which some twenty lie in one arc of a ring of 1,024 entries."""

PLAIN_ENDPOINTS = 4
DEFAULT_RING = RingHash()

_T = TypeVar("_T")

Headers = Mapping[str, str | bytes] | Sequence[tuple[str, str | bytes]]


class ClientRefused(Exception):
    """The client NACKed a resource on which the scenario builds."""


class ClientSilent(Exception):
    """The client did neither ACK nor NACK, or never asked for a resource, in time."""


class ClientLied(Exception):
    """What the client reported and what the backends counted cannot both be true."""


class ClientUnable(Exception):
    """The client cannot do what the scenario asks of it, as its manifest says."""


class ClientStuck(Exception):
    """The client did not get in time to where the scenario wanted it before looking."""


class ClientStrayed(Exception):
    """A request that was to bring the client there ended otherwise than one of a right client."""


class RingUnknown(Exception):
    """Nothing is known of where this client's requests go on a ring."""


class ClientAstray(Exception):
    """The client made calls, and never came to the control plane."""


class ManifestContradicted(Exception):
    """The client's manifest states what the client was not seen to do."""


class Launched(msgspec.Struct, frozen=True):
    """A control plane and a client process that was told of it, but has not said hello yet."""

    plane: ControlPlane
    process: ClientProcess
    environment: Mapping[str, str]
    """What the process was given besides the manifest's own."""
    nurseries: Nurseries | None = None
    """Where more such processes may be forked from."""

    async def close(self) -> None:
        """End both, unused."""
        await self.process.close(deadline=0)
        await self.plane.close()


async def launch(
    prepared: Prepared,
    *,
    environment: Mapping[str, str],
    knobs: Mapping[str, int],
    stderr: Path,
    nurseries: Nurseries | None = None,
) -> Launched:
    """Bind the control plane's port, then start the process that will know it.

    Raises:
        ConversationFailed: there is no such program.
    """
    spoken = prepared.client.manifest.dialect
    plane = await ControlPlane.start(translate=dialect.of(spoken))
    if dialect.asks_by_name(spoken):
        plane.script.report_loads(clusters=())
    given = {BOOTSTRAP_VARIABLE: bootstrap(plane.address), **environment}
    try:
        process = await ClientProcess.launch(
            prepared, environment=given, knobs=knobs, stderr_path=stderr, nurseries=nurseries
        )
    except BaseException:
        await plane.close()
        raise
    return Launched(plane, process, given, nurseries)


class UnderWay:
    """Calls that were started and may still be waiting."""

    def __init__(
        self,
        world: World,
        channel: Channel,
        planned: Sequence[PlannedCall],
        batch: Batch,
        since: int,
        *,
        concurrency: int | None = None,
    ) -> None:
        self._world = world
        self._channel = channel
        self._planned = planned
        self._batch = batch
        self._since = since
        self._concurrency = concurrency
        self._is_settled = False

    async def over(self) -> Calls:
        """Every call, when the last of them has ended.

        Raises:
            ClientRefused: the client NACKed what was served first, so calls may wait in vain.
            ClientStuck: calls that wait for others to end ran into their deadlines instead.
            ClientLied: the client's word and the backends' rows contradict each other.
            ConversationFailed: the client died, hung or babbled.
        """
        outcomes = await self._world.unless_refused(self._ended())
        calls = await self._world.settle(self._channel, self._planned, outcomes, self._since)
        self._is_settled = True
        return calls

    def said(self) -> tuple[Call, ...]:
        """What the client says of calls that have ended, until it is held against the backends."""
        if self._is_settled:
            return ()
        outcomes = self._batch.outcomes
        over = {one.id for one in outcomes}
        planned = [one for one in self._planned if one.id in over]
        return self._world.ended(self._channel, planned, outcomes)

    async def _ended(self) -> tuple[Outcome, ...]:
        """Every outcome; who makes one row of calls after another has time as long as some come."""
        longest = max((call.deadline or 0 for call in self._planned), default=0)
        while True:
            before = len(self._batch.outcomes)
            try:
                return await self._batch.finished(deadline=timing.BATCH + longest)
            except ClientHung as hung:
                ended = len(self._batch.outcomes)
                if self._in_time(ended, longest):
                    raise ClientStuck(f"{hung}, as those before them waited too long") from None
                if self._world.tells_calls_apart or ended == before:
                    raise

    def _in_time(self, ended: int, longest: float) -> bool:
        """Whether so many ended in BATCH as do if each of so many at once ends by its deadline."""
        if self._concurrency is None or not longest:
            return False
        return ended >= self._concurrency * int(timing.BATCH / longest) > 0

    @property
    def waiting(self) -> int:
        """How many have not ended."""
        return len(self._planned) - len(self._batch.outcomes)

    async def ends(self) -> AsyncIterator[int]:
        """How many have ended, each time that one more has.

        Raises:
            ConversationFailed: the client died or babbled.
        """
        count = 0
        async for _ in self._batch:
            count += 1
            yield count

    @property
    def spans(self) -> dict[str, tuple[float, float]]:
        """When each that has ended began, and when it ended; seconds since the scenario began."""
        began = self._world.began
        return {
            one.id: (round(one.started_at - began, 6), round(one.ended_at - began, 6))
            for one in self._batch.outcomes
        }

    async def cancel(self) -> None:
        """Cancel those that have not ended.

        Raises:
            ConversationFailed: the client died, hung or babbled.
        """
        await self._batch.cancel(deadline=timing.ADAPTER_REPLY)


class World:
    """What a scenario works with.

    Args:
        launched: the control plane and the client, which has said hello.
        fleet: the backends.
        catalogue: the clauses, to know which of them leave a choice.
        client: the client as it is judged.
        rng: the scenario's own random source, from the run's seed.
        failover: the client's failover timer.
        soak: seconds that a soak takes.
    """

    def __init__(
        self,
        launched: Launched,
        fleet: Fleet,
        *,
        catalogue: Catalogue,
        client: Judged,
        rng: random.Random,
        failover: timing.Failover = timing.FAILOVER,
        soak: float = timing.SOAK,
    ) -> None:
        self.plane = launched.plane
        self.process = launched.process
        self._environment = launched.environment
        self._nurseries = launched.nurseries
        self.fleet = fleet
        self.client = client
        self.rng = rng
        self.failover = failover
        self.soak = soak
        self.checks: list[Check] = []
        self.notes: list[str] = []
        self.history: list[str] = []
        """What was served, one after the other, in words."""
        self.calls: list[Call] = []
        self._planned = 0
        self._under_way: list[UnderWay] = []
        self.members: dict[str, Endpoint] = {}
        """Every endpoint, by the fleet's id of it."""
        self.lateness = Lateness()
        self.began = time.monotonic()
        self._catalogue = catalogue
        self._others: list[ClientProcess] = []
        self._default: Channel | None = None
        self._channels: dict[Channel, str] = {}
        self._served: Served | None = None
        self._first: Push | None = None
        self._calibration: MapsLike | None = None

    # What is there

    async def endpoints(self, count: int, *, mode: Mode | None = None) -> list[Endpoint]:
        """So many more endpoints, all in this mode (SERVE unless told otherwise)."""
        made = await self.fleet.endpoints(count, mode=mode or Serve())
        self.members.update({endpoint.id: endpoint for endpoint in made})
        return made

    async def endpoints_of_one_port(self, *hosts: str) -> list[Endpoint]:
        """An endpoint that serves at each of these addresses, all at the same port."""
        port, made = 0, list[Endpoint]()
        while len(made) < len(hosts):
            try:
                made.append(await self.fleet.endpoint(host=hosts[len(made)], port=port))
                port = made[0].port
            except PortTaken:
                port, made = 0, []
        self.members.update({endpoint.id: endpoint for endpoint in made})
        return made

    async def addresses(self, count: int) -> tuple[str, ...]:
        """The addresses of so many more endpoints that serve."""
        return tuple(endpoint.address for endpoint in await self.endpoints(count))

    async def plain_ring(self, *policies: HashPolicy, ring: Policy = DEFAULT_RING) -> Served:
        """Serve one locality of four equal endpoints, hashed by these policies or the session."""
        addresses = await self.addresses(PLAIN_ENDPOINTS)
        served = plain(addresses, policy=ring, policies=policies or BY_SESSION)
        await self.serve(served)
        return served

    def values(self, count: int) -> tuple[str, ...]:
        """Distinct header values; the run's seed repeats them."""
        return tuple(f"{self.rng.getrandbits(48):012x}" for _ in range(count))

    def pairs(self, count: int) -> tuple[tuple[str, str], ...]:
        """Values of two headers, for each of so many calls."""
        return tuple(zip(self.values(count), self.values(count), strict=True))

    def values_of_both_halves(self, each: int) -> tuple[str, ...]:
        """Distinct header values, so many with either value of the top bit of their XXH64."""
        halves: tuple[list[str], list[str]] = ([], [])
        while min(map(len, halves)) < each:
            (value,) = self.values(1)
            halves[xxh64(value) >> 63].append(value)
        return (*halves[0][:each], *halves[1][:each])

    def sessions(self, count: int) -> tuple[dict[str, str], ...]:
        """The headers of so many calls, each with a session of its own."""
        return tuple({SESSION: value} for value in self.values(count))

    def telling(self, served: Served, *, priority: int = 0) -> tuple[dict[str, str], ...]:
        """The headers of calls that tell how many entries each endpoint of a priority's ring has.

        There is a call for each ring that has one entry more, or fewer; and there are others that
        show what changes much of the ring. By arcs alone they are all there is.
        """
        values = values_telling_sizes(
            served.ring_localities(priority),
            served.config(),
            TO_CHOOSE_FROM,
            self._known_key_format or RingVariant().key_format,
        )
        return (*({SESSION: value} for value in values), *self.sessions_to_map())

    def sessions_to_map(self) -> tuple[dict[str, str], ...]:
        """The headers of calls that tell a ring: many, where its key format is no known one."""
        return self.sessions(ENOUGH_TO_MAP if self._known_key_format else BY_ARCS)

    # What the control plane does

    async def serve(self, served: Served) -> None:
        """Serve this from now on; a client that is connected must ACK what changes.

        Raises:
            ClientRefused: it NACKed one of the resources.
            ClientSilent: it answered nothing in time.
        """
        before = self._served
        self._served = served
        self.history.append(str(served))
        self._ask_for_load(before, served)
        if before is None:
            self._first = await self.plane.set(*served.resources())
            return
        known = before.resources()
        push = await self.plane.set(*(one for one in served.resources() if one not in known))
        for kind in push.versions:
            answer = await self.answer(push, kind)
            if not answer.acked:
                raise _refused(kind, answer.error_detail)

    def _ask_for_load(self, before: Served | None, served: Served) -> None:
        """Before the clusters come, ask a client for their load that has to be asked by name."""
        wanted = served.reported_clusters()
        known = before.reported_clusters() if before else ()
        spoken = self.process.prepared.client.manifest.dialect
        if wanted != known and dialect.asks_by_name(spoken):
            self.plane.script.report_loads(clusters=wanted)

    async def serve_unasked(self, served: Served) -> None:
        """Have the client take this in without any request for it.

        It came with another cluster, to which a request was made, and which is left out then. So no
        request can meet a route that is there before its cluster, as happens where both are new.

        Raises:
            ClientRefused, ClientSilent: as they say.
        """
        other = msgspec.structs.replace(
            plain(await self.addresses(1)),
            cluster_name="other",
            routes=(Route(BY_SESSION, path=EMPTY),),
        )
        await self.serve(msgspec.structs.replace(served, beside=(*served.beside, other)))
        await self.call(self.sessions(1), path=EMPTY)
        await self.serve(served)

    async def unless_refused(self, waiting: Coroutine[Any, Any, _T]) -> _T:
        """What is waited for, as long as the client does not refuse what it was served first.

        Nobody waits for the answers to that: a client need not ask before it has calls to make.

        Raises:
            ClientRefused: it NACKed one of those resources.
        """
        first = self._first
        if first is None:
            return await waiting
        waited = asyncio.create_task(waiting)
        nacked = {
            asyncio.create_task(self.plane.transcript.nacked(first, kind, deadline=math.inf)): kind
            for kind in first.versions
        }
        try:
            done, _ = await asyncio.wait([waited, *nacked], return_when=asyncio.FIRST_COMPLETED)
            if waited in done:
                return await waited
            refusal = next(task for task in nacked if task in done)
            raise _refused(nacked[refusal], refusal.result().error_detail)
        finally:
            for task in (waited, *nacked):
                task.cancel()
            await asyncio.gather(waited, *nacked, return_exceptions=True)

    async def offer(self, kind: Kind, resource: Any, *, deadline: float = timing.ANSWER) -> Answer:
        """Send a resource that the client may refuse, and hear its answer.

        Raises:
            ClientSilent: it answered nothing in time.
        """
        self.history.append(f"an offer of {kind.name}: {' '.join(str(resource).split())}")
        return await self.answer(await self.plane.set(resource), kind, deadline=deadline)

    async def answer(self, push: Push, kind: Kind, *, deadline: float = timing.ANSWER) -> Answer:
        """The ACK or NACK of a pushed resource.

        Raises:
            ClientSilent: none came in time.
        """
        try:
            request = await self.plane.transcript.answered(push, kind, deadline=deadline)
        except DeadlinePassed as passed:
            raise ClientSilent(str(passed)) from None
        return Answer(
            kind=kind.name,
            version=push.versions[kind],
            acked=request.is_ack,
            error_detail=request.error_detail or "",
        )

    # What the client does

    async def open_channel(self) -> Channel:
        """One more channel to the target."""
        return await self._open(self.process)

    async def _open(self, process: ClientProcess) -> Channel:
        opened = await process.open_channel(f"xds:///{LISTENER}", deadline=timing.ADAPTER_REPLY)
        self._channels[opened] = f"channel-{len(self._channels) + 1}"
        return opened

    async def open_channel_elsewhere(
        self, hosts: Mapping[str, Sequence[str]] | None = None, /, **environment: str | None
    ) -> Channel:
        """A channel to the same target in one more process of the client.

        One that only is given a guard may be forked. Any other starts from nothing: what is forked
        from one origin may have more in common than other processes, such as the seed of the
        language's own hash.

        Args:
            hosts: the only host names that this process knows, with their addresses.
            environment: what this process is given besides, such as a guard; None takes away what
                the manifest, its variant or the user gave.

        Raises:
            NoOwnHosts: there are hosts, and this machine cannot do that.
        """
        beside = self.process.stderr_path
        within: Sequence[str] = ()
        if hosts is not None:
            within = await asyncio.to_thread(with_hosts, *write_hosts(beside.parent, hosts))
        elsewhere = await ClientProcess.launch(
            self.process.prepared,
            environment={**self._environment, **environment},
            stderr_path=beside.with_suffix(f".{len(self._others) + 2}.stderr"),
            within=within,
            nurseries=self._nurseries if environment else None,
        )
        self._others.append(elsewhere)
        await elsewhere.greet(deadline=timing.HELLO)
        return await self._open(elsewhere)

    async def channels_by(self, guard: str, *values: str | None) -> dict[str, Channel]:
        """A channel in a process of its own for each value of a guard, None for unset, in words."""
        return {
            f"when {'unset' if value is None else value}": await self.open_channel_elsewhere(
                **{guard: value}
            )
            for value in values
        }

    async def channel(self) -> Channel:
        """The channel that calls use unless told otherwise."""
        if self._default is None:
            self._default = await self.open_channel()
        return self._default

    async def call(
        self,
        headers: Sequence[Headers],
        *,
        path: str = UNARY,
        channel: Channel | None = None,
        concurrency: int = CONCURRENCY,
        deadline: float | None = None,
    ) -> Calls:
        """Make a call with each of these headers, and say where each really went.

        Without a deadline of its own a call has time enough to succeed.

        Raises:
            ClientLied: the client's word and the backends' rows contradict each other.
            ClientUnable: it cannot make such calls.
            ConversationFailed: the client died, hung or babbled.
        """
        if deadline is None:
            deadline = timing.CALL if self.tells_calls_apart else timing.COLD_CALL
        started = await self._start(
            headers, path=path, channel=channel, concurrency=concurrency, deadline=deadline
        )
        return await started.over()

    async def start(
        self,
        headers: Sequence[Headers],
        *,
        path: str = UNARY,
        channel: Channel | None = None,
        concurrency: int | None = None,
        pace: float | None = None,
        deadline: float = timing.CALL,
        wait_for_ready: bool = False,
    ) -> UnderWay:
        """Start a call with each of these headers: all at once, so many at once, or one each pace.

        Raises:
            ClientUnable: it cannot make such calls, or makes one row of them after another.
            ConversationFailed: the client died, hung or babbled.
        """
        if not self.tells_calls_apart:
            raise ClientUnable("the client cannot make calls beside others that wait")
        return await self._start(
            headers,
            path=path,
            channel=channel,
            concurrency=concurrency,
            pace=pace,
            deadline=deadline,
            wait_for_ready=wait_for_ready,
        )

    async def _start(
        self,
        headers: Sequence[Headers],
        *,
        path: str,
        channel: Channel | None,
        concurrency: int | None,
        pace: float | None = None,
        deadline: float,
        wait_for_ready: bool = False,
    ) -> UnderWay:
        used = channel or await self.channel()
        first = self._planned
        self._planned += len(headers)
        planned = [
            PlannedCall(
                id=f"call-{first + number}",
                path=path,
                metadata=_pairs(one),
                deadline=deadline,
                wait_for_ready=wait_for_ready,
            )
            for number, one in enumerate(headers)
        ]
        if not self.tells_calls_apart:
            planned = marked_by_rows(planned)
            if path not in {UNARY, EMPTY} or any(
                key.endswith("-bin") for one in planned for key, _ in one.metadata
            ):
                raise ClientUnable("the client makes plain calls with metadata of text only")
        mark = len(self.fleet.ledger)
        batch = await used.start_calls(planned, concurrency=concurrency, pace=pace)
        started = UnderWay(self, used, planned, batch, mark, concurrency=concurrency)
        self._under_way.append(started)
        return started

    async def settle(
        self, used: Channel, planned: Sequence[PlannedCall], outcomes: Sequence[Outcome], since: int
    ) -> Calls:
        """What became of calls, once the backends' rows agree.

        Raises:
            ClientLied: the client's word and the backends' rows contradict each other.
        """
        if self.tells_calls_apart:
            rows = await self._rows(outcomes, since)
        else:
            rows = await self._rows_by_count(planned, outcomes, since)
        made = self.ended(used, planned, outcomes, rows)
        self.calls.extend(made)
        return Calls(made)

    def ended(
        self,
        used: Channel,
        planned: Sequence[PlannedCall],
        outcomes: Sequence[Outcome],
        rows: Mapping[str, str] = MappingProxyType({}),
    ) -> tuple[Call, ...]:
        """Calls that have ended, as the client says, and where `rows` have them."""
        by_id = {outcome.id: outcome for outcome in outcomes}
        return tuple(
            Call(
                id=one.id,
                channel=self._channels[used],
                path=one.path,
                metadata=tuple((key, _as_text(value)) for key, value in one.metadata),
                status=by_id[one.id].status,
                details=by_id[one.id].details,
                endpoint=rows.get(one.id),
            )
            for one in planned
        )

    async def _rows(self, outcomes: Sequence[Outcome], since: int) -> dict[str, str]:
        """The endpoint that received each call, from the backends' own rows."""
        claimed = {outcome.id for outcome in outcomes if outcome.status == "OK"}
        arrived = await self._arrived(claimed, since)
        missing = claimed - arrived.keys()
        if missing:
            raise ClientLied(
                f"the client reports {len(missing)} calls as OK that no backend received, "
                f"{min(missing)} for one"
            )
        for outcome in outcomes:
            told, real = outcome.hostname, arrived.get(outcome.id)
            if outcome.status == "OK" and told is not None and told != real:
                raise ClientLied(
                    f"the client reports that {outcome.id} was answered by {told}, "
                    f"but {real} received it"
                )
        return arrived

    @property
    def tells_calls_apart(self) -> bool:
        """Whether the client makes each call once, with metadata of its own."""
        return "metadata" in self.process.prepared.client.manifest.capabilities

    async def _rows_by_count(
        self, planned: Sequence[PlannedCall], outcomes: Sequence[Outcome], since: int
    ) -> dict[str, str]:
        """The endpoint that the client says answered each call, if the backends received as many.

        They may have received more: such a client makes more calls than it is asked for.
        """
        ledger = self.fleet.ledger
        told = {one.id: one.hostname or "nobody" for one in outcomes if one.status == "OK"}
        claimed = Counter((one.mark, told[one.id]) for one in planned if one.id in told)
        counted = Counter[tuple[str | None, str]]()
        looked_at = since

        def complete(_: Rpc) -> bool:
            nonlocal looked_at
            fresh = ledger.rpcs[looked_at:]
            looked_at += len(fresh)
            for row in fresh:
                address = self.members[row.endpoint].address
                counted.update((str(mark), address) for mark in row.values(CALL_ID_KEY))
            return bool(fresh) and claimed <= counted

        if claimed:
            with suppress(FleetDeadlinePassed):
                await ledger.wait(complete, since=since, deadline=timing.LEDGER)
        for (mark, where), more in sorted((claimed - counted).items()):
            raise ClientLied(
                f"the client reports {claimed[mark, where]} calls like {mark} as answered by "
                f"{where}, {more} more than were received there"
            )
        return told

    async def _arrived(self, claimed: AbstractSet[str], since: int) -> dict[str, str]:
        """By call: the endpoint whose backend has a row of it, once all of these have one."""
        ledger = self.fleet.ledger
        arrived: dict[str, str] = {}
        missing = set(claimed)

        def take(row: Rpc) -> bool:
            for call in map(str, row.values(CALL_ID_KEY)):
                arrived[call] = self.members[row.endpoint].address
                missing.discard(call)
            return not missing

        if claimed:
            with suppress(FleetDeadlinePassed):
                await ledger.wait(take, since=since, deadline=timing.LEDGER)
        for row in ledger.rpcs[since:]:
            take(row)
        return arrived

    async def attempted(self, endpoint: Endpoint, count: int = 1, *, why: str) -> None:
        """Wait until an endpoint has seen so many attempts since the beginning.

        Args:
            endpoint: where.
            count: how many.
            why: what makes a right client try it.

        Raises:
            ClientStuck: it saw fewer in time.
            ClientRefused: the client NACKed what was served first.
        """
        try:
            await self.unless_refused(
                self.fleet.attempted(endpoint, count, deadline=timing.ATTEMPT)
            )
        except FleetDeadlinePassed:
            raise ClientStuck(
                f"{endpoint.address} saw {len(endpoint.attempts)} attempts to connect within "
                f"{timing.ATTEMPT:g} s, and not {count}, though {why}{self._ended_meanwhile()}"
            ) from None

    def unsettled(self) -> tuple[Call, ...]:
        """Calls that the client says have ended, and for whose end nobody waited."""
        return tuple(call for one in self._under_way for call in one.said())

    def _ended_meanwhile(self) -> str:
        """Those of them that have failed, in words."""
        ended = Counter(
            f"{one.status} ({one.details or 'no details'})"
            for one in self.unsettled()
            if one.status != "OK"
        )
        listed = "; ".join(f"{count} ended with {how}" for how, count in ended.items())
        return f". Of the requests under way {listed}" if listed else ""

    async def request_and_cancel(self, headers: Headers, picked: Endpoint) -> None:
        """Make a request, and cancel it as soon as the endpoint that it picks is tried.

        The scenario needs the capability `cancel`.

        Raises:
            ClientStuck: the endpoint was not tried.
            ConversationFailed: the client died, hung or babbled.
        """
        tried = len(picked.attempts)
        started = await self.start([headers])
        await self.attempted(picked, tried + 1, why="a request picked it")
        await started.cancel()
        await started.over()

    async def tried(
        self,
        *endpoints: Endpoint,
        why: str,
        since: float = 0.0,
        within: float = timing.ATTEMPT,
        beyond: int = 0,
        met: Mode | None = None,
    ) -> Attempt:
        """Wait for the first attempt at any of these endpoints that comes after so many seconds.

        Args:
            endpoints: where.
            why: what makes a right client try one of them.
            since: in seconds since the scenario began.
            within: the deadline, from timing.py.
            beyond: so many attempts, anywhere, were told of before. A gate notes when it accepts
                one, but tells of it a moment later: its mode may have changed by then.
            met: the mode in which the gate met it, if that matters.

        Raises:
            ClientStuck: there was none in time.
            ClientRefused: the client NACKed what was served first.
        """
        watched = {one.id for one in endpoints}

        def is_it(row: Accepted) -> bool:
            is_in_time = row.accepted_at - self.began >= since
            return row.endpoint in watched and is_in_time and met in {None, row.mode}

        try:
            first, *_ = await self.unless_refused(
                self.fleet.ledger.wait_attempts(is_it, since=beyond, deadline=within)
            )
        except FleetDeadlinePassed:
            names = " or ".join(one.address for one in endpoints)
            raise ClientStuck(
                f"no attempt to connect to {names} came within {within:g} s, "
                f"though {why}{self._ended_meanwhile()}"
            ) from None
        return self._attempt(first)

    async def abandoned(self, *endpoints: Endpoint) -> None:
        """Wait until no connection to these endpoints is left, or EVENT has passed.

        A client that was told that they are gone closes them as it applies that, or a bit before.
        """
        watched = {one.id for one in endpoints}
        with suppress(FleetDeadlinePassed):
            await self.fleet.ledger.wait_attempts(
                lambda row: row.endpoint in watched and row.closed_at is not None,
                count=sum(len(one.attempts) for one in endpoints),
                deadline=timing.EVENT,
            )

    async def demand_handshakes(self) -> None:
        """Make sure that the client calls no connection READY before the server has said a word.

        Else no gate that closes or is silent can make an endpoint fail, or hold it CONNECTING. It
        is asked of a channel beside, straight to a silent endpoint; a client that cannot be asked
        is trusted.

        Raises:
            ClientUnable: it does.
        """
        able = self.process.prepared.client.manifest.capabilities
        if not {"channels", "watch", "connect"} <= set(able):
            return
        (silent,) = await self.fleet.endpoints(1, mode=Stall())
        beside = await self.process.open_channel(
            f"dns:///{silent.address}", deadline=timing.ADAPTER_REPLY
        )
        watch = await beside.watch(deadline=timing.ADAPTER_REPLY)
        await beside.connect(deadline=timing.ADAPTER_REPLY)
        with suppress(FleetDeadlinePassed):
            await self.fleet.ledger.wait_attempts(
                lambda one: one.endpoint == silent.id and one.first_byte_at is not None,
                deadline=timing.EVENT,
            )
        # Answered after all that the client has told until now.
        await beside.close(deadline=timing.ADAPTER_REPLY)
        if "READY" in {seen.state for seen in watch.states}:
            raise ClientUnable(
                "the client calls a connection READY before the server has said a word, "
                "so no gate can hold it CONNECTING"
            )

    def demand_a_stream(self) -> None:
        """Before anything is said of a client: it must have come to the control plane.

        Raises:
            ClientAstray: it did not, though calls were made, none of which it says went well.
        """
        made = (*self.calls, *self.unsettled())
        came = any(isinstance(one, StreamOpened) for one in self.plane.transcript.events)
        if made and not came and all(one.status != "OK" for one in made):
            ends = Counter(f"{one.status} ({one.details or 'no details'})" for one in made)
            (end, count), *_ = ends.most_common(1)
            raise ClientAstray(
                f"the client never opened a stream to the control plane: {count} of {len(made)} "
                f"calls ended with {end}. Does the adapter register xDS, if its library wants "
                f"that, and does the library read {BOOTSTRAP_VARIABLE}?"
            )

    async def demand_gates_that_work(self) -> None:
        """Before a client is accused where gates closed or were silent: ask whether they can.

        Raises:
            ClientUnable: they cannot, so what was seen says nothing of the client.
        """
        if self.process.failure is None and any(
            not isinstance(attempt.mode, Serve) for attempt in self.fleet.ledger.attempts
        ):
            with suppress(ClientTrouble):
                await self.demand_handshakes()

    def attempts(self, *endpoints: Endpoint, since: float = 0.0) -> Attempts:
        """The attempts at these endpoints, or at all, that came after so many seconds."""
        watched = {one.id for one in endpoints} or self.members.keys()
        accepted = self.fleet.ledger.attempts
        rows = (self._attempt(row) for row in accepted if row.endpoint in watched)
        late = round(self.lateness.worst, 3)
        return Attempts(tuple(row for row in rows if row.at >= since), late)

    def _attempt(self, row: Accepted) -> Attempt:
        return Attempt(
            self.members[row.endpoint].address,
            round(row.accepted_at - self.began, 6),
            None if row.closed_at is None else round(row.closed_at - self.began, 6),
        )

    @property
    def now(self) -> float:
        """Seconds since the scenario began."""
        return time.monotonic() - self.began

    async def watch(self, channel: Channel | None = None) -> StateWatch:
        """Have the channel's state told from now on; the scenario needs the capability `watch`.

        Raises:
            ConversationFailed: the client died, hung or babbled.
        """
        used = channel or await self.channel()
        return await used.watch(deadline=timing.ADAPTER_REPLY)

    async def reached(self, watched: StateWatch, *states: StateName, since: int = 0) -> None:
        """Wait until the channel is in one of these states; judging what was seen is up to others.

        Args:
            watched: the channel's states.
            states: which.
            since: how many of the first states are left out.
        """
        with suppress(NotSeen):
            await watched.reached(*states, deadline=timing.EVENT, since=since)

    def states(self, watched: StateWatch, *, since: int = 0) -> States:
        """The states of a channel that were told so far, without so many of the first."""
        told = watched.states[since:]
        return States(tuple(Reported(one.state, round(one.at - self.began, 6)) for one in told))

    def elapsed(self, since: str, began: float, until: str, ended: float) -> Elapsed:
        """The time between two events, each in seconds since the scenario began."""
        late = round(self.lateness.worst, 3)
        return Elapsed(since=since, until=until, seconds=round(ended - began, 6), lateness=late)

    async def quiet(
        self, *endpoints: Endpoint, why: str, seconds: float = timing.QUIET
    ) -> Connections:
        """Watch these endpoints for a while; the attempts at each since the beginning.

        Args:
            endpoints: where no connection should be tried.
            why: what would have made a wrong client try one by now.
            seconds: how long, from timing.py.
        """
        watched = {endpoint.id for endpoint in endpoints}
        with suppress(FleetDeadlinePassed):
            await self.fleet.ledger.wait_attempts(
                lambda attempt: attempt.endpoint in watched, deadline=seconds
            )
        self.note(f"quiet for {seconds} s after: {why}")
        return Connections({one.address: len(one.attempts) for one in endpoints})

    async def quiet_from_now(
        self, *endpoints: Endpoint, why: str, seconds: float = timing.QUIET, count: int = 1
    ) -> Attempts:
        """Watch these endpoints, or all, for a while; the attempts that came meanwhile.

        Args:
            endpoints: where no connection should be tried.
            why: what would have made a wrong client try one in this time.
            seconds: how long, from timing.py.
            count: so many attempts end it early.
        """
        watched = {endpoint.id for endpoint in endpoints} or self.members.keys()
        began = self.now
        with suppress(FleetDeadlinePassed):
            await self.fleet.ledger.wait_attempts(
                lambda attempt: attempt.endpoint in watched,
                since=len(self.fleet.ledger.attempts),
                count=count,
                deadline=seconds,
            )
        self.note(f"quiet for {seconds} s after: {why}")
        return self.attempts(*endpoints, since=began)

    async def attempts_until(
        self,
        expectation: Expectation,
        *endpoints: Endpoint,
        since: float = 0.0,
        meanwhile: Sequence[Headers] = (),
    ) -> Attempts:
        """The attempts at these endpoints, or all, once they fit, or ATTEMPT has passed.

        Args:
            expectation: what they are to be.
            endpoints: where.
            since: attempts of the first so many seconds are left out.
            meanwhile: calls to be made over and over.
        """
        deadline = time.monotonic() + timing.ATTEMPT
        while True:
            known = len(self.fleet.ledger.attempts)
            seen = self.attempts(*endpoints, since=since)
            left = deadline - time.monotonic()
            if fits(expectation, seen) or left <= 0:
                return seen
            if meanwhile:
                await self.call(meanwhile)
                left = timing.PACE
            with suppress(FleetDeadlinePassed):
                await self.fleet.ledger.wait_attempts(lambda _: True, since=known, deadline=left)

    async def until(self, expectation: Expectation, calls: Callable[[], Awaitable[Calls]]) -> Calls:
        """Make the same round of calls until it fits; the last one begins when APPLY has passed.

        For what follows an update: the ACK comes before the new policy is in use.
        """
        deadline = time.monotonic() + timing.APPLY
        while True:
            began = time.monotonic()
            seen = await calls()
            if fits(expectation, seen) or began > deadline:
                return seen

    # What the judge gets

    async def judge(
        self, clause: str, seen: Seen, expected: Expectation | Mapping[str, Expectation]
    ) -> None:
        """Put a clause before the judge; one expectation, or one for each edition or choice."""
        if isinstance(expected, Mapping):
            by_edition = dict(expected)
        else:
            known = self._catalogue[clause]
            name = "so" if leaves_a_choice(known) else known.editions[0]
            by_edition = {name: expected}
        if self._needs_calibration(clause, seen, by_edition):
            by_edition = await self._calibrated(by_edition)
        self.checks.append(Check(clause=clause, seen=seen, expected=by_edition))

    def _needs_calibration(
        self, clause: str, seen: Seen, expected: Mapping[str, Expectation]
    ) -> bool:
        """Whether a ring is expected, and nothing that is expected explains the calls."""
        if leaves_a_choice(self._catalogue[clause]):
            return False
        ways = expected.values()
        is_ring = any(isinstance(one, MapsLike) for one in ways)
        return is_ring and not any(fits(one, seen) for one in ways)

    async def _calibrated(self, expected: Mapping[str, Expectation]) -> dict[str, Expectation]:
        """The same expectations, with what the client does on a plain ring."""
        if self._calibration is None:
            served, calls = await self._calls_on_a_plain_ring()
            self._calibration = msgspec.structs.replace(
                served.mapping(), calibration=served.calibration(calls)
            )
        made = self._calibration.calibration
        return {
            name: msgspec.structs.replace(one, calibration=made)
            if isinstance(one, MapsLike)
            else one
            for name, one in expected.items()
        }

    async def _calls_on_a_plain_ring(self) -> tuple[Served, Calls]:
        served = plain(
            await self.addresses(PLAIN_ENDPOINTS), policy=RingHash(minimum=1024, maximum=1024)
        )
        await self.serve(served)
        headers = self.sessions(ENOUGH_TO_DIFFER)
        return served, await self.until(served.mapping(), lambda: self.call(headers))

    async def judge_rotation(self, clause: str, served: Served) -> None:
        """Whether calls with one and the same header go round TURNS endpoints, once all serve."""
        headers = [{SESSION: "same"}] * TURNS * ROUNDS
        await self.until(Reaches(served.addresses()), lambda: self.call(headers, concurrency=1))
        await self.judge(
            clause, await self.call(headers, concurrency=1), Evenly(served.addresses())
        )

    def by_edition(self, clause: str, expect: Callable[[str], Wanted]) -> dict[str, Wanted]:
        """What each wording of a clause expects."""
        return {edition: expect(edition) for edition in self._catalogue[clause].editions}

    def own(self, clause: str, expected: Mapping[str, Wanted]) -> Wanted:
        """Of these expectations, the one by which the client is judged, or any if by none."""
        known = self._catalogue[clause]
        edition = edition_for(known, self.client.follows)
        found = expectation_of(known, expected, edition) if edition else None
        return next(iter(expected.values())) if found is None else found

    def verify_key_format(self, seen: Seen, expected: Mapping[str, Expectation]) -> None:
        """Hold the manifest to its word, if it says how the client names ring entries.

        Raises:
            ManifestContradicted: the calls do not fit the stated one.
        """
        stated = self.key_format
        fitting = [name for name, one in expected.items() if fits(one, seen)]
        if stated is not None and stated not in fitting:
            raise ManifestContradicted(
                f"the manifest says that ring keys look like {stated}, but this client's look "
                f"like {' or '.join(fitting) or 'none that is known'}: mend ring-key-formats in "
                "its client.toml"
            )

    async def ring_key_format(self) -> str:
        """How the client names ring entries: as its manifest states, or as seen on a plain ring.

        Raises:
            RingUnknown: by no known way.
        """
        if self.key_format in KEY_FORMATS:
            return KEY_FORMATS[self.key_format]
        served, calls = await self._calls_on_a_plain_ring()
        found = served.calibration(calls).key_formats()
        if not found:
            raise RingUnknown(
                "where a request goes next is not known for this client: its ring entries are "
                "named in no known way"
            )
        return min(found)

    @property
    def key_format(self) -> str | None:
        """The ring key format that the manifest states for this version."""
        prepared = self.process.prepared
        return prepared.client.manifest.ring_key_format_of(prepared.version)

    @property
    def _known_key_format(self) -> KeyFormat | None:
        return KEY_FORMATS.get(self.key_format or "")

    def note(self, text: str) -> None:
        """Say something in the scenario's evidence that is no verdict."""
        self.notes.append(text)

    # The end

    async def close(self) -> None:
        """End the client, then the servers; nothing is left running."""
        try:
            for process in (self.process, *self._others):
                await process.close(deadline=timing.EXIT)
        finally:
            await self.plane.close()
            await self.fleet.stop()


def marked_by_rows(planned: Sequence[PlannedCall]) -> list[PlannedCall]:
    """The same calls, but those that are alike and follow one another share the first one's mark.

    For a client that cannot give each call metadata of its own.
    """
    marked: list[PlannedCall] = []
    for one in planned:
        last = marked[-1] if marked else None
        alike = last is not None and last.metadata == one.metadata
        mark = last.mark if last is not None and alike else one.id
        marked.append(msgspec.structs.replace(one, mark=mark))
    return marked


def _refused(kind: Kind, why: str | None) -> ClientRefused:
    return ClientRefused(
        f"the client refused the {kind.name} resource that the scenario builds on: {why or ''}"
    )


def _pairs(headers: Headers) -> tuple[tuple[str, str | bytes], ...]:
    return tuple(headers.items()) if isinstance(headers, Mapping) else tuple(headers)


def _as_text(value: str | bytes) -> str:
    return value if isinstance(value, str) else base64.b64encode(value).decode()
