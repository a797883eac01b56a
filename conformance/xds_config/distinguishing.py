"""Find configurations and calls that distinguish the choices of a client."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import get_args

from conformance.judging.expectations import MatchesRing
from conformance.spec.oracles.distinguishing import Way, values_telling_apart
from conformance.spec.oracles.ring.sizes import Allotment, entry_counts
from conformance.spec.oracles.ring.values import NoSuchValueError
from conformance.spec.oracles.ring.weights import WeightReading, weights
from conformance.xds_config.config import XdsConfig
from conformance.xds_config.routes import SESSION

TO_CHOOSE_FROM = tuple(f"value-{number}" for number in range(20_000))
"""Header values of which some twenty lie in one arc of a ring of 1,024 entries."""


STEPS = (1_000, 4_000, len(TO_CHOOSE_FROM))
"""How many of these values are tried on all rings before more values are tried.

The first few distinguish most rings. If two ways agree, the search tries all values without
result, which takes half a second.
"""


def first_distinguished(
    arrangements: Iterable[XdsConfig], choices: Callable[[XdsConfig], Mapping[str, MatchesRing]]
) -> tuple[XdsConfig, tuple[dict[str, str], ...]]:
    """Return a configuration whose ring distinguishes the choices, and headers of calls for it.

    It is the first configuration that needs the fewest values, counted in STEPS.

    Several of these calls distinguish each way of building the ring from the ways of other choices.

    Raises:
        NoSuchValueError: none of these rings distinguishes the choices.
    """
    untold = NoSuchValueError("No ring distinguishes the choices.")
    arrangements = tuple(arrangements)
    ways = functools.cache(lambda at: _ways(choices(arrangements[at])))
    for count in STEPS:
        for at, served in enumerate(arrangements):
            try:
                values = values_telling_apart(ways(at), TO_CHOOSE_FROM[:count])
            except NoSuchValueError as these:
                untold = these
            else:
                return served, tuple({SESSION: value} for value in values)
    raise untold


def _ways(choices: Mapping[str, MatchesRing]) -> dict[str, tuple[Way, ...]]:
    return {name: choice.picks() for name, choice in choices.items()}


def keep_entries(before: XdsConfig, after: XdsConfig, *, changed: str) -> bool:
    """Return whether every other endpoint has the same number of ring entries before and after.

    The answer covers every reading of weights and every way to allot entries. An equal number means
    equal entries, as each endpoint numbers its own. To check that no key *moves* between the other
    endpoints is not enough: an additional entry may lie in an arc of the changed endpoint, and
    matter once that endpoint is unreachable.
    """
    for reading in get_args(WeightReading):
        for allotment in get_args(Allotment):
            counts, others = (
                entry_counts(weights(config.ring_localities(), reading), config.config(), allotment)
                for config in (before, after)
            )
            if {**counts, changed: 0} != {**others, changed: 0}:
                return False
    return True
