"""What is served and asked so that choices of a client can be told apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import get_args

from conformance.judging.expectations import MapsLike
from conformance.oracles.ring.sizes import Allotment, entry_counts
from conformance.oracles.ring.values import NoSuchValueError
from conformance.oracles.ring.weights import WeightReading, weights
from conformance.oracles.telling import values_telling_apart
from conformance.served.routes import SESSION
from conformance.served.serving import Served

TO_CHOOSE_FROM = tuple(f"value-{number}" for number in range(20_000))
"""Header values of which some twenty lie in one arc of a ring of 1,024 entries."""


def first_told_apart(
    arrangements: Iterable[Served], choices: Callable[[Served], Mapping[str, MapsLike]]
) -> tuple[Served, tuple[dict[str, str], ...]]:
    """The first on whose ring the choices can be told, and headers of calls that tell them.

    Several of these calls tell each way of building the ring from those of another choice.

    Raises:
        NoSuchValueError: on none of these rings they can be told.
    """
    untold = NoSuchValueError("There is no ring on which the choices may be told apart.")
    for served in arrangements:
        ways = {name: one.picks() for name, one in choices(served).items()}
        try:
            values = values_telling_apart(ways, TO_CHOOSE_FROM)
        except NoSuchValueError as these:
            untold = these
        else:
            return served, tuple({SESSION: value} for value in values)
    raise untold


def keep_entries(before: Served, after: Served, *, changed: str) -> bool:
    """Whether all endpoints but one have as many entries in both, however they are counted.

    The same number means the same entries, as long as each endpoint numbers its own. That no key
    *moves* between the others would not be enough: an additional entry may lie in an arc of the
    endpoint that changes, and matter once that one is unreachable.
    """
    for reading in get_args(WeightReading):
        for allotment in get_args(Allotment):
            counts, others = (
                entry_counts(weights(one.ring_localities(), reading), one.config(), allotment)
                for one in (before, after)
            )
            if {**counts, changed: 0} != {**others, changed: 0}:
                return False
    return True
