"""What is served to the client in one scenario, as one frozen noun.

The resources that the control plane sends and the inputs of the oracles are both made from it, so
that the two cannot drift apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, get_args

import msgspec

from conformance.expectations import Calibration, Everywhere, MapsLike, Spread, told_apart
from conformance.oracles import ring
from conformance.oracles.request_hash import (
    ChannelIdPolicy,
    HashPolicy,
    HeaderPolicy,
    TerminalReading,
    UnsupportedKind,
    UnsupportedPolicy,
    policies_in_use,
)
from fake_control_plane import Locality as LocalityName
from fake_control_plane import resources

LISTENER = "xdspec.test"
ROUTE = "route"
CLUSTER = "cluster"
SESSION = "session"
"""The metadata key that most scenarios hash."""

MOST_TOLD = 16
"""Endpoints of a locality that a failure's text names."""

BY_SESSION = (HeaderPolicy(name=SESSION),)


class RingHash(msgspec.Struct, frozen=True, tag="RING_HASH"):
    """``lb_policy: RING_HASH``; a size of None is left unset in the resource."""

    minimum: int | None = None
    maximum: int | None = None
    hash_function: str | int | None = "XX_HASH"
    """A name of the enum, or a number that it does not have."""
    has_config: bool = True
    """Whether ``ring_hash_lb_config`` is there at all."""

    def __str__(self) -> str:
        if not self.has_config:
            return "RING_HASH without config"
        sizes = f"minimum {_or_unset(self.minimum)}, maximum {_or_unset(self.maximum)}"
        return f"RING_HASH, {sizes}, hash function {_or_unset(self.hash_function)}"


class TypedRingHash(msgspec.Struct, frozen=True, tag="TypedStruct"):
    """``load_balancing_policy`` with gRPC's own config of ring_hash in a TypedStruct (A52, A76)."""

    request_hash_header: str | None = None
    """None leaves it out."""
    minimum: int | None = None
    maximum: int | None = None

    def config(self) -> dict[str, str | int]:
        """The config, as in a service config."""
        fields = {
            "requestHashHeader": self.request_hash_header,
            "minRingSize": self.minimum,
            "maxRingSize": self.maximum,
        }
        return {name: value for name, value in fields.items() if value is not None}

    def __str__(self) -> str:
        return f"TypedStruct of ring_hash_experimental {self.config()}"


class RoundRobin(msgspec.Struct, frozen=True, tag="ROUND_ROBIN"):
    """``lb_policy: ROUND_ROBIN``."""

    def __str__(self) -> str:
        return "ROUND_ROBIN"


Policy = RingHash | TypedRingHash | RoundRobin
"""The LB policy of a cluster."""


class Endpoint(msgspec.Struct, frozen=True):
    """An endpoint as EDS lists it."""

    address: str
    weight: int | None = None
    hash_key: str | None = None
    health: str = "UNKNOWN"
    """A name of the xDS API's HealthStatus."""
    further: tuple[str, ...] = ()
    """Its additional addresses (A61)."""

    def __str__(self) -> str:
        weight = "" if self.weight is None else f" x {self.weight}"
        key = "" if self.hash_key is None else f" key {self.hash_key!r}"
        health = "" if self.health == "UNKNOWN" else f" {self.health}"
        addresses = "+".join((self.address, *self.further))
        return f"{addresses}{weight}{key}{health}"


class Locality(msgspec.Struct, frozen=True):
    """A locality as EDS lists it."""

    endpoints: tuple[Endpoint, ...]
    name: str = "locality"
    """Its region, or ``region/zone/sub_zone``."""
    weight: int | None = 1
    priority: int = 0

    def __str__(self) -> str:
        listed = ", ".join(map(str, self.endpoints[:MOST_TOLD]))
        if len(self.endpoints) > MOST_TOLD:
            listed += f" and {len(self.endpoints) - MOST_TOLD} more, which are in transcript.jsonl"
        head = f"locality {self.name}, priority {self.priority}, weight {_or_unset(self.weight)}"
        return f"{head}: {listed}"


