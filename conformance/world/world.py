"""The world of one scenario: what scenarios use most, over collaborators for all the rest."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence

from client_under_test.contract.exceptions import ConversationFailed
from client_under_test.launching.channels import Channel
from conformance import timing
from conformance.judging.evidence import JudgedClient
from conformance.judging.expectations import EachServesSome, EqualShares, Expectation
from conformance.judging.observations import Calls, Observation
from conformance.spec.catalogue import Catalogue
from conformance.spec.oracles.request_hash import HashPolicy
from conformance.world import waits
from conformance.world.attempts import AttemptWatch
from conformance.world.calls import CONCURRENCY, UNARY, CallMaker, Headers
from conformance.world.channels import Channels, ChannelStates
from conformance.world.checks import Checks
from conformance.world.clock import Clock
from conformance.world.control import Control
from conformance.world.endpoints import EndpointRegistry
from conformance.world.header_values import ROUNDS, TURNS, HeaderValues
from conformance.world.host_names import HostNames
from conformance.world.launched import LaunchedClient
from conformance.world.pending_calls import CallDriver, PendingCalls
from conformance.world.policies import Policies
from conformance.world.preconditions import Preconditions
from conformance.world.references import NEVER, EarlyEnd
from conformance.world.rounds import Round, Rounds
from conformance.xds_config.clusters import Cluster
from conformance.xds_config.config import XdsConfig, single_locality
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import Policy, RingHash
from conformance.xds_config.routes import BY_SESSION, SESSION
from fake_control_plane import Event, StreamClosed, StreamOpened
from test_servers import BackendEndpoint, Fleet, Mode

PLAIN_ENDPOINTS = 4
DEFAULT_RING = RingHash()


class World:
    """What a scenario works with: a control plane, a fleet, a client, and what was seen of them.

    Args:
        launched: the control plane and the client, which has said hello.
        fleet: the backends.
        catalogue: the clauses, to know which of them leave a choice.
        client: the client as it is judged.
        rng: the scenario's own random source, from the run's seed.
        failover: the client's failover timer.
        resolutions: how it resolves names again.
        soak: seconds that a soak takes.
        hands: by whose hands the client does what it is asked for, if not by its adapter's alone.
        early_end: when the scenario does not wait to the end.
    """

    def __init__(  # noqa: PLR0913 - all but two by their names
        self,
        launched: LaunchedClient,
        fleet: Fleet,
        *,
        catalogue: Catalogue,
        client: JudgedClient,
        rng: random.Random,
        failover: timing.Failover = timing.FAILOVER,
        resolutions: timing.Resolutions = timing.RESOLUTIONS,
        soak: float = timing.SOAK,
        driver: CallDriver | None = None,
        early_end: EarlyEnd = NEVER,
    ) -> None:
        self.plane = launched.plane
        self.process = launched.process
        self.environment = launched.environment
        self.fleet = fleet
        self.client = client
        self.rng = rng
        self.failover = failover
        self.resolutions = resolutions
        self.soak = soak
        self.clock = Clock()
        self.checks = Checks(catalogue, client)
        self.registry = EndpointRegistry(fleet)
        self.values = HeaderValues(rng, client.ring_keys)
        self.channels = Channels(launched, driver)
        self.states = ChannelStates(self.channels, self.clock, driver)
        self.control = Control(launched.plane, self.channels.manifest.dialect, early_end)
        self.calls = CallMaker(
            self.channels, self.control, fleet, self.registry, self.clock, driver
        )
        self.names = HostNames(self.channels, self.clock, self.checks.notes)
        self.policies = Policies(launched.process, driver)
        self.attempts = AttemptWatch(
            fleet, self.registry, self.calls, self.control, self.clock, self.checks.notes
        )
        self.rounds = Rounds(client.ring_keys)
        self.preconditions = Preconditions(
            launched.plane,
            fleet,
            self.channels,
            self.calls,
            self.values,
            self.clock,
            client.follows,
        )

    @property
    def now(self) -> float:
        """Seconds since the scenario started."""
        return self.clock.now

    # What is there

    async def endpoints(self, count: int, *, mode: Mode | None = None) -> list[BackendEndpoint]:
        """Start `count` more endpoints, all in this mode (by default SERVE)."""
        return await self.registry.more(count, mode=mode)

    async def serve(self, served: XdsConfig, *, label: str = "", unheard: bool = False) -> None:
        """Serve a configuration; a connected client must ACK what changes. See `Control.serve`."""
        await self.control.serve(served, label=label, unheard=unheard)

    async def addresses(self, count: int) -> tuple[str, ...]:
        """Start `count` more endpoints that serve, and return their addresses."""
        return tuple(endpoint.address for endpoint in await self.endpoints(count))

    async def plain_ring(
        self, *policies: HashPolicy, ring: Policy = DEFAULT_RING, weights: Sequence[int] = ()
    ) -> XdsConfig:
        """Serve one locality of four endpoints, hashed by these policies or the session.

        Args:
            policies: the hash policies.
            ring: the LB policy.
            weights: the weights of the endpoints; by default they are equal.
        """
        addresses = await self.addresses(PLAIN_ENDPOINTS)
        served = single_locality(addresses, policy=ring, policies=policies or BY_SESSION)
        if weights:
            pairs = zip(addresses, weights, strict=True)
            served = served.with_localities(Locality(tuple(Endpoint(*pair) for pair in pairs)))
        await self.serve(served)
        return served

    # What the client does

    def sessions(self, count: int) -> tuple[dict[str, str], ...]:
        """Return the headers of `count` calls, each with a session of its own."""
        return self.values.sessions(count)

    async def call(
        self,
        headers: Sequence[Headers],
        *,
        path: str = UNARY,
        channel: Channel | None = None,
        concurrency: int = CONCURRENCY,
        deadline: float | None = None,
    ) -> Calls:
        """Make a call with each of these headers, and wait for all. See `CallMaker.make`."""
        return await self.calls.make(
            headers, path=path, channel=channel, concurrency=concurrency, deadline=deadline
        )

    async def start(
        self,
        headers: Sequence[Headers],
        *,
        path: str = UNARY,
        channel: Channel | None = None,
        concurrency: int | None = None,
        pace: float | None = None,
        deadline: float | None = timing.CALL,
        wait_for_ready: bool = False,
        kept_open: bool = False,
    ) -> PendingCalls:
        """Start a call for each of these headers, and wait for none. See `CallMaker.start`."""
        return await self.calls.start(
            headers,
            path=path,
            channel=channel,
            concurrency=concurrency,
            pace=pace,
            deadline=deadline,
            wait_for_ready=wait_for_ready,
            kept_open=kept_open,
        )

    async def require_served(
        self,
        headers: Sequence[Headers],
        *,
        path: str = UNARY,
        channel: Channel | None = None,
        deadline: float | None = None,
    ) -> Calls:
        """Make calls that must all succeed for the scenario. See `CallMaker.require_served`."""
        return await self.calls.require_served(
            headers, path=path, channel=channel, deadline=deadline
        )

    async def eventually(
        self, expectation: Expectation, calls: Round, *, within: float | None = None
    ) -> Calls:
        """Repeat a round of calls until it fits; return the last one. See `Rounds.eventually`."""
        return await self.rounds.eventually(expectation, calls, within=within)

    async def request_and_cancel(
        self, headers: Headers, picked: BackendEndpoint, *, count: int = 1
    ) -> None:
        """Make a request, and cancel it as soon as the client has tried the picked endpoint.

        The client may try it without a request; if the gate holds that attempt, no second one
        comes. The scenario needs the capability `cancel`.

        Args:
            headers: the headers of the request.
            picked: the endpoint that it picks.
            count: the number of attempts at the endpoint, with those for earlier requests.

        Raises:
            PreconditionTimeout: the client did not try the endpoint.
            ConversationFailed: the client died, hung or babbled.
        """
        started = await self.start([headers])
        await self.attempts.require_count(picked, count, why="a request picked it")
        await started.cancel()
        await started.over()

    # What the judge gets

    async def check(
        self, clause: str, seen: Observation, expected: Expectation | Mapping[str, Expectation]
    ) -> None:
        """Judge a clause by one expectation, or by one for each edition or choice."""
        is_overdue = isinstance(seen, Calls) and seen.overdue
        before = self.control.ring_before() if is_overdue else None
        self.checks.check(clause, seen, expected, before=before)

    async def check_rotation(self, clause: str, served: XdsConfig | Cluster) -> None:
        """Judge whether calls with equal headers rotate over TURNS endpoints, once all serve."""
        headers = [{SESSION: "same"}] * TURNS * ROUNDS
        calls = await self.rounds.eventually_stable(
            EachServesSome(served.addresses()), lambda: self.call(headers, concurrency=1)
        )
        await self.check(clause, calls, EqualShares(served.addresses()))

    # The end

    async def release(self) -> str:
        """Close the channels of the client's process, so that another scenario can use it.

        Returns:
            Why no other scenario can use it; empty if one can.
        """
        try:
            await self.channels.release()
        except ConversationFailed as failure:
            return str(failure)
        why = await self._left_over()
        if why:
            self.channels.take_back()
        return why

    async def _left_over(self) -> str:
        """Return what a process keeps of its channels once they are closed; empty if nothing."""
        transcript, ledger = self.plane.transcript, self.fleet.ledger
        no_stream = transcript.until(
            lambda: True if not open_streams(transcript.events) else None,
            deadline=timing.RELEASE,
            what="end of all streams",
        )
        if not await waits.came(no_stream):
            return "a stream to the control plane stays open"
        if ledger.attempts and not await waits.came(
            ledger.wait_attempts(
                lambda attempt: attempt.closed_at is not None,
                count=len(ledger.attempts),
                deadline=timing.RELEASE,
            )
        ):
            return "a connection to a backend stays open"
        folder = self.process.folder
        if not folder.is_dir() or any(folder.iterdir()):
            return "it has written files"
        return ""

    async def close(self) -> None:
        """End the client, then the servers; nothing is left running."""
        try:
            await self.channels.close()
        finally:
            await self.plane.close()
            await self.fleet.stop()
            await self.names.close()


def open_streams(events: Iterable[Event]) -> frozenset[int]:
    """Return the streams to a control plane that were opened and have not ended."""
    events = tuple(events)
    opened = {event.stream for event in events if isinstance(event, StreamOpened)}
    closed = {event.stream for event in events if isinstance(event, StreamClosed)}
    return frozenset(opened - closed)
