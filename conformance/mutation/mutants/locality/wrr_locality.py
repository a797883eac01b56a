"""Mutants of the clauses in wrr_locality.toml."""

from __future__ import annotations

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.values import Endpoint

LARGEST_SIGNED = 2**31 - 1


THREE = 3
"""Number of localities at the start of the scenario of A52-WRR-06."""


HUNDRED = 100


class FirstWeights:
    """Each locality keeps its first weight."""

    def __init__(self) -> None:
        self._first: dict[str, int] = {}

    def weight(self, target: str, weight: int) -> int:
        """Return the weight of a locality."""
        return self._first.setdefault(target, weight)


class NoNewOnes:
    """Localities that come after the first list have weight 0."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def weight(self, target: str, weight: int) -> int:
        """Return the weight, or 0 from the fourth locality on."""
        if len(self._known) < THREE:
            self._known.add(target)
        return weight if target in self._known else 0


class FirstHundred:
    """Only the first localities keep their weights."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def weight(self, target: str, weight: int) -> int:
        """Return the weight, or 1 beyond the first localities."""
        self._known.add(target)
        return 1 if len(self._known) > HUNDRED else weight


def itself_and_its_weight(endpoint: Endpoint) -> str:
    """Return an identity of address and locality weight."""
    return f"{endpoint.addresses[0]} {endpoint.locality_weight}"


all_alike = Mutant(
    clause="A52-WRR-01",
    broken="all localities have equal weights",
    rules={"target_weight": lambda _target, _weight: 1},
)


by_the_first_weights = Mutant(
    clause="A52-WRR-02",
    broken="a locality keeps its first weight",
    rules={"target_weight": FirstWeights().weight},
)


endpoint_of_its_weight = Mutant(
    clause="A52-WRR-03",
    broken="an endpoint of a locality with another weight is another endpoint",
    rules={"endpoint_identity": itself_and_its_weight},
)


signed_weights = Mutant(
    clause="A52-WRR-04",
    broken="a weight is read as a signed 32-bit number, of at least 1",
    rules={"target_weight": lambda _target, weight: 1 if weight > LARGEST_SIGNED else weight},
)


of_sixteen_bits = Mutant(
    clause="A52-WRR-04",
    broken="only the lower 16 bits of a weight count",
    rules={"target_weight": lambda _target, weight: weight % 2**16},
)


drawn_by_lot = Mutant(
    clause="A52-WRR-05",
    broken="endpoints are picked at random",
    rules={"round_robin_order": lambda members, rng: iter(lambda: rng.randrange(members), -1)},
)


only_the_first = Mutant(
    clause="A52-WRR-06",
    broken="a locality that comes later is not used",
    rules={"target_weight": NoNewOnes().weight},
)


of_the_first_priority = Mutant(
    clause="A52-WRR-07",
    broken="the weight that a locality has in the first priority is used in all",
    rules={"target_weight": FirstWeights().weight},
    reports="those of the first priority",
)


a_hundred_at_most = Mutant(
    clause="A52-WRR-08",
    broken="only the first 100 of many localities keep their weights",
    rules={"target_weight": FirstHundred().weight},
)


sub_zones_ignored = Mutant(
    clause="A52-WRR-01",
    broken="localities that differ only in sub_zone count as one",
    rules={"locality_target": lambda locality: f"{locality.region}/{locality.zone}"},
)
