"""The load that is due, against tables written by hand."""

from __future__ import annotations

import pytest

from conformance.spec.oracles.load import (
    Dropped,
    Load,
    LoadKey,
    Received,
    balances,
    drops_balance,
    due,
)

NEAR, FAR = LoadKey("cluster", "service", "near"), LoadKey("cluster", "service", "far")
PLACES = {"a": NEAR, "b": NEAR, "c": FAR}


def load(succeeded: int = 0, errors: int = 0, in_progress: int = 0) -> Load:
    return Load(
        issued=succeeded + errors + in_progress,
        succeeded=succeeded,
        errors=errors,
        in_progress=in_progress,
    )


def test_endpoints_of_a_place_are_summed_and_strangers_left_out() -> None:
    received = (
        Received(address="a", succeeded=3, errors=1),
        Received(address="b", succeeded=2, in_progress=4),
        Received(address="c"),
        Received(address="d", succeeded=9),
    )
    assert due(received, PLACES) == {NEAR: load(5, 1, 4)}


@pytest.mark.parametrize(
    ("wanted", "reported", "lost", "expected"),
    [
        pytest.param({NEAR: load(3)}, {NEAR: load(3)}, 0, True, id="exact"),
        pytest.param({NEAR: load(3)}, {NEAR: load(3), FAR: load()}, 0, True, id="nothing told"),
        pytest.param({NEAR: load(3), FAR: load(1)}, {NEAR: load(3)}, 0, False, id="one missing"),
        pytest.param({NEAR: load(3)}, {NEAR: load(2)}, 5, False, id="too few"),
        pytest.param({NEAR: load(3)}, {NEAR: load(4)}, 1, False, id="success that was none"),
        pytest.param({NEAR: load(3)}, {NEAR: load(3, 1)}, 0, False, id="one too many"),
        pytest.param({NEAR: load(3)}, {NEAR: load(3, 1)}, 1, True, id="one lost on the way"),
        pytest.param({NEAR: load(3)}, {NEAR: load(3, 2)}, 1, False, id="more than were lost"),
        pytest.param(
            {NEAR: load(3)}, {NEAR: load(3), FAR: load(0, 1)}, 1, True, id="lost elsewhere"
        ),
        pytest.param(
            {NEAR: load(3)}, {NEAR: load(3, 1), FAR: load(0, 1)}, 1, False, id="lost everywhere"
        ),
        pytest.param({NEAR: load(3)}, {FAR: load(3)}, 3, False, id="in the wrong place"),
        pytest.param({NEAR: load(2, 1)}, {NEAR: load(3)}, 3, False, id="error told as success"),
        pytest.param(
            {NEAR: load(2, 0, 1)}, {NEAR: load(2, 1)}, 3, False, id="progress told as error"
        ),
        pytest.param(
            {NEAR: load(3, 1)}, {NEAR: Load(succeeded=3, errors=1)}, 0, True, id="issued not told"
        ),
        pytest.param({NEAR: load(3, 1)}, {NEAR: Load(succeeded=3)}, 0, False, id="nor an error"),
        pytest.param(
            {NEAR: load(3)}, {NEAR: Load(issued=4, succeeded=3)}, 1, False, id="issued and no more"
        ),
    ],
)
def test_balance(
    wanted: dict[LoadKey, Load], reported: dict[LoadKey, Load], lost: int, *, expected: bool
) -> None:
    assert balances(wanted, reported, lost=lost) is expected


TWO = {"c": ("half", "tenth")}
BREAKING = {"c": ("half", ""), "d": ("",)}


def dropped(cluster: str, total: int, **by_category: int) -> Dropped:
    return Dropped(cluster=cluster, total=total, by_category=by_category)


@pytest.mark.parametrize(
    ("expected", "reported", "lost", "is_so"),
    [
        pytest.param({}, [], 0, True, id="nobody drops"),
        pytest.param({}, [], 3, True, id="nobody drops what was lost"),
        pytest.param({}, [dropped("c", 1)], 1, False, id="nobody should have"),
        pytest.param(TWO, [dropped("c", 5, half=4, tenth=1)], 5, True, id="two categories"),
        pytest.param(TWO, [dropped("c", 5, half=5)], 5, False, id="one of them missing"),
        pytest.param(TWO, [dropped("c", 5, half=4, other=1)], 5, False, id="of another name"),
        pytest.param(TWO, [dropped("d", 5, half=4, tenth=1)], 5, False, id="another cluster"),
        pytest.param(TWO, [dropped("c", 5, half=4, tenth=1)], 6, False, id="too few"),
        pytest.param(TWO, [dropped("c", 6, half=4, tenth=1)], 6, False, id="one without"),
        pytest.param(TWO, [dropped("c", 4, half=4, tenth=1)], 5, False, id="more than in total"),
        pytest.param(
            BREAKING, [dropped("c", 5, half=4), dropped("d", 2)], 7, True, id="two clusters"
        ),
        pytest.param(BREAKING, [dropped("c", 7, half=4)], 7, False, id="one of the clusters"),
    ],
)
def test_drops(
    expected: dict[str, tuple[str, ...]], reported: list[Dropped], lost: int, *, is_so: bool
) -> None:
    assert drops_balance(expected, reported, lost=lost) is is_so


def test_words() -> None:
    assert str(NEAR) == "cluster cluster, service name service, locality near"
    assert str(LoadKey("c")) == "cluster c, locality without a name"
    assert str(load(1, 2, 3)) == "6 issued, 1 succeeded, 2 failed, 3 in progress"
