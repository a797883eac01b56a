"""Mutants of the clauses in a74.toml."""

from client_under_test.reference.conduct.mutants import Mutant
from client_under_test.reference.resolving.dependency_rules import each_by_itself

each_route_by_itself = Mutant(
    clause="A74-CONFIG-01",
    broken="requests of a route are sent while the resources of another one have not come",
    rules={"may_be_used": each_by_itself},
)

new_routes_at_once = Mutant(
    clause="A74-CONFIG-02",
    broken="routes to a new cluster are used before its resources have come",
    rules={"may_be_used": each_by_itself},
)
