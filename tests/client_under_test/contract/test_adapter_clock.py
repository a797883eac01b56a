from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from client_under_test.contract.adapter_clock import Clock

delays = st.floats(0, 0.5)


def test_nothing_is_known_at_first() -> None:
    assert math.isnan(Clock().error) or Clock().error == math.inf


@given(
    zero=st.floats(0, 1e6),
    exchanges=st.lists(st.tuples(st.floats(0, 60), delays, delays), min_size=1),
)
def test_the_error_bound_holds(zero: float, exchanges: list[tuple[float, float, float]]) -> None:
    clock = Clock()
    bounds = []
    for asked_after, there, back in exchanges:
        at = round((asked_after + there) * 1e6)
        asked_at = zero + asked_after
        clock.heard(at, asked_at=asked_at, heard_at=asked_at + there + back)
        bounds.append(there + back)
    rounding = 2e-6
    assert abs(clock.to_suite(0) - zero) <= clock.error + rounding
    assert clock.error <= min(bounds) / 2 + rounding
