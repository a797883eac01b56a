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
"""Number of places. A valid update leads neither to the current place nor to that of an odd one."""

OTHER_CLUSTER = "beside"

GOOD: Mapping[Form, str] = {
    "EDS": "A37-VALID-02",
    "aggregate": "A37-VALID-01",
    "LOGICAL_DNS": "A37-VALID-03",
}
"""The clause that requires the client to accept such a Cluster."""

NAMED = "A47-CDS-02"
"""The clause for a Cluster with an xdstp name."""
AFTERWARDS = "A37-VALID-29"
UNCHANGED = "A46-NACK-03"


def clauses_of(variants: Sequence[ClusterVariant]) -> tuple[str, ...]:
    """Return the clauses that these variants decide, in their order."""
    return tuple(dict.fromkeys(variant.clause for variant in variants))


class LiveCluster:
    """A cluster in use, and another one next to it; updates change their endpoints (places).

    Each valid update leads to another place than the last one, so that requests show whether the
    client uses it. An odd update is a valid one with a change, so requests show as well whether the
    client uses it by mistake.

    Args:
        world: the scenario's world.
        form: the type of the cluster.
        addresses: an endpoint for each place of both clusters.
        name: name of the cluster.
        leaves: prefix of the names of underlying clusters.
        services: prefix of the names of endpoints resources.
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
        """Serve both clusters, and wait until requests reach them.

        Args:
            world: the scenario's world.
            form: the type of the cluster.
            about: the clause that requires the client to accept it, instead of the one for its
                form or name.
            names: names and prefixes, as for the class.

        Raises:
            ResourceRejected, PreconditionTimeout: they do not serve.
        """
        made = cls(world, form, await world.addresses(2 * STEPS), **names)
        world.checks.turn_to(about or (NAMED if names else GOOD[form]))
        await world.serve(made.served())
        for of in (made.name, OTHER_CLUSTER):
            why = "the Clusters are valid"
            await world.rounds.require(made.leads(of=of), partial(calls_to, world, of), why=why)
        return made

    def served(self, step: int = 0) -> XdsConfig:
        """Return the config after `step` more updates; it always has all places."""
        at = self._at + step
        both = (
            Cluster(name=self.name, discovery=self._discovery(at), policy=RoundRobin()),
            Cluster(
                name=OTHER_CLUSTER,
                discovery=self._place(at, OTHER_CLUSTER).discovery,
                policy=RoundRobin(),
            ),
        )
        routes = (route_to(OTHER_CLUSTER), route_to(self.name))
        return XdsConfig(clusters=(*both, *self._places), routes=routes)

    def leads(self, step: int = 0, of: str = "") -> AllServedBy:
        """Expect calls at the place of this cluster (or of `of`) after `step` more updates."""
        return AllServedBy(self._place(self._at + step, of).addresses())

    def _place(self, at: int, of: str = "") -> Cluster:
        return self._places[STEPS * (of == OTHER_CLUSTER) + at % STEPS]

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
        """Check that the client rejects an odd update, and uses a valid one in the same response.

        Args:
            odd: the odd update.
            unchanged: the clauses that require the last accepted version to stay in use.

        Returns:
            True if the client rejected it.
        """
        answer = await self._offer(odd, OTHER_CLUSTER)
        await self._check_answer(odd, answer, acked=False)
        if not answer.acked:
            if self._waits_for_the_other:  # Wait once only for a client that does not use it.
                calls = await self._until(self.leads(1, OTHER_CLUSTER), OTHER_CLUSTER)
                self._waits_for_the_other = not calls.overdue
                await self._world.check(UNCHANGED, calls, self._beside())
            calls = await calls_to(self._world, self.name)
            for clause in (UNCHANGED, *unchanged):
                await self._check(clause, calls, self.leads())
        await self._go_on(1, taken=answer.acked)
        return not answer.acked

    async def refused_all(self, odds: Sequence[ClusterVariant], *unchanged: str) -> None:
        """Check that the client rejects each of these updates, one after another.

        Raises:
            Unsupported: the client rejected none, so no verdict is possible on what stays in use
                after a rejection. Or the client supports none of the features in question.
        """
        bench = self._world.checks
        own = [variant for variant in odds if bench.has(variant.clause)]
        if not own:
            bench.require(odds[0].clause)
        if not any([await self.refused(resource, *unchanged) for resource in own]):
            raise Unsupported("the client rejected none of the odd Clusters")

    async def taken(self, odd: ClusterVariant) -> None:
        """Check that the client accepts and uses an odd update."""
        answer = await self._offer(odd)
        await self._check_answer(odd, answer, acked=True)
        if answer.acked:
            calls = await self._until(self.leads(1))
            await self._check(odd.clause, calls, self.leads(1))
        await self._go_on(2, taken=answer.acked)

    async def asks_beside_clusters(self, clause: str) -> None:
        """Check that the client requests endpoints only on the stream of the Clusters."""
        expected = SubscribesBesidesClusters()
        asked = await self._world.control.asked_until(expected)
        await self._check(clause, asked, expected)

    async def accepted(self, odd: ClusterVariant, then: str, *, case: str) -> None:
        """Check that the client accepts an odd update, and report the outcome of requests.

        Args:
            odd: the odd update.
            then: the clause on the requests.
            case: the name of this update in the report.
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
        """Report whether the client rejects an odd update, or accepts and perhaps uses it.

        Args:
            odd: the odd update.
            if_taken: the name of the choice to accept it.
            used: True if the choice includes that the client uses it.
            within: seconds within which the client must use the next valid update.
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
        """Report whether the client accepts a large update, rejects it, or ends its stream."""
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
        """Send the next update of the cluster in an odd form, with valid updates of `others`."""
        self._world.checks.turn_to(odd.clause)
        following = self.served(1)
        changed = odd.of(following.get_cluster(self.name).resource())
        beside = (following.get_cluster(name).resource() for name in others)
        told = (
            f"{self._told(self._at + 1)}, {odd}{'; and a valid update next to it' * bool(others)}"
        )
        return await self._world.control.offer(Kind.CLUSTER, changed, *beside, told=told)

    def _told(self, at: int) -> str:
        return f"{self.name}, a cluster of {self._form} that leads to {self._place(at).name}"

    async def _go_on(self, steps: int, *, taken: bool, within: float = timing.APPLY) -> None:
        """Make requests, and check that the client uses a valid update after the odd one.

        Raises:
            PreconditionTimeout: the client does not use it, so it is not judged by further updates.
        """
        if taken:
            await calls_to(self._world, self.name, deadline=timing.SEVERAL_MOMENTS)
        self._at += steps
        good = (self.served().get_cluster(name).resource() for name in (self.name, OTHER_CLUSTER))
        told = f"{self._told(self._at)}, as it is"
        mended = await self._world.control.offer(Kind.CLUSTER, *good, told=told)
        await self._check(AFTERWARDS, mended, AckedOrNacked(acked=True))
        calls = await self._until(self.leads(), within=within)
        await self._check(AFTERWARDS, calls, self.leads())
        if calls.overdue:
            self._world.checks.turn_to(AFTERWARDS)
            did = "accepted" if taken else "rejected"
            raise PreconditionTimeout(
                f"the client {did} an odd Cluster, and then did not use a valid one"
            )

    async def _until(
        self, expected: Expectation, of: str = "", *, within: float = timing.APPLY
    ) -> Calls:
        calls = partial(calls_to, self._world, of or self.name)
        return await self._world.eventually(expected, calls, within=within)

    def _beside(self) -> dict[str, Expectation]:
        """Expect calls to the other cluster after a valid update of it in a rejected response.

        Envoy uses it only if the invalid resource kept the constraints of the API.
        """
        then, before = self.leads(1, OTHER_CLUSTER), self.leads(0, OTHER_CLUSTER)
        either = AllServedBy((*then.addresses, *before.addresses))
        return self._world.checks.by_edition(
            UNCHANGED, lambda edition: either if edition == "envoy" else then
        )

    async def _check_answer(self, odd: ClusterVariant, answer: Answer, *, acked: bool) -> None:
        """Check an ACK or a NACK; editions in `odd.otherwise` expect the opposite."""
        by = self._world.checks.by_edition(
            odd.clause, lambda edition: AckedOrNacked(acked=acked != (edition in odd.otherwise))
        )
        await self._world.check(odd.clause, answer, by)

    async def _check(self, clause: str, seen: Observation, expected: Expectation) -> None:
        """Check a clause that has the same effect in all editions."""
        await self._world.check(clause, seen, self._world.checks.alike(clause, expected))


FEW = 8
"""The most localities that a description lists."""


async def send_and_await_answer(
    world: World, served: XdsConfig, odd: ClusterVariant | RawClusterVariant
) -> Answer:
    """Send a variant of the cluster of `served`; return the client's ACK or NACK.

    From here on, an abort counts for the variant's clause.
    """
    world.checks.turn_to(odd.clause)
    changed = odd.of(served.cluster())
    return await world.control.offer(Kind.CLUSTER, changed, told=f"{CLUSTER}, {odd}")


async def send_endpoints_and_await_answer(
    world: World, served: XdsConfig, odd: ClusterVariant
) -> Answer:
    """Send a variant of the endpoints of the cluster of `served`; return the ACK or NACK."""
    world.checks.turn_to(odd.clause)
    changed = odd.of(served.endpoints())
    told = f"endpoints of {CLUSTER}, {odd}"
    return await world.control.offer(Kind.ENDPOINTS, changed, told=told)


async def placed(world: World, served: XdsConfig, *localities: Locality) -> Answer:
    """Send other localities of the cluster of `served`; return the client's ACK or NACK."""
    resource = served.with_localities(*localities).endpoints()
    told = "; ".join(map(str, localities[-FEW:]))
    if len(localities) > FEW:
        told = f"{len(localities)} localities, the last of them {told}"
    return await world.control.offer(Kind.ENDPOINTS, resource, told=told)
