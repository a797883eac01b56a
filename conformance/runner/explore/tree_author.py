"""Write courses of several priorities, in one EDS cluster or in the leaves of an aggregate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from conformance.runner.explore.authors import Author
from conformance.runner.explore.courses import (
    Call,
    Configuration,
    Gate,
    GateMode,
    Kill,
    Listed,
    Member,
    PolicyName,
    Serve,
    Settle,
    Step,
    Value,
    may_be_dns,
)
from conformance.runner.explore.trees import Leaf, Tree

POLICIES: Final[tuple[PolicyName, ...]] = ("round_robin", "ring_hash")
PRIORITIES: Final = (2, 2, 3, 3, 4)
MOST_MEMBERS: Final = 7
MOST_PLACES: Final = 5
"""The most localities."""

FRAGMENTS: Final = (5, 12)
"""The fewest and the most fragments of a course."""

UPDATES: Final = ("list", "list", "empty", "refill", "swap", "move", "add", "remove", "policy")
"""The changes of an update."""

LEAVES: Final = (2, 2, 3)
UPDATES_OF_LEAVES: Final = (
    *("list", "empty", "refill", "toggle leaf", "toggle leaf", "toggle leaf"),
    *("order leaves", "leaf type", "leaf type", "policy"),
)
"""The changes of an update of an aggregate cluster."""

FREQUENCIES: Final = {
    "settle": 3,
    "call": 3,
    "fail from the top": 8,
    "fail": 3,
    "all fail": 3,
    "serve": 6,
    "serve all": 3,
    "lose": 3,
    "update": 6,
    "update while failing": 4,
    "hang": 4,
    "stream": 1,
    "control": 1,
}
"""How often each kind of fragment is drawn."""


class TreeAuthor(Author):
    """Writes one course; every choice is Hypothesis's.

    Args:
        draw: makes a choice.
    """

    fragments = FRAGMENTS

    def _first(self) -> Configuration:
        # Hypothesis never draws the same first choice in the second course, which is the one used.
        self._number(0, 99)
        tree = self._one_cluster() if self._chance(2) else self._several_leaves()
        places = len(tree.priorities)
        self.members = self._number(places, max(places, MOST_MEMBERS))
        self._localities = places
        listed = tuple(
            Listed(m, locality=m if m < places else self._place()) for m in range(self.members)
        )
        return Configuration(listed, 32, policy=self._of(POLICIES), tree=tree)

    def _one_cluster(self) -> Tree:
        count: int = self._of(PRIORITIES)
        # Some priorities have two localities.
        return Tree((*range(count), *((self._number(0, count - 1),) if self._chance(2) else ())))

    def _several_leaves(self) -> Tree:
        count: int = self._of(LEAVES)
        priorities: list[int] = []
        leaf_of: list[int] = []
        for number in range(count):
            own = 1 + self._chance(3)
            priorities += range(own)
            leaf_of += [number] * own
        leaves = tuple(Leaf(number) for number in range(count))
        return Tree(tuple(priorities), leaves, tuple(leaf_of))

    def fragment(self) -> Iterator[Step]:
        """Yield the steps of one fragment."""
        kinds: dict[str, Callable[[], Iterator[Step]]] = {
            "settle": self._settle,
            "call": self._call,
            "fail from the top": self._fail_from_the_top,
            "fail": self._fail,
            "all fail": self._all_fail,
            "serve": self._serve_a_priority,
            "serve all": self._serve_all,
            "lose": self._lose_connections,
            "update": self._update,
            "update while failing": self._update_while_failing,
            "hang": self._hang,
            "stream": self._stream,
            "control": self._control,
        }
        table = tuple(kind for kind, weight in FREQUENCIES.items() for _ in range(weight))
        yield from kinds[self._of(table)]()

    def settle(self) -> Settle:
        """Return a calm with a few requests."""
        return Settle(self._values(2, 5))

    # Priorities fail and serve.

    def _priority(self) -> int:
        return self._number(0, len(self._now.by_priority) - 1)

    def _break(self, members: tuple[Member, ...], mode: GateMode = "close") -> Iterator[Step]:
        for member in members:
            yield Gate(member, mode)
        for member in members:
            yield Kill(member)

    def _fail_from_the_top(self) -> Iterator[Step]:
        """Let one or more of the first priorities fail, often one after the other."""
        lowest = self._priority()
        for part in self._now.by_priority[: lowest + 1]:
            yield from self._break(part.members)
            if self._chance(3):
                yield self.settle()
        yield self.settle()

    def _all_fail(self) -> Iterator[Step]:
        yield from self._break(tuple(range(self.members)))
        if self._chance(2):
            yield Call(self._values(1, 2), wait_for_ready=True, in_background=True)
        yield self.settle()
        if self._chance(2):
            yield from self._serve_a_priority()
        else:
            yield from self._serve_all()

    def _serve_a_priority(self) -> Iterator[Step]:
        part = self._now.by_priority[self._priority()]
        for member in part.members or (self._member(),):
            yield Gate(member, "serve")
        yield self.settle()

    def _serve_all(self) -> Iterator[Step]:
        for member in range(self.members):
            yield Gate(member, "serve")
        yield self.settle()

    def _hang(self) -> Iterator[Step]:
        """Let one or two of the first priorities hang, until their timers end or they connect."""
        lowest = self._number(0, min(1, len(self._now.by_priority) - 1))
        for index, part in enumerate(self._now.by_priority[: lowest + 1]):
            has_failed = index < lowest and self._chance(2)
            yield from self._break(part.members, "close" if has_failed else "hold")
        if self._chance(2):
            for part in self._now.by_priority[lowest + 1 :]:
                yield from self._break(part.members)
        yield Call(self._values(1, 2), in_background=True)
        if self._chance(2):
            yield Settle()
            yield Call(self._values(1, 2), wait_for_ready=self._chance(3), in_background=True)
        if self._chance(2):
            yield Settle(self._values(1, 2), past_timer=True)
            if self._chance(2):
                yield self.settle()
        else:
            yield self.settle()
        modes: tuple[GateMode, ...] = ("serve", "serve", "close")
        mode = self._of(modes)
        for part in self._now.by_priority[: lowest + 1]:
            for member in part.members:
                yield Gate(member, mode)
        yield self.settle()

    # Updates.

    def _update(self) -> Iterator[Step]:
        self._now = self._changed(self._now)
        yield Serve(self._now, at_once=self._chance(4))
        if not self._chance(4):
            yield self.settle()

    def _update_while_failing(self) -> Iterator[Step]:
        part = self._now.by_priority[0]
        yield from self._break(part.members)
        if self._chance(2):
            yield self.settle()
        yield from self._update()
        if self._chance(2):
            yield from self._serve_a_priority()

    def _listed(self, member: Member) -> Listed:
        health = self._of(("UNKNOWN",) * 6 + ("UNHEALTHY",))
        return Listed(member, health=health, locality=self._place())

    def _place(self) -> int:
        return self._number(0, self._localities - 1)

    def _changed_once(self, before: Configuration) -> Configuration:
        self._localities = len(before.tree.priorities)
        changes: dict[str, Callable[[Configuration], Configuration]] = {
            "list": self._with_another_list,
            "empty": self._with_an_empty_locality,
            "refill": self._with_all_endpoints,
            "swap": self._with_swapped_priorities,
            "move": self._with_a_moved_locality,
            "add": self._with_one_more,
            "remove": self._with_one_less,
            "policy": self._with_another_policy,
            "toggle leaf": self._with_one_leaf_toggled,
            "order leaves": self._with_other_order,
            "leaf type": self._with_another_type,
        }
        table = UPDATES_OF_LEAVES if before.tree.leaves else UPDATES
        return _valid(changes[self._of(table)](before))

    def _with_leaves(self, before: Configuration, *leaves: Leaf) -> Configuration:
        tree = msgspec.structs.replace(before.tree, leaves=leaves)
        return msgspec.structs.replace(before, tree=tree)

    def _with_one_leaf_toggled(self, before: Configuration) -> Configuration:
        """Return a configuration in which a leaf leaves or returns, at any position."""
        number = self._of(sorted({*before.tree.leaf_of}))
        others = tuple(leaf for leaf in before.tree.leaves if leaf.number != number)
        if len(others) < len(before.tree.leaves):
            return self._with_leaves(before, *(others or before.tree.leaves))
        at = self._number(0, len(others))
        return self._with_leaves(before, *others[:at], Leaf(number), *others[at:])

    def _with_other_order(self, before: Configuration) -> Configuration:
        first, *others = before.tree.leaves
        return self._with_leaves(before, *others, first)

    def _with_another_type(self, before: Configuration) -> Configuration:
        """Return a configuration in which a leaf turns to LOGICAL_DNS or back, if it can."""
        leaves = list(before.tree.leaves)
        at = self._number(0, len(leaves) - 1)
        leaf = leaves[at]
        leaves[at] = Leaf(leaf.number, "EDS" if leaf.kind == "LOGICAL_DNS" else "LOGICAL_DNS")
        return self._with_leaves(before, *leaves)

    def _with_another_list(self, before: Configuration) -> Configuration:
        return msgspec.structs.replace(before, endpoints=self._other_list(before))

    def _with_an_empty_locality(self, before: Configuration) -> Configuration:
        place = self._place()
        kept = tuple(each for each in before.endpoints if each.locality != place)
        return msgspec.structs.replace(before, endpoints=kept)

    def _with_all_endpoints(self, before: Configuration) -> Configuration:
        """Return a configuration that lists each endpoint which was not listed, in one locality."""
        place = self._place()
        listed = {each.member for each in before.endpoints}
        added = (Listed(m, locality=place) for m in range(self.members) if m not in listed)
        return msgspec.structs.replace(before, endpoints=(*before.endpoints, *added))

    def _with_swapped_priorities(self, before: Configuration) -> Configuration:
        known = before.tree.priorities
        own, other = known[self._place()], self._number(0, max(known))
        swapped = {own: other, other: own}
        tree = Tree(tuple(swapped.get(each, each) for each in known))
        return msgspec.structs.replace(before, tree=tree)

    def _with_a_moved_locality(self, before: Configuration) -> Configuration:
        moved = list(before.tree.priorities)
        moved[self._place()] = self._number(0, max(moved))
        return msgspec.structs.replace(before, tree=Tree(_without_gaps(moved)))

    def _with_one_more(self, before: Configuration) -> Configuration:
        """Return a configuration with another priority, which has an endpoint of another one."""
        known = before.tree.priorities
        place = len(known)
        if place == MOST_PLACES:
            return self._with_another_list(before)
        at = self._number(0, 1 + max(known))
        lower = tuple(each + (each >= at) for each in known)
        member = self._member()
        kept = tuple(each for each in before.endpoints if each.member != member)
        self._localities = place + 1
        listed = (*kept, Listed(member, locality=place))
        return msgspec.structs.replace(before, endpoints=listed, tree=Tree((*lower, at)))

    def _with_one_less(self, before: Configuration) -> Configuration:
        """Return a configuration without the last locality."""
        last = len(before.tree.priorities) - 1
        if not last:
            return self._with_another_list(before)
        self._localities = last
        kept = tuple(each for each in before.endpoints if each.locality < last)
        tree = Tree(_without_gaps(before.tree.priorities[:last]))
        return msgspec.structs.replace(before, endpoints=kept, tree=tree)

    def _with_another_policy(self, before: Configuration) -> Configuration:
        return msgspec.structs.replace(before, policy=self._of(POLICIES))

    def _other_list(self, before: Configuration) -> tuple[Listed, ...]:
        known = {endpoint.member: endpoint for endpoint in before.endpoints}
        if self._chance(5):
            return tuple(self._listed(member) for member in self._some(self.members))
        moves = self._chance(2)
        for member in self._some(2):
            listed = known.pop(member, None)
            if listed is None or moves:
                known[member] = self._listed(member)
        return tuple(known.values())

    def _value(self) -> Value:
        if self._chance(2):
            return Value(text=f"v{self._number(0, 99)}")
        return Value(tuple(self._some(1)))


def _valid(configuration: Configuration) -> Configuration:
    """Return the configuration with EDS for leaves that have other than one plain endpoint."""
    tree = configuration.tree

    def fitting(leaf: Leaf) -> Leaf:
        return leaf if may_be_dns(configuration, leaf.number) else Leaf(leaf.number)

    leaves = tuple(map(fitting, tree.leaves))
    return msgspec.structs.replace(configuration, tree=msgspec.structs.replace(tree, leaves=leaves))


def _without_gaps(priorities: Sequence[int]) -> tuple[int, ...]:
    known = sorted({*priorities})
    return tuple(map(known.index, priorities))
