"""Send good, malformed and rejected updates to a cluster in use, next to an unchanged one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal

from conformance import timing
from conformance.judging.aborts import PreconditionTimeout, Unsupported
from conformance.judging.expectations import (
    AckedOrNacked,
    AllServedBy,
    EndsWith,
    Expectation,
    Fails,
    SubscribesBesidesClusters,
)
from conformance.judging.observations import Answer, Calls, Observation
from conformance.scenarios.helpers.aggregates import calls_to, route_to
from conformance.world import World
from conformance.xds_config.clusters import Aggregate, Cluster, Discovery, Eds, LogicalDns
from conformance.xds_config.config import XdsConfig
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import RoundRobin
from conformance.xds_config.routes import CLUSTER
from conformance.xds_config.variants import ClusterVariant, RawClusterVariant
from fake_control_plane import Kind

Form = Literal["EDS", "aggregate", "LOGICAL_DNS"]

STEPS = 3
"""Where an update may lead: neither to where it was before, nor to where an odd one has led."""

BESIDE = "beside"

GOOD: Mapping[Form, str] = {
    "EDS": "A37-VALID-02",
    "aggregate": "A37-VALID-01",
    "LOGICAL_DNS": "A37-VALID-03",
}
"""The clause by which such a Cluster is accepted."""

NAMED = "A47-CDS-02"
"""That of one with an xdstp name."""
AFTERWARDS = "A37-VALID-29"
UNCHANGED = "A46-NACK-03"


class LiveCluster:
    """A cluster to which requests go, and another, each of which updates lead from place to place.

    Every good update leads elsewhere than the one before, so that it is seen whether it is used. An
    odd one is such a good one, changed: used by mistake, it is seen as well.

    Args:
        world: of the scenario.
        form: how the cluster finds its endpoints.
        addresses: an endpoint for each place of the one, and of the other.
        name: of the cluster.
        leaves: how the names of clusters begin that it may be made of.
        services: how the names of endpoints resources begin.
    """

    def __init__(
        self,
        world: World,
        form: Form,
        addresses: Sequence[str],
        *,
        name: str = "used",
        leaves: str = "",
        services: str = "",
    ) -> None:
        self.name = name
        self._world = world
        self._form = form
        self._places = [
            Cluster(
                name=f"{leaves}place-{number}",
                discovery=Eds((Locality((Endpoint(address),)),), f"{services}endpoints-{number}"),
                policy=RoundRobin(),
            )
            for number, address in enumerate(addresses)
        ]
        self._at = 0
        self._waits_for_the_other = True

    @classmethod
    async def begin(cls, world: World, form: Form, *, about: str = "", **names: str) -> LiveCluster:
        """Have both serve.

        Args:
            world: of the scenario.
            form: of the cluster.
            about: the clause by which it is accepted, if not by that on its form or its name.
            names: as for the class.

        Raises:
            ClientRefused, ClientStuck: they do not.
        """
        made = cls(world, form, await world.addresses(2 * STEPS), **names)
        world.checks.turn_to(about or (NAMED if names else GOOD[form]))
        await world.serve(made.served())
        for of in (made.name, BESIDE):
            why = "good Clusters were served"
            await world.rounds.require(made.leads(of=of), partial(calls_to, world, of), why=why)
        return made

    def served(self, step: int = 0) -> XdsConfig:
        """What is served so many updates from now: all places are there at any time."""
        at = self._at + step
        both = (
            Cluster(name=self.name, discovery=self._discovery(at), policy=RoundRobin()),
            Cluster(name=BESIDE, discovery=self._place(at, BESIDE).discovery, policy=RoundRobin()),
        )
        routes = (route_to(BESIDE), route_to(self.name))
        return XdsConfig(clusters=(*both, *self._places), routes=routes)

    def leads(self, step: int = 0, of: str = "") -> AllServedBy:
        """Calls at the place of the cluster, or of the other one, so many updates from now."""
        return AllServedBy(self._place(self._at + step, of).addresses())

    def _place(self, at: int, of: str = "") -> Cluster:
        return self._places[STEPS * (of == BESIDE) + at % STEPS]

    def _discovery(self, at: int) -> Discovery:
        place = self._place(at)
        match self._form:
            case "aggregate":
                return Aggregate((place.name,))
            case "LOGICAL_DNS":
                return LogicalDns(place.addresses()[0])
            case "EDS":
                return place.discovery

    async def refused(self, odd: ClusterVariant, *unchanged: str) -> bool:
        """Judge that an odd update is refused, and a good one beside it used; whether it was.

        Args:
            odd: the change.
            unchanged: the clauses by which what was accepted before stays in use.
        """
        answer = await self._offer(odd, BESIDE)
        await self._check_answer(odd, answer, acked=False)
        if not answer.acked:
            if self._waits_for_the_other:  # who does not use it is not waited for again
                calls = await self._until(self.leads(1, BESIDE), BESIDE)
                self._waits_for_the_other = not calls.overdue
                await self._world.check(UNCHANGED, calls, self._beside())
            calls = await calls_to(self._world, self.name)
            for clause in (UNCHANGED, *unchanged):
                await self._check(clause, calls, self.leads())
        await self._go_on(1, taken=answer.acked)
        return not answer.acked

    async def refused_all(self, odds: Sequence[ClusterVariant], *unchanged: str) -> None:
        """Judge that each of these is refused, one after the other.

        Raises:
            ClientUnable: none was, so that nobody saw what a refusal leaves in use, which is judged
                where one is: what took these has its verdicts, if it is held to them at all. Or all
                are about what the client has not.
        """
        bench = self._world.checks
        own = [variant for variant in odds if bench.has(variant.clause)]
        if not own:
            bench.require(odds[0].clause)
        if not any([await self.refused(resource, *unchanged) for resource in own]):
            raise Unsupported("the client refused no odd Cluster at all")

    async def taken(self, odd: ClusterVariant) -> None:
        """Judge that an odd update is accepted and used."""
        answer = await self._offer(odd)
        await self._check_answer(odd, answer, acked=True)
        if answer.acked:
            calls = await self._until(self.leads(1))
            await self._check(odd.clause, calls, self.leads(1))
        await self._go_on(2, taken=answer.acked)

    async def asks_beside_clusters(self, clause: str) -> None:
        """Judge that endpoints are asked for on the stream of the Clusters alone."""
        expected = SubscribesBesidesClusters()
        asked = await self._world.control.asked_until(expected)
        await self._check(clause, asked, expected)

    async def accepted(self, odd: ClusterVariant, then: str, *, case: str) -> None:
        """Judge that an odd update is accepted, and report what becomes of requests.

        Args:
            odd: the change.
            then: the clause on the requests.
            case: which of several changes it is, in the report.
        """
        answer = await self._offer(odd)
        await self._check(odd.clause, answer, AckedOrNacked(acked=True))
        if answer.acked:
            choices: dict[str, Expectation] = {
                f"{case}: served": self.leads(1),
                f"{case}: served as before": self.leads(),
                f"{case}: fail": Fails(),
                f"{case}: wait": EndsWith("DEADLINE_EXCEEDED"),
            }
            moments = timing.SEVERAL_MOMENTS
            calls = partial(calls_to, self._world, self.name, deadline=moments)
            seen = await self._world.eventually(self.leads(1), calls, within=moments)
            await self._world.check(then, seen, choices)
        await self._go_on(2, taken=answer.acked)

    async def left_open(
        self,
        odd: ClusterVariant | RawClusterVariant,
        if_taken: str = "accepted",
        *,
        used: bool,
        within: float = timing.APPLY,
    ) -> None:
        """Report whether an odd update is refused, or taken and, if somebody asks, used.

        Args:
            odd: the change.
            if_taken: the name of that choice.
            used: whether it is looked at.
            within: how long a good update after it may take to be used.
        """
        answer = await self._offer(odd)
        seen: Observation = answer
        ways: dict[str, Expectation] = {"refused": AckedOrNacked(acked=False)}
        if answer.acked:
            ways = {if_taken: AckedOrNacked(acked=True)}
            if used:
                seen, ways = await self._until(self.leads(1)), {if_taken: self.leads(1)}
        await self._world.check(odd.clause, seen, ways)
        await self._go_on(2, taken=answer.acked, within=within)

    async def perhaps_read(self, odd: RawClusterVariant) -> None:
        """Report whether a large update is refused, or taken, or has the client end its stream."""
        self._world.checks.turn_to(odd.clause)
        changed = odd.of(self.served(1).get_cluster(self.name).resource())
        told = f"{self._told(self._at + 1)}, {odd}"
        answer = await self._world.control.offer_large(changed, told=told)
        seen: Observation = answer or await calls_to(self._world, self.name)
        choices: dict[str, Expectation] = {
            "accepted": AckedOrNacked(acked=True),
            "refused": AckedOrNacked(acked=False),
        }
        if answer is None:
            choices = {
                "stream ended, requests served as before": self.leads(),
                "stream ended, requests fail": EndsWith("UNAVAILABLE"),
            }
        await self._world.check(odd.clause, seen, choices)
        await self._go_on(2, taken=answer is not None and answer.acked)

    async def _offer(self, odd: ClusterVariant | RawClusterVariant, *others: str) -> Answer:
        """Send the next update of the cluster, changed, and in one response with it of others."""
        self._world.checks.turn_to(odd.clause)
        following = self.served(1)
        changed = odd.of(following.get_cluster(self.name).resource())
        beside = (following.get_cluster(name).resource() for name in others)
        told = f"{self._told(self._at + 1)}, {odd}{'; and a good one beside it' * bool(others)}"
        return await self._world.control.offer(Kind.CLUSTER, changed, *beside, told=told)

    def _told(self, at: int) -> str:
        return f"{self.name}, a cluster of {self._form} that leads to {self._place(at).name}"

    async def _go_on(self, steps: int, *, taken: bool, within: float = timing.APPLY) -> None:
        """Have requests made, and then a good update used, whatever the client said of the odd one.

        Raises:
            ClientStuck: it is not used, so that nothing can be said of further ones.
        """
        if taken:
            await calls_to(self._world, self.name, deadline=timing.SEVERAL_MOMENTS)
        self._at += steps
        good = (self.served().get_cluster(name).resource() for name in (self.name, BESIDE))
        told = f"{self._told(self._at)}, as it is"
        mended = await self._world.control.offer(Kind.CLUSTER, *good, told=told)
        await self._check(AFTERWARDS, mended, AckedOrNacked(acked=True))
        calls = await self._until(self.leads(), within=within)
        await self._check(AFTERWARDS, calls, self.leads())
        if calls.overdue:
            self._world.checks.turn_to(AFTERWARDS)
            said = "took" if taken else "refused"
            raise PreconditionTimeout(
                f"the client {said} an odd Cluster, and then uses no good one"
            )

    async def _until(
        self, expected: Expectation, of: str = "", *, within: float = timing.APPLY
    ) -> Calls:
        calls = partial(calls_to, self._world, of or self.name)
        return await self._world.eventually(expected, calls, within=within)

    def _beside(self) -> dict[str, Expectation]:
        """Calls to the other cluster, of which a good update came in a refused response.

        By Envoy it is used if the bad one kept the rules of its API, and is not if it broke them.
        """
        then, before = self.leads(1, BESIDE), self.leads(0, BESIDE)
        either = AllServedBy((*then.addresses, *before.addresses))
        return self._world.checks.by_edition(
            UNCHANGED, lambda edition: either if edition == "envoy" else then
        )

    async def _check_answer(self, odd: ClusterVariant, answer: Answer, *, acked: bool) -> None:
        """Whether it is taken or refused, as most editions have it, or otherwise by some."""
        by = self._world.checks.by_edition(
            odd.clause, lambda edition: AckedOrNacked(acked=acked != (edition in odd.otherwise))
        )
        await self._world.check(odd.clause, answer, by)

    async def _check(self, clause: str, seen: Observation, expected: Expectation) -> None:
        """Put a clause before the judge that every edition words to the same effect."""
        await self._world.check(clause, seen, self._world.checks.alike(clause, expected))


FEW = 8
"""Localities that are told one by one."""


async def send_and_await_answer(
    world: World, served: XdsConfig, odd: ClusterVariant | RawClusterVariant
) -> Answer:
    """What the client says to the cluster of `served` with this, as to the clause it is about."""
    world.checks.turn_to(odd.clause)
    changed = odd.of(served.cluster())
    return await world.control.offer(Kind.CLUSTER, changed, told=f"{CLUSTER}, {odd}")


async def send_endpoints_and_await_answer(
    world: World, served: XdsConfig, odd: ClusterVariant
) -> Answer:
    """The same of the endpoints of that cluster."""
    world.checks.turn_to(odd.clause)
    changed = odd.of(served.endpoints())
    told = f"endpoints of {CLUSTER}, {odd}"
    return await world.control.offer(Kind.ENDPOINTS, changed, told=told)


async def placed(world: World, served: XdsConfig, *localities: Locality) -> Answer:
    """What the client says to other localities of the one cluster of `served`."""
    resource = served.with_localities(*localities).endpoints()
    told = "; ".join(map(str, localities[-FEW:]))
    if len(localities) > FEW:
        told = f"{len(localities)} localities, the last of them {told}"
    return await world.control.offer(Kind.ENDPOINTS, resource, told=told)
