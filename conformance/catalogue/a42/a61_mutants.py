"""Mutants of the clauses in a61.toml."""

from client_under_test.reference.mutants import Mutant
from conformance.catalogue.a42.proactive_mutants import several_at_once, unless

several_endpoints_at_a_time = Mutant(
    clause="A61-PRO-01",
    broken="whenever something changes one more endpoint is connected",
    rules={"unasked": several_at_once},
)

failed_ones_rest = Mutant(
    clause="A61-PRO-02",
    broken="a failed endpoint is tried again only when asked for",
    rules={"ring_endpoints_retry": False},
)

new_list_unnoticed = Mutant(
    clause="A61-PRO-03",
    broken="an endpoint that is added is not connected without being picked",
    rules={"unasked": unless(lambda _, prospects: len(prospects) == 2)},  # noqa: PLR2004
)
