"""Serve the configurations of a course, and take the control plane away from the client."""

from __future__ import annotations

import msgspec
from grpc import StatusCode

from conformance import timing
from conformance.runner.explore import courses
from conformance.runner.explore.courses import Configuration
from conformance.runner.explore.observing import Published, Story
from conformance.runner.explore.picks import name_of
from conformance.runner.explore.record import Outage
from conformance.world import World
from conformance.xds_config.broken import rejected_cluster, rejected_endpoints
from conformance.xds_config.clusters import Aggregate, Cluster, Discovery, Eds, LogicalDns
from conformance.xds_config.config import XdsConfig, one_cluster
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import Policy, RingHash, RoundRobin
from conformance.xds_config.routes import Route
from fake_control_plane import Kind, Push, Request


def config_of(configuration: Configuration, addresses: tuple[str, ...]) -> XdsConfig:
    """Return the xDS configuration of a course's configuration."""
    tree = configuration.tree
    policy: Policy = RingHash(configuration.minimum, configuration.maximum)
    if configuration.policy == "round_robin":
        policy = RoundRobin()
    routes = (Route(courses.HASHING[configuration.hashing]),)
    listed: dict[int, list[Endpoint]] = {place: [] for place in range(len(tree.priorities))}
    for each in configuration.endpoints:
        endpoint = Endpoint(addresses[each.member], each.weight, health=each.health)
        listed.setdefault(each.locality, []).append(endpoint)
    localities = {
        number: Locality(
            tuple(endpoints),
            name_of(number),
            configuration.weight_of(number),
            tree.priorities[number] if tree.priorities else 0,
        )
        for number, endpoints in listed.items()
    }
    if not tree.leaves:
        return one_cluster(tuple(localities.values()), policy=policy, routes=routes)
    root = Cluster(discovery=Aggregate(tuple(leaf.name for leaf in tree.leaves)), policy=policy)
    leaves = [root]
    for leaf in tree.leaves:
        own = tuple(localities[place] for place in tree.localities_of(leaf.number))
        discovery: Discovery = Eds(own)
        if leaf.kind == "LOGICAL_DNS":
            # The name is an address, which resolves to itself.
            discovery = LogicalDns(own[0].endpoints[0].address)
        leaves.append(Cluster(name=leaf.name, discovery=discovery, policy=policy))
    return XdsConfig(clusters=tuple(leaves), routes=routes)


class CourseControlPlane:
    """The control plane of a world, as the steps of a course use it.

    Args:
        world: the world.
        story: records what is published, and when the control plane was out of reach.
        initial: the first configuration.
    """

    def __init__(self, world: World, story: Story, initial: Configuration) -> None:
        self._world = world
        self._story = story
        self._pushed: dict[tuple[Kind, str], object] = {}
        self._is_down = False
        self._is_withheld = False
        self.configuration = initial
        self.addresses: tuple[str, ...] = ()
        """The addresses of the course's endpoints, once they exist."""
        self.had_outage = False
        """True while the client may still wait before it tries the control plane again."""

    @property
    def is_reachable(self) -> bool:
        """Return whether the client can get what was sent last."""
        return not (self._is_down or self._is_withheld)

    @property
    def _is_in_use(self) -> bool:
        """Return whether the client can get what was sent last, and knows the control plane."""
        events = self._world.plane.transcript.events
        return self.is_reachable and any(isinstance(event, Request) for event in events)

    async def publish(self, configuration: Configuration) -> None:
        """Send what differs from what is served."""
        known = config_of(configuration, self.addresses).resources_by_name()
        changed = {what: each for what, each in known.items() if each != self._pushed.get(what)}
        sent = self._world.now
        push = await self._world.plane.set(*changed.values()) if changed else None
        self._pushed |= changed
        self.configuration = configuration
        self._story.published.append(Published(configuration, sent, push))

    async def hear_answers(self) -> None:
        """Wait until the client has answered what was sent last.

        Raises:
            NoAckOrNack: it did not in time.
        """
        push = self._story.published[-1].push
        if push is None or not self._is_in_use:
            return
        for kind in push.versions:
            await self._hear_answer(push, kind)

    async def _hear_answer(self, push: Push, kind: Kind) -> None:
        deadline = timing.AFTER_OUTAGE if self.had_outage else timing.ANSWER
        await self._world.control.answer(push, kind, deadline=deadline)

    async def refuse(self, kind: Kind) -> None:
        """Send an invalid resource in the place of one that the client has accepted."""
        config = config_of(self.configuration, self.addresses)
        cluster = config.get_cluster()
        for leaf in self.configuration.tree.leaves[:1]:
            cluster = config.get_cluster(leaf.name)
            if leaf.kind == "LOGICAL_DNS":
                return
        if kind is Kind.CLUSTER:
            resource = rejected_cluster(cluster)
        elif any(place.endpoints for place in cluster.localities):
            resource = rejected_endpoints(cluster)
        else:
            return  # without a locality the resource is valid
        self._pushed.pop((kind, cluster.name), None)
        push = await self._world.plane.set(resource)
        self._story.invalid.add((kind.name, push.versions[kind]))
        if self._is_in_use:
            await self._hear_answer(push, kind)

    def end_streams(self) -> None:
        """End the ADS stream."""
        self.had_outage = True
        self._world.plane.script.end_streams(StatusCode.UNAVAILABLE)

    async def stop(self) -> None:
        """Be out of reach from now on."""
        if not self._is_down:
            self._is_down = self.had_outage = True
            self._story.outages.append(Outage(began=self._world.now))
            await self._world.plane.stop()

    async def resume(self) -> None:
        """Be there again."""
        if self._is_down:
            self._is_down = False
            await self._world.plane.resume()
            last = self._story.outages[-1]
            self._story.outages[-1] = msgspec.structs.replace(last, ended=self._world.now)

    def withhold(self) -> None:
        """Hold responses back from now on."""
        self._is_withheld = True
        self._world.plane.script.hold()

    def release(self) -> None:
        """Send the responses that were held back."""
        self._is_withheld = False
        self._world.plane.script.release()

    async def heal(self) -> None:
        """End all faults."""
        await self.resume()
        if self._is_withheld:
            self.release()

    def settled(self) -> None:
        """Note that the client has had the time to return after outages that are over."""
        self.had_outage = self._is_down
