"""Write courses of one priority, by choices that Hypothesis makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec
from hypothesis import strategies as st

from conformance.runner.explore.courses import (
    Call,
    CloseStreams,
    Configuration,
    Course,
    EndAds,
    Gate,
    GateMode,
    GoAway,
    Hashing,
    Health,
    Kill,
    Listed,
    LoseControlPlane,
    Member,
    OpenStream,
    Refuse,
    Release,
    RestoreControlPlane,
    Serve,
    Settle,
    Step,
    Value,
    Withhold,
)

MEMBERS: Final = (2, 3, 3, 4, 4, 5, 5, 6)
FRAGMENTS: Final = (6, 16)
"""The fewest and the most fragments of a course; each has one to five steps."""

MINIMA: Final = (8, 16, 16, 32, 32, 64, 128, None)
WEIGHTS: Final = (None, None, None, 1, 1, 2, 3, 7)
LOCALITY_WEIGHTS: Final = (1, 1, 1, 2, 3, 5, None)
HEALTHS: Final[tuple[Health, ...]] = (
    *(("UNKNOWN",) * 10),
    *("HEALTHY", "HEALTHY", "UNHEALTHY", "DRAINING", "TIMEOUT", "DEGRADED"),
)
HASHINGS: Final[tuple[Hashing, ...]] = (
    *(("header",) * 12),
    *("rewritten", "terminal", "fallback", "unsupported", "two", "two", "channel", "none"),
)

MIXTURES: Final[tuple[tuple[GateMode, ...], ...]] = (
    ("close",),
    ("close", "hold"),
    ("close", "close", "hold"),
    ("hold", "serve"),
    ("serve", "close"),
)
"""The modes among which each gate gets its own while no endpoint is READY."""

FREQUENCIES: Final = {
    "settle": 8,
    "call": 4,
    "fail": 6,
    "serve": 4,
    "lose": 4,
    "update": 6,
    "silence": 1,
    "none ready": 5,
    "stream": 1,
    "control": 2,
}
"""How often each kind of fragment is drawn."""


class Author:
    """Writes one course; every choice is Hypothesis's.

    Args:
        draw: makes a choice.
        localities: the most localities.
    """

    fragments: tuple[int, int] = FRAGMENTS

    def __init__(
        self, draw: Callable[[st.SearchStrategy[object]], object], *, localities: int = 1
    ) -> None:
        self._draw = draw
        self._localities = localities
        self.members = 0
        self.initial = self._first()
        self._now = self.initial
        self._has_streams = False
        self._had_outage = False

    def course(self) -> Course:
        """Return the whole course."""
        steps: list[Step] = [] if self._chance(4) else [self.settle()]
        least, most = self.fragments
        for _ in range(self._number(least, most)):
            steps += self.fragment()
        return Course(members=self.members, initial=self.initial, steps=tuple(steps))

    def _first(self) -> Configuration:
        """Choose the number of endpoints, and return the first configuration."""
        self.members = self._of(MEMBERS)
        first = Configuration(
            tuple(Listed(member, locality=self._place()) for member in range(self.members)),
            self._of(MINIMA),
            hashing=self._of(HASHINGS),
        )
        return self._changed(first) if self._chance(3) else first

    # Choices.

    def _of(self, choices: Sequence[object]):  # type: ignore[no-untyped-def]  # noqa: ANN202
        return self._draw(st.sampled_from(choices))

    def _chance(self, times: int) -> bool:
        """Return True once in this many times."""
        return bool(self._draw(st.integers(0, times - 1)) == times - 1)

    def _number(self, least: int, most: int) -> int:
        return int(str(self._draw(st.integers(least, most))))

    def _member(self) -> Member:
        return self._number(0, self.members - 1)

    def _some(self, most: int) -> list[Member]:
        """Return one to `most` different endpoints."""
        drawn = self._draw(
            st.lists(st.integers(0, self.members - 1), min_size=1, max_size=most, unique=True)
        )
        assert isinstance(drawn, list), "Hypothesis returns a list"
        return drawn

    # What steps are made of.

    def _value(self) -> Value:
        if self._chance(3):
            return Value(text=f"v{self._number(0, 99)}")
        return Value(tuple(self._some(2)))

    def _values(self, least: int, most: int) -> tuple[Value, ...]:
        return tuple(self._value() for _ in range(self._number(least, most)))

    def _listed(self, member: Member) -> Listed:
        return Listed(member, self._of(WEIGHTS), self._of(HEALTHS), self._place())

    def _place(self) -> int:
        """Return the number of a locality."""
        return self._number(0, self._localities - 1) if self._localities > 1 else 0

    def _changed(self, before: Configuration) -> Configuration:
        """Return a configuration that differs from another one in one or two ways."""
        after = before
        for _ in range(self._number(1, 2)):
            after = self._changed_once(after)
        return after

    def _changed_once(self, before: Configuration) -> Configuration:
        kinds = ["list", "list", "list", "list", "list", "list", "size", "hash"]
        kinds += ["localities", "localities"] if self._localities > 1 else []
        match self._of(kinds):
            case "size":
                return msgspec.structs.replace(before, minimum=self._of(MINIMA))
            case "hash":
                return msgspec.structs.replace(before, hashing=self._of(HASHINGS))
            case "localities":
                weights = tuple(self._of(LOCALITY_WEIGHTS) for _ in range(self._localities))
                return msgspec.structs.replace(before, localities=weights)
            case _:
                return msgspec.structs.replace(before, endpoints=self._other_list(before))

    def _other_list(self, before: Configuration) -> tuple[Listed, ...]:
        known = {endpoint.member: endpoint for endpoint in before.endpoints}
        kinds = ["toggle", "toggle", "toggle", "weight", "order", "replace"]
        kinds += ["move", "move"] if self._localities > 1 else []
        kind = self._of(kinds)
        if kind == "order":
            return tuple(reversed(before.endpoints))
        if kind == "replace":
            return tuple(self._listed(member) for member in self._some(self.members))
        for member in self._some(2):
            listed = known.pop(member, None) if kind == "toggle" else known.get(member)
            if (kind, listed is None) in {("toggle", True), ("weight", False)}:
                known[member] = self._listed(member)
            elif listed is not None and kind == "move":
                known[member] = msgspec.structs.replace(listed, locality=self._place())
        return tuple(known.values())

    # Fragments: steps that belong together.

    def fragment(self) -> Iterator[Step]:
        """Yield the steps of one fragment."""
        kinds: dict[str, Callable[[], Iterator[Step]]] = {
            "settle": self._settle,
            "call": self._call,
            "fail": self._fail,
            "serve": self._serve_again,
            "lose": self._lose_connections,
            "update": self._update,
            "silence": self._silence,
            "none ready": self._none_ready,
            "stream": self._stream,
            "control": self._control,
        }
        table = tuple(kind for kind, weight in FREQUENCIES.items() for _ in range(weight))
        yield from kinds[self._of(table)]()

    def settle(self) -> Settle:
        """Return a calm with a few requests."""
        return Settle(self._values(2, 8))

    def _settle(self) -> Iterator[Step]:
        yield self.settle()

    def _call(self) -> Iterator[Step]:
        values = self._values(1, 5)
        yield Call(values, wait_for_ready=self._chance(5), in_background=self._chance(3))

    def _fail(self) -> Iterator[Step]:
        """Let endpoints fail, often two or more at once, and often those of the next request."""
        broken = self._some(3)
        for member in broken:
            yield Gate(member, "close")
            if not self._chance(4):
                yield Kill(member)
        if not self._chance(3):
            yield Settle((Value(tuple(broken[:2])), *self._values(1, 5)))

    def _serve_again(self) -> Iterator[Step]:
        for member in self._some(3):
            yield Gate(member, "serve")
        if self._chance(2):
            yield self.settle()
        elif self._chance(2):
            yield Settle()

    def _lose_connections(self) -> Iterator[Step]:
        for member in self._some(2):
            yield GoAway(member) if self._chance(3) else Kill(member)
        if self._chance(3):
            yield Settle()
        if self._chance(2):
            yield self.settle()

    def _silence(self) -> Iterator[Step]:
        member = self._member()
        modes: tuple[GateMode, ...] = ("hold", "hold", "stall")
        yield Gate(member, self._of(modes))
        yield Kill(member)
        if self._chance(2):
            yield Call((Value((member,)),), in_background=True)
        yield self.settle()
        after: tuple[GateMode, ...] = ("serve", "serve", "close")
        yield Gate(member, self._of(after))
        yield Kill(member)

    def _none_ready(self) -> Iterator[Step]:
        """Let no endpoint be READY, with or without a request that finds out, then recover."""
        modes: tuple[GateMode, ...] = self._of(MIXTURES)
        for member in range(self.members):
            yield Gate(member, self._of(modes))
        for member in range(self.members):
            yield Kill(member)
        if self._chance(3):
            yield Settle()
        yield Call(self._values(1, 2), in_background=True)
        yield Settle()
        if self._chance(2):
            yield Gate(self._member(), "serve")
            yield Settle()
        if not self._chance(3):
            for member in range(self.members):
                yield Gate(member, "serve")
            yield self.settle()

    def _update(self) -> Iterator[Step]:
        for _ in range(1 + self._chance(4)):
            self._now = self._changed(self._now)
            yield Serve(self._now, at_once=self._chance(4))
        if not self._chance(3):
            yield self.settle()

    def _stream(self) -> Iterator[Step]:
        if self._has_streams and self._chance(2):
            yield CloseStreams()
        else:
            yield OpenStream(self._value())
        self._has_streams = True

    def _control(self) -> Iterator[Step]:
        kinds = ("end", "refuse", "refuse", "withhold", "withhold", "outage")
        match self._of(kinds):
            case "end":
                yield EndAds()
            case "refuse":
                yield Refuse(self._of(("CLUSTER", "ENDPOINTS")))
                yield self.settle()
            case "withhold":
                yield Withhold()
                self._now = self._changed(self._now)
                yield Serve(self._now)
                yield self.settle()
                yield Release()
                yield self.settle()
            case _ if not self._had_outage and self._chance(3):
                self._had_outage = True
                yield LoseControlPlane()
                yield self.settle()
                yield RestoreControlPlane()
            case _:
                yield EndAds()
