"""Mutants of the clauses in late_resources.toml."""

from collections.abc import Callable

from client_under_test.reference.clusters.discovery import Cluster, Leaf, Missing
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.resolving.dependency_rules import each_by_itself
from client_under_test.reference.values import Status
from conformance.mutation.mutants.trees import SHORT

each_route_by_itself = Mutant(
    clause="A74-CONFIG-01",
    broken="requests of a route are sent before the resources of other routes came",
    rules={"may_be_used": each_by_itself},
)


new_routes_at_once = Mutant(
    clause="A74-CONFIG-02",
    broken="routes to a new cluster are used before its resources came",
    rules={"may_be_used": each_by_itself},
)


old_routes_watched = Mutant(
    clause="A74-CONFIG-02",
    broken="a cluster without a route stays subscribed",
    rules={"let_go": lambda _watched, _needed: frozenset()},
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


NOT_BESIDE_ANOTHER = {"cluster_as_known": not_beside_another()}


late_cluster_passed_over = Mutant(
    clause="A37-TROUBLE-04",
    broken="a tree is used as soon as a leaf of it has come",
    rules=NOT_BESIDE_ANOTHER,
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
