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
from conformance.scenarios.helpers.routing import calls_to, route_to
from conformance.world import World
from conformance.xds_config.clusters import Aggregate, Cluster, Discovery, Eds, LogicalDns
from conformance.xds_config.config import XdsConfig
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import RoundRobin
from conformance.xds_config.variants import RawClusterVariant, ResourceVariant
from fake_control_plane import Kind

Form = Literal["EDS", "aggregate", "LOGICAL_DNS"]

STEPS = 3
"""Number of places. A valid update leads neither to the current place nor to that of a variant."""

OTHER_CLUSTER = "beside"

ACCEPTING_CLAUSES: Mapping[Form, str] = {
    "EDS": "A37-VALID-02",
    "aggregate": "A37-VALID-01",
    "LOGICAL_DNS": "A37-VALID-03",
}
"""The clause that requires the client to accept such a Cluster."""


def clauses_of(variants: Sequence[ResourceVariant]) -> tuple[str, ...]:
    """Return the clauses that these variants decide, in their order."""
    return tuple(dict.fromkeys(variant.clause for variant in variants))


class LiveCluster:
    """A cluster in use, and another one next to it; updates change their endpoints (places).

    Each valid update leads to another place than the last one, so that requests show whether the
    client uses it. A variant is a valid update with one change, so requests also show whether the
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
    async def start(cls, world: World, form: Form, *, about: str = "", **names: str) -> LiveCluster:
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
        world.checks.turn_to(about or ("A47-CDS-02" if names else ACCEPTING_CLAUSES[form]))
        await world.serve(made.served())
        for of in (made.name, OTHER_CLUSTER):
            why = "the Clusters are valid"
            await world.rounds.require(
                made.expected_calls(of=of), partial(calls_to, world, of), why=why
            )
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

    def expected_calls(self, step: int = 0, of: str = "") -> AllServedBy:
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

    async def check_rejected(self, variant: ResourceVariant, *unchanged: str) -> bool:
        """Check that the client rejects a variant, and uses a valid one in the same response.

        Args:
            variant: the variant.
            unchanged: the clauses that require the last accepted version to stay in use.

        Returns:
            True if the client rejected it.
        """
        answer = await self._send_variant(variant, OTHER_CLUSTER)
        await self._check_answer(variant, answer, acked=False)
        if not answer.acked:
            if self._waits_for_the_other:  # Wait once only for a client that does not use it.
                calls = await self._until(self.expected_calls(1, OTHER_CLUSTER), OTHER_CLUSTER)
                self._waits_for_the_other = not calls.overdue
                await self._world.check("A46-NACK-03", calls, self._other_cluster_calls())
            calls = await calls_to(self._world, self.name)
            for clause in ("A46-NACK-03", *unchanged):
                await self._check(clause, calls, self.expected_calls())
        await self._check_next_update(1, taken=answer.acked)
        return not answer.acked

    async def check_all_rejected(
        self, variants: Sequence[ResourceVariant], *unchanged: str
    ) -> None:
        """Check that the client rejects each of these updates, one after another.

        Raises:
            Unsupported: the client rejected none, so no verdict is possible on what stays in use
                after a rejection. Or the client supports none of the features in question.
        """
        bench = self._world.checks
        own = [variant for variant in variants if bench.has(variant.clause)]
        if not own:
            bench.require(variants[0].clause)
        if not any([await self.check_rejected(resource, *unchanged) for resource in own]):
            raise Unsupported("the client rejected none of these Clusters")

    async def check_accepted(self, variant: ResourceVariant) -> None:
        """Check that the client accepts and uses a variant."""
        answer = await self._send_variant(variant)
        await self._check_answer(variant, answer, acked=True)
        if answer.acked:
            calls = await self._until(self.expected_calls(1))
            await self._check(variant.clause, calls, self.expected_calls(1))
        await self._check_next_update(2, taken=answer.acked)

    async def check_streams_of_endpoints(self, clause: str) -> None:
        """Check that the client requests endpoints only on the stream of the Clusters."""
        expected = SubscribesBesidesClusters()
        asked = await self._world.control.asked_until(expected)
        await self._check(clause, asked, expected)

    async def check_acked(self, variant: ResourceVariant, then: str, *, case: str) -> None:
        """Check that the client accepts a variant, and report the outcome of requests.

        Args:
            variant: the variant.
            then: the clause on the requests.
            case: the name of this update in the report.
        """
        answer = await self._send_variant(variant)
        await self._check(variant.clause, answer, AckedOrNacked(acked=True))
        if answer.acked:
            choices: dict[str, Expectation] = {
                f"{case}: served": self.expected_calls(1),
                f"{case}: served as before": self.expected_calls(),
                f"{case}: fail": Fails(),
                f"{case}: wait": EndsWith("DEADLINE_EXCEEDED"),
            }
            moments = timing.SEVERAL_MOMENTS
            calls = partial(calls_to, self._world, self.name, deadline=moments)
            seen = await self._world.eventually(self.expected_calls(1), calls, within=moments)
            await self._world.check(then, seen, choices)
        await self._check_next_update(2, taken=answer.acked)

    async def report_choice(
        self,
        variant: ResourceVariant | RawClusterVariant,
        if_taken: str = "accepted",
        *,
        used: bool,
        within: float = timing.APPLY,
    ) -> None:
        """Report whether the client rejects a variant, or accepts and perhaps uses it.

        Args:
            variant: the variant.
            if_taken: the name of the choice to accept it.
            used: True if the choice includes that the client uses it.
            within: seconds within which the client must use the next valid update.
        """
        answer = await self._send_variant(variant)
        seen: Observation = answer
        ways: dict[str, Expectation] = {"refused": AckedOrNacked(acked=False)}
        if answer.acked:
            ways = {if_taken: AckedOrNacked(acked=True)}
            if used:
                seen, ways = (
                    await self._until(self.expected_calls(1)),
                    {if_taken: self.expected_calls(1)},
                )
        await self._world.check(variant.clause, seen, ways)
        await self._check_next_update(2, taken=answer.acked, within=within)

    async def report_large_update(self, variant: RawClusterVariant) -> None:
        """Report whether the client accepts a large update, rejects it, or ends its stream."""
        self._world.checks.turn_to(variant.clause)
        changed = variant.of(self.served(1).get_cluster(self.name).resource())
        description = f"{self._description(self._at + 1)}, {variant}"
        answer = await self._world.control.offer_large(changed, label=description)
        seen: Observation = answer or await calls_to(self._world, self.name)
        choices: dict[str, Expectation] = {
            "accepted": AckedOrNacked(acked=True),
            "refused": AckedOrNacked(acked=False),
        }
        if answer is None:
            choices = {
                "stream ended, requests served as before": self.expected_calls(),
                "stream ended, requests fail": EndsWith("UNAVAILABLE"),
            }
        await self._world.check(variant.clause, seen, choices)
        await self._check_next_update(2, taken=answer is not None and answer.acked)

    async def _send_variant(
        self, variant: ResourceVariant | RawClusterVariant, *others: str
    ) -> Answer:
        """Send a variant of the next update of the cluster, with valid updates of `others`."""
        self._world.checks.turn_to(variant.clause)
        following = self.served(1)
        changed = variant.of(following.get_cluster(self.name).resource())
        beside = (following.get_cluster(name).resource() for name in others)
        description = f"{self._description(self._at + 1)}, {variant}"
        if others:
            description += "; and a valid update next to it"
        return await self._world.control.offer(Kind.CLUSTER, changed, *beside, label=description)

    def _description(self, at: int) -> str:
        return f"{self.name}, a cluster of {self._form} that leads to {self._place(at).name}"

    async def _check_next_update(
        self, steps: int, *, taken: bool, within: float = timing.APPLY
    ) -> None:
        """Make requests, and check that the client uses a valid update after the variant.

        Raises:
            PreconditionTimeout: the client does not use it, so it is not judged by further updates.
        """
        if taken:
            await calls_to(self._world, self.name, deadline=timing.SEVERAL_MOMENTS)
        self._at += steps
        good = (self.served().get_cluster(name).resource() for name in (self.name, OTHER_CLUSTER))
        description = f"{self._description(self._at)}, as it is"
        mended = await self._world.control.offer(Kind.CLUSTER, *good, label=description)
        await self._check("A37-VALID-29", mended, AckedOrNacked(acked=True))
        calls = await self._until(self.expected_calls(), within=within)
        await self._check("A37-VALID-29", calls, self.expected_calls())
        if calls.overdue:
            self._world.checks.turn_to("A37-VALID-29")
            did = "accepted" if taken else "rejected"
            raise PreconditionTimeout(
                f"the client {did} a changed Cluster, and then did not use a valid one"
            )

    async def _until(
        self, expected: Expectation, of: str = "", *, within: float = timing.APPLY
    ) -> Calls:
        calls = partial(calls_to, self._world, of or self.name)
        return await self._world.eventually(expected, calls, within=within)

    def _other_cluster_calls(self) -> dict[str, Expectation]:
        """Expect calls to the other cluster after a valid update of it in a rejected response.

        Envoy uses it only if the invalid resource kept the constraints of the API.
        """
        then, before = self.expected_calls(1, OTHER_CLUSTER), self.expected_calls(0, OTHER_CLUSTER)
        either = AllServedBy((*then.addresses, *before.addresses))
        return self._world.checks.by_edition(
            "A46-NACK-03", lambda edition: either if edition == "envoy" else then
        )

    async def _check_answer(self, variant: ResourceVariant, answer: Answer, *, acked: bool) -> None:
        """Check an ACK or a NACK; editions in `variant.otherwise` expect the opposite."""
        by = self._world.checks.by_edition(
            variant.clause,
            lambda edition: AckedOrNacked(acked=acked != (edition in variant.otherwise)),
        )
        await self._world.check(variant.clause, answer, by)

    async def _check(self, clause: str, seen: Observation, expected: Expectation) -> None:
        """Check a clause that has the same effect in all editions."""
        await self._world.check(clause, seen, self._world.checks.alike(clause, expected))
