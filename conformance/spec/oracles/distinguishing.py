"""Choose header values that distinguish correct algorithms from known wrong ones.

A wrong algorithm may differ for a few hashes only, or on a few rings. Random values could miss
them. So this module takes values from many candidates until several of them expose each wrong
algorithm. If it finds too few, it raises an error; a check that any client passes would be
worthless. Users: searches of the ring (A42-RING-12, A42-RING-13, A42-RING-14) and variants of
building it (A42-RING-03, A42-RING-10).
"""

import itertools
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from conformance.spec.oracles.request_hash import xxh64
from conformance.spec.oracles.ring.search import Ring
from conformance.spec.oracles.ring.values import NoSuchValueError

Way = Callable[[int], str]
"""An algorithm that returns the address for a request hash."""

SEVERAL: Final = 3
"""Number of values that must expose a wrong algorithm, so that no accident hides it."""

_MOST_NAMED: Final = 3
_SPACE: Final = 2**64


def values_telling(
    right: Iterable[Way],
    wrong: Mapping[str, Way],
    values: Iterable[str],
    *,
    each: int = SEVERAL,
) -> tuple[str, ...]:
    """Return header values of which at least `each` expose each wrong algorithm.

    Args:
        right: the correct algorithms; a client may use any of them.
        wrong: wrong algorithms, by name.
        values: candidates, in order.
        each: number of values that must distinguish a wrong algorithm from a correct one.

    Raises:
        NoSuchValueError: too few of the values distinguish some of the algorithms.
    """
    pairs = [(value, way, name) for value in right for name, way in wrong.items()]
    return _covering(pairs, values, each)


def values_telling_apart(
    choices: Mapping[str, Sequence[Way]], values: Iterable[str], *, each: int = SEVERAL
) -> tuple[str, ...]:
    """Return header values of which at least `each` distinguish any two choices.

    Args:
        choices: the algorithms that implement each choice, by the name of the choice.
        values: candidates, in order.
        each: number of values that must distinguish two algorithms.

    Raises:
        NoSuchValueError: too few of the values distinguish some of the algorithms.
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
    """Return those of the values that distinguish each pair of algorithms `each` times."""
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
            f"Too few of the values distinguish {'; '.join(untold[:_MOST_NAMED])}{more}: "
            "use another ring, or more values."
        )
    return tuple(chosen)


class _Goes(dict[Way, str]):
    """The address that each algorithm returns for one hash, computed once."""

    def __init__(self, value: int) -> None:
        super().__init__()
        self._value = value

    def __missing__(self, way: Way) -> str:
        self[way] = found = way(self._value)
        return found


def wrong_searches(ring: Ring) -> dict[str, Way]:
    """Return known wrong searches for the entry of a hash; each differs for some hashes only.

    `greater` differs only if the request hash equals the hash of an entry.

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
    """Return header values that hash onto entries and expose wrong searches on all rings.

    Args:
        rings: the rings that a conforming client may have; all have the same entries.

    Raises:
        NoSuchValueError: the rings have too few entries.
    """
    wrong = {
        f"{name}, on ring {number}": way
        for number, ring in enumerate(rings)
        for name, way in wrong_searches(ring).items()
    }
    return values_telling([ring.pick for ring in rings], wrong, rings[0].keys)


def value_of_an_entry(rings: Sequence[Ring], address: str) -> str:
    """Return a header value that hashes onto an entry of this endpoint and exposes wrong searches.

    Args:
        rings: the rings that a conforming client may have. On each of them the hash belongs to
            this endpoint, and each wrong search returns another endpoint.
        address: the endpoint.

    Raises:
        NoSuchValueError: no entry has that property.
    """
    wrong = [way for ring in rings for way in wrong_searches(ring).values()]
    for key in rings[0].keys:
        value = xxh64(key)
        if all(ring.pick(value) == address for ring in rings) and all(
            way(value) != address for way in wrong
        ):
            return key
    raise NoSuchValueError(
        f"No entry of {address} on this ring of {len(rings[0])} entries distinguishes all wrong "
        "searches from the correct one: use a larger ring."
    )