class Route(msgspec.Struct, frozen=True):
    """Calls of this path, or all of them, hashed by these policies."""

    policies: tuple[HashPolicy, ...]
    path: str | None = None

    def __str__(self) -> str:
        listed = ", ".join(map(_policy_in_words, self.policies)) or "nothing"
        return f"{self.path or 'all paths'} hashed by {listed}"


def _or_unset(value: object) -> object:
    return "unset" if value is None else value


def _policy_in_words(policy: HashPolicy) -> str:
    match policy:
        case HeaderPolicy(regex=None):
            words = f"header {policy.name}"
        case HeaderPolicy():
            words = f"header {policy.name} with '{policy.regex}' -> '{policy.substitution}'"
        case ChannelIdPolicy():
            words = "channel id"
        case UnsupportedPolicy():
            words = policy.kind
    return f"{words} (terminal)" if policy.terminal else words


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """One cluster, the routes to it and the endpoints in it, or below it."""

    localities: tuple[Locality, ...] = ()
    policy: Policy = RingHash()
    routes: tuple[Route, ...] = (Route(BY_SESSION),)
    cap: int = 4096
    """The client's local cap on ring sizes, an input of the oracle alone."""
    cluster_name: str = CLUSTER
    """Another one has the client begin anew, with policies that were never used."""
    service_name: str | None = None
    """What EDS calls the cluster; None: as CDS does."""
    is_reported: bool = False
    """Whether the cluster names a load reporting server: this control plane."""
    is_dns: bool = False
    """Whether it is a LOGICAL_DNS cluster, of the address, or host name, of its only endpoint."""
    drops: dict[str, int] = {}
    """Categories of EDS, and how many of a million requests each drops."""
    below: tuple[Served, ...] = ()
    """What it consists of, the most preferred first, if it is an aggregate. Routes to these count
    for nothing."""
    beside: tuple[Served, ...] = ()
    """Further clusters; their routes come first."""

    def __str__(self) -> str:
        """What a reader of a failure needs to know of it, in a line."""
        if self.below:
            places = f"made of {', '.join(f'{one.cluster_name}: {one}' for one in self.below)}"
        else:
            places = "; ".join(map(str, self.localities))
        words = f"{self.policy}; {'; '.join(map(str, self.routes))}; {places}"
        words += "".join(f"; {share} per million dropped" for share in self.drops.values())
        return f"{'LOGICAL_DNS, ' if self.is_dns else ''}{words}" + "".join(
            f"; beside it {one.cluster_name}: {one}" for one in self.beside
        )

    def resources(self) -> tuple[Any, ...]:
        """The resources, to be given to the control plane."""
        return (
            self.listener(),
            self.route_configuration(),
            *(one.cluster() for one in self.all_clusters()),
            *(one.endpoints() for one in self.all_clusters() if not (one.is_dns or one.below)),
        )

    def clusters(self) -> tuple[Served, ...]:
        """Each of the clusters to which there are routes, in the order of these."""
        return (*self.beside, self)

    def reported_clusters(self) -> tuple[str, ...]:
        """The names of the clusters whose load is to be reported."""
        return tuple(one.cluster_name for one in self.clusters() if one.is_reported)

    def all_clusters(self) -> tuple[Served, ...]:
        """Those clusters, and behind each what is below it."""
        return tuple(one for root in self.clusters() for one in root.tree())

    def tree(self) -> Iterator[Served]:
        """The cluster, and all that it consists of."""
        yield self
        for one in self.below:
            yield from one.tree()

    def listener(self) -> Any:
        """The LDS resource."""
        return resources.listener(LISTENER, route_config=ROUTE)

    def route_configuration(self) -> Any:
        """The RDS resource."""
        routes = [
            resources.route(
                path=route.path,
                cluster=one.cluster_name,
                hash_policies=[hash_policy_resource(policy) for policy in route.policies],
            )
            for one in self.clusters()
            for route in one.routes
        ]
        return resources.route_configuration(ROUTE, *routes)

    def cluster(self) -> Any:
        """The CDS resource."""
        policy = _policy_resource(self.policy)
        if self.below:
            names = (one.cluster_name for one in self.below)
            return resources.aggregate_cluster(self.cluster_name, *names, policy=policy)
        if self.is_dns:
            (address,) = self.addresses()
            host, _, port = address.rpartition(":")
            return resources.logical_dns_cluster(
                self.cluster_name, host, int(port), policy=policy, lrs=self.is_reported
            )
        return resources.eds_cluster(
            self.cluster_name,
            service_name=self.service_name,
            policy=policy,
            lrs=self.is_reported,
        )

    def endpoints(self) -> Any:
        """The EDS resource."""
        return resources.endpoints(
            self.service_name or self.cluster_name,
            *(
                resources.locality(
                    LocalityName(*place.name.split("/")),
                    *(
                        resources.endpoint(
                            one.address,
                            *one.further,
                            weight=one.weight,
                            health=one.health,
                            hash_key=one.hash_key,
                        )
                        for one in place.endpoints
                    ),
                    weight=place.weight,
                    priority=place.priority,
                )
                for place in self.localities
            ),
            drops=[
                resources.drop(category, per_million=share)
                for category, share in self.drops.items()
            ],
        )

    def addresses(self) -> tuple[str, ...]:
        """The addresses of all endpoints, in the order of EDS."""
        return tuple(one.address for place in self.localities for one in place.endpoints)

    def config(self) -> ring.RingConfig:
        """The ring's sizes, for the oracle."""
        if isinstance(self.policy, RoundRobin):
            raise TypeError("ROUND_ROBIN has no ring")
        return ring.RingConfig(
            minimum=self.policy.minimum, maximum=self.policy.maximum, cap=self.cap
        )

    def hashed(self, route: int = -1) -> tuple[HashPolicy, ...]:
        """What makes the hash of a request on this route, for the oracle."""
        named = self.policy.request_hash_header if isinstance(self.policy, TypedRingHash) else None
        return policies_in_use(self.routes[route].policies, named or "")

    def ring_localities(
        self, priority: int = 0, *, hash_keys: bool = False
    ) -> tuple[ring.RingLocality, ...]:
        """The localities of one priority, for the oracle; those without a weight are not used."""
        return tuple(
            ring.RingLocality(
                name=place.name,
                weight=place.weight,
                endpoints=tuple(
                    ring.RingEndpoint(
                        address=one.address,
                        weight=1 if one.weight is None else one.weight,
                        hash_key=one.hash_key if hash_keys else None,
                    )
                    for one in place.endpoints
                ),
            )
            for place in self.localities
            if place.priority == priority and place.weight
        )

    def mapping(
        self,
        *,
        route: int = -1,
        priority: int = 0,
        weights: ring.WeightReading | None = None,
        terminal: TerminalReading = "A42",
        hash_keys: bool = False,
        search: str | None = None,
        key_format: str | None = None,
        allotment: str | None = None,
        failed: Iterable[str] = (),
    ) -> MapsLike:
        """Each call where the ring of this priority maps it, by these readings of the text."""
        return MapsLike(
            localities=self.ring_localities(priority, hash_keys=hash_keys),
            config=self.config(),
            policies=self.hashed(route),
            weights=weights,
            terminal=terminal,
            search=search,
            key_format=key_format,
            allotment=allotment,
            failed=tuple(failed),
        )

    def spread(self) -> Spread:
        """Calls with random hashes on the ring of the first priority."""
        return Spread(localities=self.ring_localities(), config=self.config())

    def everywhere(self) -> Everywhere:
        """Calls at every endpoint of the first priority."""
        return Everywhere(localities=self.ring_localities(), config=self.config())

    def keeps_entries_in(self, other: Served, *, changed: str) -> bool:
        """Whether all endpoints but one have as many entries in both, however they are counted.

        The same number means the same entries, as long as each endpoint numbers its own. That no
        key *moves* between the others would not be enough: an additional entry may lie in an arc
        of the endpoint that changes, and matter once that one is unreachable.
        """
        for reading in get_args(ring.WeightReading):
            for allotment in get_args(ring.Allotment):
                before, after = (
                    ring.entry_counts(
                        ring.weights(one.ring_localities(), reading), one.config(), allotment
                    )
                    for one in (self, other)
                )
                if {**before, changed: 0} != {**after, changed: 0}:
                    return False
        return True

    def hashed_by(self, *policies: HashPolicy) -> Served:
        """The same, with these hash policies on the one route."""
        return msgspec.structs.replace(self, routes=(Route(policies),))

    def balanced_by(self, policy: Policy) -> Served:
        """The same, with another LB policy."""
        return msgspec.structs.replace(self, policy=policy)

    def capped_at(self, cap: int) -> Served:
        """The same, for the oracle of a client with another local cap."""
        return msgspec.structs.replace(self, cap=cap)

    def placed(self, *localities: Locality) -> Served:
        """The same, with other localities."""
        return msgspec.structs.replace(self, localities=localities)

    def calibration(self, calls: Any) -> Calibration:
        """These calls as a calibration of the client's key format."""
        return Calibration(
            calls=calls,
            localities=self.ring_localities(),
            config=self.config(),
            policies=self.hashed(),
        )


