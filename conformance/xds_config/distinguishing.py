"""What is served and asked so that choices of a client can be told apart."""

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
"""So many of them are looked at on all rings before more are: most rings can be told by the first
few, and where two ways agree all of them are looked at in vain, for half a second."""


def first_distinguished(
    arrangements: Iterable[XdsConfig], choices: Callable[[XdsConfig], Mapping[str, MatchesRing]]
) -> tuple[XdsConfig, tuple[dict[str, str], ...]]:
    """One on whose ring the choices can be told, and headers of calls that tell them.

    It is the first of those for which the fewest values have to be looked at, by STEPS.

    Several of these calls tell each way of building the ring from those of another choice.

    Raises:
        NoSuchValueError: on none of these rings they can be told.
    """
    untold = NoSuchValueError("There is no ring on which the choices may be told apart.")
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
    """Whether all endpoints but one have as many entries in both, however they are counted.

    The same number means the same entries, as long as each endpoint numbers its own. That no key
    *moves* between the others would not be enough: an additional entry may lie in an arc of the
    endpoint that changes, and matter once that one is unreachable.
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
