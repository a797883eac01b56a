"""Mutants of the clauses in wrr_locality.toml."""

from __future__ import annotations

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.values import Endpoint

LARGEST_SIGNED = 2**31 - 1
THREE = 3
"""Localities that the scenario of A52-WRR-06 begins with."""


HUNDRED = 100


class FirstWeights:
    """Each locality weighs what it weighed first."""

    def __init__(self) -> None:
        self._first: dict[str, int] = {}

    def weight(self, target: str, weight: int) -> int:
        """That."""
        return self._first.setdefault(target, weight)


class NoNewOnes:
    """After a first list, localities that come weigh nothing."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def weight(self, target: str, weight: int) -> int:
        """None for the fourth and later ones."""
        if len(self._known) < THREE:
            self._known.add(target)
        return weight if target in self._known else 0


class FirstHundred:
    """No more localities than that have a weight of their own."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def weight(self, target: str, weight: int) -> int:
        """Of the others each weighs one."""
        self._known.add(target)
        return 1 if len(self._known) > HUNDRED else weight


def itself_and_its_weight(endpoint: Endpoint) -> str:
    """What tells endpoints apart: the address, and the weight of the locality."""
    return f"{endpoint.addresses[0]} {endpoint.locality_weight}"


all_alike = Mutant(
    clause="A52-WRR-01",
    broken="all localities weigh the same",
    rules={"target_weight": lambda _target, _weight: 1},
)

by_the_first_weights = Mutant(
    clause="A52-WRR-02",
    broken="a locality keeps the weight that it had first",
    rules={"target_weight": FirstWeights().weight},
)

endpoint_of_its_weight = Mutant(
    clause="A52-WRR-03",
    broken="an endpoint of a locality with another weight is another endpoint",
    rules={"endpoint_identity": itself_and_its_weight},
)

signed_weights = Mutant(
    clause="A52-WRR-04",
    broken="a weight is read as a signed number of 32 bits, of which the least is 1",
    rules={"target_weight": lambda _target, weight: 1 if weight > LARGEST_SIGNED else weight},
)

of_sixteen_bits = Mutant(
    clause="A52-WRR-04",
    broken="of a weight only the lower sixteen bits count",
    rules={"target_weight": lambda _target, weight: weight % 2**16},
)

drawn_by_lot = Mutant(
    clause="A52-WRR-05",
    broken="an endpoint is drawn by lot",
    rules={"turns": lambda members, rng: iter(lambda: rng.randrange(members), -1)},
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
    broken="of many localities only the first hundred weigh what they say",
    rules={"target_weight": FirstHundred().weight},
)

sub_zones_ignored = Mutant(
    clause="A52-WRR-01",
    broken="localities that only their sub_zone tells apart are one",
    rules={"locality_target": lambda locality: f"{locality.region}/{locality.zone}"},
)
