"""A37, CDS LB Policy Support for Aggregate and Logical DNS Clusters: from a root to its leaves."""

from collections.abc import Mapping

import pytest

from conformance.arranging.forests import Shape, calls_to, plant, prefixed
from conformance.judging.claims import row
from conformance.served.trees import in_tree_order
from conformance.world import World
from test_servers import Close

ORDERS: Mapping[str, Shape] = {
    "sorted": {"m": "a b x z"},
    "backwards": {"m": "z x b a"},
    "shuffled": {"m": "x a z b"},
}

NESTED: Mapping[str, Shape] = {
    "first": {"m": "n b", "n": "z a"},
    "middle": {"m": "x n a", "n": "z b"},
    "twice": {"m": "x n a", "n": "z o c", "o": "y b"},
    "two": {"m": "o n", "n": "y b", "o": "x a"},
    "alone": {"m": "n", "n": "o", "o": "z a"},
}

EXAMPLE: Mapping[str, Shape] = {
    "eds": {"a": "b c", "c": "d e"},
    "dns": {"a": "b c", "c": "d e"},
}

SEEN_TWICE: Mapping[str, Shape] = {
    "later": {"a": "b c", "c": "d b"},
    "earlier": {"a": "c b", "c": "d b"},
    "deeper": {"m": "x n b", "n": "o z", "o": "b a"},
}

LISTED_TWICE: Mapping[str, Shape] = {
    "between": {"m": "b a b c"},
    "below": {"m": "z n a", "n": "x b x a"},
}

SHARED: Mapping[str, Shape] = {
    "diamond": {"m": "o n", "n": "s b", "o": "s a", "s": "z c"},
    "repeated": {"m": "n b n a", "n": "z x"},
    "behind": {"m": "x o n", "n": "s b", "o": "a s", "s": "z c"},
}


@pytest.mark.parametrize(
    ("clause", "shapes"),
    [
        row("of-the-list", "A37-TREE-01", ORDERS),
        row("nested", "A37-TREE-02", NESTED),
        row("worked-example", "A37-TREE-03", EXAMPLE),
        row("leaf-seen-twice", "A37-TREE-04", SEEN_TWICE),
        row("leaf-listed-twice", "A37-TREE-05", LISTED_TWICE),
        row("aggregate-seen-twice", "A37-TREE-06", SHARED),
    ],
)
async def test_order(world: World, clause: str, shapes: Mapping[str, Shape]) -> None:
    """No endpoint can be connected to, so each leaf is tried and given up for the next one."""
    trees = [prefixed(shape, name) for name, shape in shapes.items()]
    planted = await plant(world, *trees, usual=Close(), by_dns=("dns-e",))
    await world.serve(planted.served)
    for tree in trees:
        root = next(iter(tree))
        wanted = in_tree_order(planted.served, root)
        await calls_to(world, root, 1)
        await world.judge(clause, await world.attempts.until(wanted), wanted)
