"""Choose header values that distinguish right ways to find an endpoint from wrong ones.

What is wrong may show for few hashes only, or on few rings. So values are not left to chance: they
are taken from many until each wrong way shows in several of them, and if they cannot, that is an
error instead of a check that any client passes. So it is with searches of the ring (A42-RING-12,
A42-RING-13, A42-RING-14) and the choices of those who build it (A42-RING-03, A42-RING-10).
"""

import itertools
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from conformance.spec.oracles.request_hash import xxh64
from conformance.spec.oracles.ring.search import Ring
from conformance.spec.oracles.ring.values import NoSuchValueError

Way = Callable[[int], str]
"""Where a request of this hash goes."""

SEVERAL: Final = 3
"""Values in which a wrong way is to show: none of them is an accident."""

_MOST_NAMED: Final = 3
_SPACE: Final = 2**64


def values_telling(
    right: Iterable[Way],
    wrong: Mapping[str, Way],
    values: Iterable[str],
    *,
    each: int = SEVERAL,
) -> tuple[str, ...]:
    """Header values in so many of which, at least, each wrong way differs from each right one.

    Args:
        right: the ways that are right; a client may go any of them.
        wrong: ways that are wrong, by what they are called.
        values: to choose from, in this order.
        each: how many are to tell a wrong way from a right one.

    Raises:
        NoSuchValueError: too few of the values tell some of them apart.
    """
    pairs = [(value, way, name) for value in right for name, way in wrong.items()]
    return _covering(pairs, values, each)


def values_telling_apart(
    choices: Mapping[str, Sequence[Way]], values: Iterable[str], *, each: int = SEVERAL
) -> tuple[str, ...]:
    """Header values of which so many, at least, tell the ways of each choice from those of another.

    Args:
        choices: the ways by which each may be made, by what it is called.
        values: to choose from, in this order.
        each: how many are to tell two ways apart.

    Raises:
        NoSuchValueError: too few of the values tell some of them apart.
    """
    pairs = [
        (value, other, f"{first} from {second}")
        for (first, ways), (second, others) in itertools.combinations(choices.items(), 2)
        for value in ways
        for other in others
    ]
    return _covering(pairs, values, each)


def _covering(
    pairs: Sequence[tuple[Way, Way, str]], values: Iterable[str], each: int
) -> tuple[str, ...]:
    """Of the values those that are needed to tell each pair of ways apart so often."""
    never = [name for value, other, name in pairs if value == other]
    missing = {at: each for at in range(len(pairs)) if not never}
    chosen: list[str] = []
    for value in values:
        if not missing:
            break
        where = _Goes(xxh64(value))
        told = [at for at in missing if where[pairs[at][0]] != where[pairs[at][1]]]
        if told:
            chosen.append(value)
        for at in told:
            missing[at] -= 1
            if not missing[at]:
                del missing[at]
    if untold := list(dict.fromkeys((*never, *(pairs[at][2] for at in missing)))):
        more = f" and {len(untold) - _MOST_NAMED} more" if len(untold) > _MOST_NAMED else ""
        raise NoSuchValueError(
            f"Too few of the values tell {'; '.join(untold[:_MOST_NAMED])}{more}: "
            "take another ring, or more values."
        )
    return tuple(chosen)


class _Goes(dict[Way, str]):
    """Where a request of one hash goes by each way, asked once."""

    def __init__(self, value: int) -> None:
        super().__init__()
        self._value = value

    def __missing__(self, way: Way) -> str:
        self[way] = found = way(self._value)
        return found


# Ways that are wrong.


def wrong_searches(ring: Ring) -> dict[str, Way]:
    """Known wrong ways of looking for the entry on a ring; each shows on some hashes only.

    `greater` shows on the hash of an entry alone: it must be found by itself, as none is closer.

    Clauses: A42-RING-12, A42-RING-13, A42-RING-14.
    """
    size = len(ring)

    def owner(index: int) -> str:
        return ring.addresses[ring.owners[index % size]]

    def greater(value: int) -> str:
        index = bisect_right(ring.positions, (value + ring.shift) % _SPACE)
        return owner(index if index < size or ring.wraps else size - 1)

    return {
        "the first entry that is greater, not equal": greater,
        "the entry behind": lambda value: owner(ring.index(value) + 1),
        "the entry before": lambda value: owner(ring.index(value) - 1),
        "the hash modulo the size": owner,
    }


def values_of_entries(rings: Sequence[Ring]) -> tuple[str, ...]:
    """Header values that have the hashes of entries, and tell wrong searches on any of these rings.

    Args:
        rings: those that a right client may have, of the same entries.

    Raises:
        NoSuchValueError: there are not so many entries.
    """
    wrong = {
        f"{name}, on ring {number}": way
        for number, ring in enumerate(rings)
        for name, way in wrong_searches(ring).items()
    }
    return values_telling([ring.pick for ring in rings], wrong, rings[0].keys)


def value_of_an_entry(rings: Sequence[Ring], address: str) -> str:
    """A header value that has the hash of an entry of this endpoint, and tells it from wrong ways.

    Args:
        rings: those that a right client may have; on each the hash meets this endpoint first, and
            by each of the wrong searches another one.
        address: the endpoint.

    Raises:
        NoSuchValueError: no entry is such.
    """
    wrong = [way for ring in rings for way in wrong_searches(ring).values()]
    for key in rings[0].keys:
        value = xxh64(key)
        if all(ring.pick(value) == address for ring in rings) and all(
            way(value) != address for way in wrong
        ):
            return key
    raise NoSuchValueError(
        f"No entry of {address} on this ring of {len(rings[0])} entries tells all wrong searches "
        "from the right one: take a larger ring."
    )