def plain(
    addresses: Sequence[str],
    *,
    policy: Policy = RingHash(),  # noqa: B008  # frozen
    policies: tuple[HashPolicy, ...] = BY_SESSION,
) -> Served:
    """One locality of equal endpoints."""
    one = Locality(tuple(Endpoint(address) for address in addresses))
    return Served(localities=(one,), policy=policy, routes=(Route(policies),))


def weighted(weights: dict[str, int | None], *, policy: Policy = RingHash()) -> Served:  # noqa: B008
    """One locality of endpoints with these weights, by address."""
    endpoints = tuple(Endpoint(address, weight) for address, weight in weights.items())
    return Served(localities=(Locality(endpoints),), policy=policy)


def _policy_resource(policy: Policy) -> Any:
    match policy:
        case RoundRobin():
            return resources.RoundRobin()
        case TypedRingHash():
            config = resources.typed_struct("ring_hash_experimental", policy.config())
            return resources.load_balancing_policy(config)
        case RingHash():
            return resources.RingHash(
                minimum=policy.minimum,
                maximum=policy.maximum,
                hash_function=policy.hash_function,
                with_config=policy.has_config,
            )


def _unset(*, terminal: bool) -> Any:
    policy = resources.hash_cookie(SESSION, terminal=terminal)
    policy.ClearField("cookie")
    return policy


