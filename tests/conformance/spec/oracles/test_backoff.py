"""The shortest times between attempts at an endpoint that fails."""

import pytest

from conformance.spec.oracles.backoff import Backoff, least, most

PLAIN = Backoff(compounds=False)


@pytest.mark.parametrize(
    ("backoff", "gap", "seconds"),
    [
        (PLAIN, 0, 0.8),
        (PLAIN, 1, 1.28),
        (PLAIN, 2, 2.048),
        (PLAIN, 20, 96.0),
        (Backoff(), 0, 0.8),
        (Backoff(), 1, 1.024),
        (Backoff(), 2, 1.31072),
        (Backoff(), 40, 96.0),
        (Backoff(initial=3, multiplier=2, longest=5, jitter=0), 0, 3),
        (Backoff(initial=3, multiplier=2, longest=5, jitter=0), 1, 5),
        (Backoff(initial=0.5, multiplier=1, compounds=False), 2, 0.4),
        (Backoff(initial=0.001), 0, 0.8 / 3),
        (Backoff(initial=1, jitter=0.99), 5, 0.8 / 3),
    ],
)
def test_each_gap_has_its_own_bound(backoff: Backoff, gap: int, seconds: float) -> None:
    assert least(gap, backoff) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("backoff", "gap", "seconds"),
    [
        (PLAIN, 0, 1.2),
        (PLAIN, 2, 3.072),
        (Backoff(), 2, 4.42368),
        (Backoff(), 40, 144.0),
        (Backoff(initial=2.0, compounds=False), 1, 3.84),
    ],
)
def test_each_gap_has_an_end(backoff: Backoff, gap: int, seconds: float) -> None:
    assert most(gap, backoff) == pytest.approx(seconds)
