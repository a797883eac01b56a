"""Mutants of the clauses in a61.toml."""

from client_under_test.reference.mutants import Mutant
from client_under_test.reference.policies.interface import State
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
    broken="after one failure nothing is connected without being picked",
    rules={"unasked": unless(lambda aggregated, _: aggregated is State.CONNECTING)},
)
