"""What load a client is asked for, by what its node says that it can do."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fake_control_plane import OF_ALL, LoadReporting

EVERY = LoadReporting(interval=2.0, endpoint_granularity=True)


def named(*clusters: str) -> LoadReporting:
    return replace(EVERY, clusters=clusters)


@pytest.mark.parametrize(
    ("asked", "features", "known", "wanted"),
    [
        (EVERY, (OF_ALL,), ("a", "b"), EVERY),
        (EVERY, ("another", OF_ALL), (), EVERY),
        (EVERY, ("another",), ("a", "b"), named("a", "b")),
        (EVERY, (), ("a",), named("a")),
        (EVERY, (), (), EVERY),
        (named("c"), (), ("a", "b"), named("c")),
        (named("c"), (OF_ALL,), ("a", "b"), named("c")),
        (named(), (), ("a",), named()),
    ],
)
def test_asked_of(
    asked: LoadReporting, features: tuple[str, ...], known: tuple[str, ...], wanted: LoadReporting
) -> None:
    assert asked.asked_of(features, known) == wanted