UNSUPPORTED: dict[UnsupportedKind, Callable[..., Any]] = {
    "cookie": partial(resources.hash_cookie, SESSION),
    "connection_properties": resources.hash_source_ip,
    "query_parameter": partial(resources.hash_query_parameter, SESSION),
    "filter_state": partial(resources.hash_filter_state, "some.other.key"),
    "unset": _unset,
}
"""The resource of each kind of policy that gives no hash."""


def hash_policy_resource(policy: HashPolicy) -> Any:
    """The route's hash policy that the oracle's value stands for."""
    match policy:
        case HeaderPolicy():
            return resources.hash_header(
                policy.name,
                terminal=policy.terminal,
                regex=policy.regex,
                substitution=policy.substitution,
            )
        case ChannelIdPolicy():
            return resources.hash_channel_id(terminal=policy.terminal)
        case UnsupportedPolicy():
            return UNSUPPORTED[policy.kind](terminal=policy.terminal)


def first_told_apart(
    arrangements: Iterable[Served],
    choices: Callable[[Served], Mapping[str, MapsLike]],
    headers: Sequence[Mapping[str, str]],
) -> Served:
    """The first on whose ring calls with these headers tell which choice was made, or the last."""
    for served in arrangements:
        if told_apart(choices(served).values(), headers):
            break
    return served
