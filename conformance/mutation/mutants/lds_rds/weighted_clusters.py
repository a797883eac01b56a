"""Mutants of the clauses in weighted_clusters.toml."""

import random
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.resolving.selector import choose_cluster
from client_under_test.reference.xds.resources.values import WeightedCluster

OUT_OF = 100


def out_of_a_hundred(clusters: Sequence[WeightedCluster], rng: random.Random) -> str:
    """Draw a number below 100, as grpc-js-xds did up to 1.13; the last cluster takes the rest."""
    drawn = rng.random() * OUT_OF
    for cluster in clusters[:-1]:
        drawn -= cluster.weight
        if drawn < 0:
            return cluster.name
    return clusters[-1].name


weights_out_of_a_hundred = Mutant(
    clause="A28-SPLIT-01",
    broken="weights are shares of 100, whatever they add up to",
    rules={"choose_cluster": out_of_a_hundred},
    issue="https://github.com/grpc/grpc-node/pull/3069",
)


def drawn_by_signed_weights(clusters: Sequence[WeightedCluster], rng: random.Random) -> str:
    """Read weights as int32, and draw no cluster whose weight is negative then."""
    return choose_cluster([cluster for cluster in clusters if cluster.weight < 1 << 31], rng)


weights_signed = Mutant(
    clause="A28-SPLIT-01",
    broken="weights are read as int32",
    rules={"choose_cluster": drawn_by_signed_weights},
)


middle_cluster_unused = Mutant(
    clause="A28-SPLIT-01",
    broken="of a route's clusters, only the first and the last get requests",
    rules={"choose_cluster": lambda of, rng: choose_cluster([*of[:1], *of[1:][-1:]], rng)},
)


weightless_served = Mutant(
    clause="A28-SPLIT-01",
    broken="a cluster of weight 0 gets a share of requests as if its weight were one",
    rules={
        "choose_cluster": lambda clusters, rng: choose_cluster(
            [replace(cluster, weight=cluster.weight or 1) for cluster in clusters], rng
        )
    },
    xds={"weight_is_used": lambda _weight: True},
)


weightless_watched = Mutant(
    clause="A28-SPLIT-02",
    broken="a cluster of weight 0 is subscribed to",
    xds={"weight_is_used": lambda _weight: True},
    reports="subscribes",
)


clusters_drawn_evenly = Mutant(
    clause="A28-SPLIT-01",
    broken="each cluster of a route gets the same share, whatever its weight",
    rules={"choose_cluster": lambda clusters, rng: rng.choice(clusters).name},
)


def as_at_first() -> Callable[[Sequence[WeightedCluster], random.Random], str]:
    """Draw clusters by the weights that they had at first."""
    weights: dict[frozenset[str], Sequence[WeightedCluster]] = {}

    def draw(clusters: Sequence[WeightedCluster], rng: random.Random) -> str:
        names = frozenset(cluster.name for cluster in clusters)
        return choose_cluster(weights.setdefault(names, clusters), rng)

    return draw


first_weights_for_good = Mutant(
    clause="A28-SPLIT-03",
    broken="an update that changes only the weights of clusters is ignored",
    rules={"choose_cluster": as_at_first()},
)


unset_specifier_rejected = Mutant(
    clause="A28-ACTION-01",
    broken="a route without a cluster_specifier is invalid",
    xds={"ignores_route_action": lambda specifier: specifier is not None},
)


cluster_header_rejected = Mutant(
    clause="A28-ACTION-01",
    broken="a route with cluster_header is invalid",
    xds={"ignores_route_action": lambda specifier: specifier is None},
)


NONE_YET = 3
"""Requests that come before the picker knows new weights."""


def unknown_at_first() -> Callable[[Sequence[WeightedCluster], random.Random], str]:
    """Draw a cluster that the picker does not know for the first requests with new weights."""
    weights: dict[frozenset[str], Sequence[WeightedCluster]] = {}
    left = 0

    def draw(clusters: Sequence[WeightedCluster], rng: random.Random) -> str:
        nonlocal left
        names = frozenset(cluster.name for cluster in clusters)
        if weights.setdefault(names, clusters) != clusters:
            weights[names], left = clusters, NONE_YET
        left -= 1
        return "not known yet" if left >= 0 else choose_cluster(clusters, rng)

    return draw


picker_is_late = Mutant(
    clause="A28-SPLIT-04",
    broken="the first requests with new weights fail, as the picker does not know their cluster",
    rules={"choose_cluster": unknown_at_first()},
)


no_weight_accepted = Mutant(
    clause="A28-SPLIT-05",
    broken="weights of clusters may all be 0",
    xds={"weights_fit": lambda total: total < 1 << 32},
    reports="accepted",
)


any_sum_accepted = Mutant(
    clause="A28-SPLIT-06",
    broken="weights of clusters may add up to any number above 0",
    xds={"weights_fit": lambda total: total > 0},
    reports="accepted",
)
