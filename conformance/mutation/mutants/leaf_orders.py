"""Order the clusters of a tree, for mutants."""

from collections.abc import Callable, Mapping, Sequence

from client_under_test.reference.clusters.discovery import Aggregate, Cluster

Known = Mapping[str, Cluster]


def below(name: str, known: Known) -> tuple[str, ...]:
    """Return the underlying clusters of an aggregate."""
    cluster = known.get(name)
    return cluster.clusters if isinstance(cluster, Aggregate) else ()


def level_by_level(root: str, _met: Sequence[str], known: Known) -> Sequence[str]:
    """Return the clusters breadth first."""
    order, level = dict[str, None](), [root]
    while level:
        order |= dict.fromkeys(level)
        level = [child for name in level for child in below(name, known) if child not in order]
    return tuple(order)


def last_place(root: str, met: Sequence[str], known: Known) -> Sequence[str]:
    """Return the clusters depth first, repeated ones at their last position."""
    order = dict[str, None]()

    def go(name: str) -> None:
        for child in below(name, known):
            order.pop(child, None)
            order.setdefault(child)
            go(child)

    order.setdefault(root)
    go(root)
    return tuple(name for name in order if name in met)


def once_below_each(_root: str, met: Sequence[str], known: Known) -> Sequence[str]:
    """Drop all clusters of a list after a repeated name."""
    for name in met:
        listed = below(name, known)
        if len(set(listed)) < len(listed):
            first = next(at for at, child in enumerate(listed) if child in listed[:at])
            return tuple(
                child for child in met if child not in listed[first:] or child in listed[:first]
            )
    return met


def of_the_first_leaves(count: int) -> Callable[[str, Sequence[str], Known], Sequence[str]]:
    """Return a rule that keeps the first `count` leaves of a tree."""
    return lambda _root, met, known: [
        name for name in met if not isinstance(known[name], Aggregate)
    ][:count]


def unless_an_aggregate_adds_nothing(_root: str, met: Sequence[str], known: Known) -> Sequence[str]:
    """Return no cluster if an aggregate adds nothing to the earlier ones."""
    lists = [set(below(name, known)) for name in met if isinstance(known[name], Aggregate)]
    seen = set[str]()
    for names in lists[1:]:
        if names <= seen:
            return ()
        seen |= names
    return met
