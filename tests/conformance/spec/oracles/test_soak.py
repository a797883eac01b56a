"""What explains where a request went and why it failed, against tables written by hand."""

from __future__ import annotations

import pytest

from conformance.spec.oracles.soak import Fault, Listing, Request, is_placed, listed, may_fail

LISTINGS = (
    Listing(addresses=("a", "b"), began=0, ended=10.2),
    Listing(addresses=("a", "c"), began=10, ended=30),
)
MOMENTS = 1.0


def request(began: float, ended: float, status: str = "OK", endpoint: str | None = None) -> Request:
    return Request(id="1", began=began, ended=ended, status=status, endpoint=endpoint)


def fault(address: str, began: float, ended: float, *, silent: bool = False) -> Fault:
    return Fault(address=address, began=began, ended=ended, is_silent=silent)


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [(2, 3, "ab"), (9, 10, "abc"), (10.1, 10.1, "abc"), (10.2, 12, "abc"), (10.3, 12, "ac")],
)
def test_listed(since: float, until: float, expected: str) -> None:
    assert listed(LISTINGS, since, until) == set(expected)


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param(request(5, 6, endpoint="b"), True, id="listed"),
        pytest.param(request(5, 6, endpoint="c"), False, id="not yet"),
        pytest.param(request(5, 10, endpoint="c"), True, id="in time"),
        pytest.param(request(11.2, 12, endpoint="b"), True, id="a moment ago"),
        pytest.param(request(11.3, 12, endpoint="b"), False, id="no more"),
        pytest.param(request(5, 6, endpoint="d"), False, id="never"),
        pytest.param(request(5, 6, "UNAVAILABLE"), True, id="nowhere"),
        pytest.param(request(5, 6, "UNAVAILABLE", "c"), False, id="failed elsewhere"),
    ],
)
def test_place(seen: Request, *, expected: bool) -> None:
    assert is_placed(seen, LISTINGS, MOMENTS) is expected


@pytest.mark.parametrize(
    ("seen", "faults", "expected"),
    [
        pytest.param(request(5, 6), (), True, id="no failure"),
        pytest.param(request(5, 6, "UNAVAILABLE"), (), False, id="no reason"),
        pytest.param(request(5, 6, "UNAVAILABLE"), (fault("a", 5.5, 5.5),), True, id="lost"),
        pytest.param(request(5, 6, "UNAVAILABLE"), (fault("a", 3, 4),), True, id="just mended"),
        pytest.param(request(5, 6, "UNAVAILABLE"), (fault("a", 3, 3.9),), False, id="mended"),
        pytest.param(request(5, 6, "UNAVAILABLE"), (fault("a", 6.1, 7),), False, id="later"),
        pytest.param(request(5, 6, "UNAVAILABLE"), (fault("c", 5, 6),), False, id="not listed"),
        pytest.param(request(9.5, 10, "UNAVAILABLE"), (), True, id="during a change"),
        pytest.param(request(11.2, 12, "UNAVAILABLE"), (), True, id="after a change"),
        pytest.param(request(11.3, 12, "UNAVAILABLE"), (), False, id="long after it"),
        pytest.param(
            request(12, 22, "DEADLINE_EXCEEDED"), (fault("c", 12, 25),), False, id="not silent"
        ),
        pytest.param(
            request(12, 22, "DEADLINE_EXCEEDED"),
            (fault("c", 12, 25, silent=True),),
            True,
            id="waits for a silent one",
        ),
        pytest.param(
            request(12, 22, "DEADLINE_EXCEEDED"),
            (fault("c", 12, 20, silent=True),),
            False,
            id="waits though it speaks",
        ),
        pytest.param(
            request(5, 15, "DEADLINE_EXCEEDED"),
            (fault("b", 4, 25, silent=True),),
            False,
            id="waits for one that is gone",
        ),
        pytest.param(request(5, 10.5, "DEADLINE_EXCEEDED"), (), True, id="change at its end"),
    ],
)
def test_failure(seen: Request, faults: tuple[Fault, ...], *, expected: bool) -> None:
    assert may_fail(seen, LISTINGS, faults, MOMENTS) is expected
