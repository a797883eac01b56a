"""Circuit breaking: streams that stay open, and drops that are reported."""

from __future__ import annotations

import pytest

from conformance.judging.expectations import (
    DropProportions,
    DropRate,
    DropsReported,
    RequestsAdmitted,
)
from conformance.judging.observations import OPEN, WAITING, Call, Calls, Loads
from conformance.spec.oracles.circuit_breaking import Threshold
from conformance.spec.oracles.load import Dropped

STATUSES = {"o": OPEN, "w": WAITING, "u": "UNAVAILABLE"}
TWO = RequestsAdmitted(thresholds=(Threshold(is_default=True, max_requests=2),))
NONE_LEFT = RequestsAdmitted(thresholds=TWO.thresholds, in_flight=2)


def streams(statuses: str, *, overdue: bool = False) -> Calls:
    made = (
        Call(id=str(number), channel="c", path="/p", metadata=(), status=STATUSES[status])
        for number, status in enumerate(statuses)
    )
    return Calls(tuple(made), overdue=overdue)


@pytest.mark.parametrize(
    ("wanted", "statuses", "holds"),
    [
        (TWO, "oouu", True),
        (TWO, "oo", True),
        (TWO, "ooou", False),
        (TWO, "ouu", False),
        (TWO, "ouo", False),
        (TWO, "owu", False),
        (TWO, "oow", False),
        (NONE_LEFT, "u", True),
        (NONE_LEFT, "o", False),
    ],
)
def test_streams(wanted: RequestsAdmitted, statuses: str, *, holds: bool) -> None:
    assert wanted.finding(streams(statuses)).holds == holds


def test_room() -> None:
    assert (TWO.room, NONE_LEFT.room) == (2, 0)


@pytest.mark.parametrize(
    ("seen", "can_be"),
    [
        (streams("ou"), False),
        (streams("ooo"), False),
        (streams("ow"), True),
        (streams("ou", overdue=True), True),
    ],
)
def test_only_what_is_not_known_yet_is_excused(seen: Calls, *, can_be: bool) -> None:
    assert TWO.is_timing_sensitive(seen) == can_be


def told(*dropped: Dropped) -> Loads:
    return Loads(received=(), reported=(), clusters=("b", "c"), dropped=dropped)


WANTED = {"b": {"": 3}, "c": {"x": 2, "": 1}}
B, C = Dropped(cluster="b", total=3), Dropped(cluster="c", total=3, by_category={"x": 2})


@pytest.mark.parametrize(
    ("seen", "totals", "each"),
    [
        (told(B, C), True, True),
        (told(B), False, False),
        (told(B, Dropped(cluster="c", total=3)), True, False),
        (told(B, Dropped(cluster="c", total=3, by_category={"x": 3})), True, False),
        (told(B, Dropped(cluster="c", total=2, by_category={"x": 2})), False, False),
        (told(B, C, Dropped(cluster="d", total=0)), True, True),
        (told(B, C, Dropped(cluster="d", total=1)), False, False),
    ],
)
def test_drops(seen: Loads, *, totals: bool, each: bool) -> None:
    assert DropsReported(drops=WANTED, totals=True).finding(seen).holds == totals
    assert DropsReported(drops=WANTED).finding(seen).holds == each


def calls(lost: int, of: int, status: str = "UNAVAILABLE") -> Calls:
    made = (
        Call(id=str(n), channel="c", path="/p", metadata=(), status=status if n < lost else "OK")
        for n in range(of)
    )
    return Calls(tuple(made))


@pytest.mark.parametrize(
    ("seen", "about", "more"),
    [
        (calls(200, 400), True, False),
        (calls(100, 400), False, False),
        (calls(300, 400), False, True),
        (calls(400, 400), False, True),
        (calls(200, 400, "INTERNAL"), False, False),
    ],
)
def test_share(seen: Calls, *, about: bool, more: bool) -> None:
    assert DropRate(share=(1, 2)).finding(seen).holds == about
    assert DropRate(share=(1, 2), more=True).finding(seen).holds == more
    assert not DropRate(share=(1, 2)).is_timing_sensitive(seen)


@pytest.mark.parametrize(
    ("by_category", "total", "holds"),
    [
        ({"a": 600, "b": 300}, 900, True),
        ({"a": 450, "b": 450}, 900, False),
        ({"a": 300, "b": 600}, 900, False),
        ({"a": 600, "b": 200}, 900, False),
        ({"a": 600, "b": 200}, 800, False),
        ({"a": 600, "c": 300}, 900, False),
    ],
)
def test_shares_of_drops(by_category: dict[str, int], total: int, *, holds: bool) -> None:
    dropped = Dropped(cluster="b", total=total, by_category=by_category)
    seen = Loads(received=(), reported=(), clusters=("b",), lost=900, dropped=(dropped,))
    wanted = DropProportions(cluster="b", shares={"a": (2, 3), "b": (1, 3)})
    assert wanted.finding(seen).holds == holds
