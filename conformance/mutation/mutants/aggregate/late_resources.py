"""Mutants of the clauses in late_resources.toml."""

from collections.abc import Callable

from client_under_test.reference.clusters.aggregates import LeafEndpoints, endpoints_without_data
from client_under_test.reference.clusters.discovery import Aggregate, Cluster, Leaf, Missing
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.resolving.dependency_rules import routes_are_usable
from client_under_test.reference.values import Status
from conformance.mutation.mutants.trees import SHORT

Found = LeafEndpoints | None


each_route_by_itself = Mutant(
    clause="A74-CONFIG-01",
    broken="requests of a route are sent before the resources of other routes came",
    rules={"routes_are_usable": routes_are_usable},
)


def with_all_endpoints() -> dict[str, object]:
    """Return rules by which the routes wait for each other's endpoints, but not Clusters."""
    lacking = set[str]()

    def cluster_as_known(root: str, _name: str, cluster: Cluster | None) -> Cluster | None:
        if cluster is None:
            lacking.add(root)
        else:
            lacking.discard(root)
        return cluster

    return {
        "cluster_in_tree": cluster_as_known,
        "routes_are_usable": lambda unfinished: not ({*unfinished} - lacking),
    }


late_cluster_of_another_route = Mutant(
    clause="A74-CONFIG-01",
    broken="requests of a route are sent before the Clusters of other routes came",
    rules=with_all_endpoints(),
)


new_routes_at_once = Mutant(
    clause="A74-CONFIG-02",
    broken="routes to a new cluster are used before its resources came",
    rules={"routes_are_usable": routes_are_usable},
)


def waiting_for_the_first_leaf() -> Callable[[str, Leaf, Found], Found]:
    """Take late endpoints of all leaves but the first of a tree for missing."""
    first: dict[str, str] = {}

    def rule(root: str, leaf: Leaf, found: Found) -> Found:
        is_first = first.setdefault(root, leaf.name) == leaf.name
        return (
            endpoints_without_data("they have not come yet")
            if found is None and not is_first
            else found
        )

    return rule


new_routes_at_the_first_leaf = Mutant(
    clause="A74-CONFIG-02",
    broken="routes to a new aggregate are used as soon as its first leaf is complete",
    rules={"endpoints_in_tree": waiting_for_the_first_leaf()},
)


old_routes_watched = Mutant(
    clause="A74-CONFIG-02",
    broken="a cluster without a route stays subscribed",
    rules={"watches_to_end": lambda _watched, _needed: frozenset()},
)


def not_beside_another() -> Callable[[str, str, Cluster | None], Cluster | None]:
    """Treat a cluster as missing if a leaf of its tree came before it."""
    known: set[str] = set()

    def rule(root: str, name: str, cluster: Cluster | None) -> Cluster | None:
        if isinstance(cluster, Leaf):
            known.add(root)
        if cluster is None and root in known:
            return Missing(name=name, status=Status.unavailable("it has not come yet"))
        return cluster

    return rule


NOT_BESIDE_ANOTHER = {"cluster_in_tree": not_beside_another()}


late_cluster_passed_over = Mutant(
    clause="A37-TROUBLE-04",
    broken="a tree is used as soon as a leaf of it has come",
    rules=NOT_BESIDE_ANOTHER,
)


def not_below_another() -> Callable[[str, str, Cluster | None], Cluster | None]:
    """Treat a late cluster as missing if a nested aggregate lists it."""
    nested: set[str] = set()

    def rule(root: str, name: str, cluster: Cluster | None) -> Cluster | None:
        if isinstance(cluster, Aggregate) and name != root:
            nested.update(cluster.clusters)
        if cluster is None and name in nested:
            return Missing(name=name, status=Status.unavailable("it has not come yet"))
        return cluster

    return rule


late_nested_passed_over = Mutant(
    clause="A37-TROUBLE-04",
    broken="a tree is used before the leaves of a nested aggregate have come",
    rules={"cluster_in_tree": not_below_another()},
)


late_cluster_missed = Mutant(
    clause="A37-TROUBLE-04",
    broken="a cluster that does not come at once counts as missing",
    xds=SHORT,
)


late_endpoints_missed = Mutant(
    clause="A37-TROUBLE-05",
    broken="endpoints that do not come at once count as missing",
    xds=SHORT,
)


last_endpoints_missed = Mutant(
    clause="A37-TROUBLE-06",
    broken="a tree is used before the endpoints of its last leaf have come",
    xds=SHORT,
)


requests_not_waited_for = Mutant(
    clause="A74-CONFIG-02",
    broken="the watch of a cluster ends with its last route, although requests wait there",
    rules={"clusters_kept_for_requests": lambda _held: ()},
)


def waiting_for_the_first_two() -> Callable[[str, Leaf, Found], Found]:
    """Take late endpoints of the leaves of a tree from the third on for missing."""
    known: dict[str, list[str]] = {}

    def rule(root: str, leaf: Leaf, found: Found) -> Found:
        leaves = known.setdefault(root, [])
        if leaf.name not in leaves:
            leaves.append(leaf.name)
        is_early = leaf.name in leaves[:2]
        return (
            found
            if is_early or found is not None
            else endpoints_without_data("they have not come yet")
        )

    return rule


third_endpoints_missed = Mutant(
    clause="A37-TROUBLE-06",
    broken="a tree is used before the endpoints of its third leaf have come",
    rules={"endpoints_in_tree": waiting_for_the_first_two()},
)


def with_the_last_route() -> dict[str, object]:
    """Return rules by which all routes wait for the cluster of the last route alone."""
    roots: dict[str, None] = {}

    def cluster_as_known(root: str, _name: str, cluster: Cluster | None) -> Cluster | None:
        roots.setdefault(root)
        return cluster

    return {
        "cluster_in_tree": cluster_as_known,
        "routes_are_usable": lambda unfinished: not {*[*roots][-1:]} & {*unfinished},
    }


last_route_alone = Mutant(
    clause="A74-CONFIG-01",
    broken="all routes wait for the resources of the last route only",
    rules=with_the_last_route(),
)
