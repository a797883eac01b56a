"""Mutants of the clauses in dns_reresolution.toml."""

from collections.abc import Sequence

from client_under_test.reference.clusters.discovery import Leaf
from client_under_test.reference.editions.mutants import Mutant
from conformance.mutation.mutants.aggregate.tree import Found, found_by

one_name_alone = Mutant(
    clause="A74-CONFIG-07",
    broken="only one of several LOGICAL_DNS clusters is resolved again",
    rules={"names_to_reresolve": lambda names: sorted(names)[:1]},
)


result_lost = Mutant(
    clause="A37-DNS-09",
    broken="the addresses of a name are dropped when it no longer resolves",
    rules={"dns_error_counts": lambda _: True},
    variant="seed",
)


never_resolved_again = Mutant(
    clause="A37-DNS-10",
    broken="a name is resolved once",
    rules={"names_to_reresolve": lambda _: ()},
)


resolved_for_eds = Mutant(
    clause="A37-DNS-11",
    broken="names are resolved again when connections of EDS leaves fail",
    rules={"ignores_reresolution": lambda _: False},
)


lost_when_gone = Mutant(
    clause="A37-DNS-29",
    broken="the addresses of a name are dropped when it no longer exists",
    rules={"dns_error_counts": lambda _: True},
    reports="not served",
)


class NamesBelow:
    """Names of LOGICAL_DNS clusters below aggregates."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def noted(self, root: str, found: Found) -> Found:
        """Note them."""
        for leaf in found:
            if isinstance(leaf, Leaf) and leaf.name != root:
                self._names.add(leaf.dns_name)
        return found

    def left_out(self, names: Sequence[str]) -> Sequence[str]:
        """Return the other names."""
        return [name for name in names if name not in self._names]


names_below = NamesBelow()


never_below_an_aggregate = Mutant(
    clause="A37-DNS-10",
    broken="the name of a LOGICAL_DNS cluster below an aggregate is resolved once",
    rules={
        "usable_leaves": found_by(names_below.noted),
        "names_to_reresolve": names_below.left_out,
    },
)
