"""Addresses in what was expected have their priority, if there are several."""

import pytest

from conformance.reporting.priorities import with_priorities
from conformance.xds_config.config import one_cluster
from conformance.xds_config.endpoints import Endpoint, Locality

A, B, C, D = (f"127.0.0.1:{port}" for port in (10, 100, 101, 102))


def served(*priorities: tuple[str, ...]) -> str:
    return str(
        one_cluster(
            [
                Locality(tuple(map(Endpoint, addresses)), name=f"at-{priority}", priority=priority)
                for priority, addresses in enumerate(priorities)
            ]
        )
    )


TWO = served((A,), (B, C))


@pytest.mark.parametrize(
    ("text", "configurations", "expected"),
    [
        (
            f"every call served by {B}",
            [TWO],
            f"every call served by {B} (priority 1)",
        ),
        (f"{A} before {C}", [TWO], f"{A} (priority 0) before {C} (priority 1)"),
        (f"every call served by {D}", [TWO], f"every call served by {D}"),
        (f"{A}, {B}, {C}, {D}", [TWO], f"{A}, {B}, {C}, {D}"),
        pytest.param(f"at {A}", [served((A, B))], f"at {A}", id="one priority"),
        pytest.param(f"at {A}", [TWO, served((B,), (A,))], f"at {A}", id="moved"),
        pytest.param(f"at {A}", [], f"at {A}", id="nothing served"),
    ],
)
def test_priorities(text: str, configurations: list[str], expected: str) -> None:
    assert with_priorities(text, configurations) == expected
