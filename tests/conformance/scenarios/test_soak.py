"""The plan of a soak: repeated by its seed, and such that a right client is explained."""

from __future__ import annotations

import random

import pytest

from conformance.scenarios.helpers.soak import (
    CALM,
    KILL,
    LIST,
    MOST_SILENT,
    SILENT,
    STORM,
    Kill,
    ListChange,
    ModeChange,
    plan,
)
from conformance.xds_config.policies import RoundRobin
from test_servers import Mode, Serve

MEMBERS, REQUESTS = 8, 6000
SEEDS = range(50)


def test_a_seed_repeats_it() -> None:
    first, again, other = (
        plan(random.Random(seed), members=MEMBERS, requests=REQUESTS) for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


@pytest.mark.parametrize("seed", SEEDS)
def test_what_holds_for_all(seed: int) -> None:
    """The first endpoint is always listed and always serves; some other one is never listed."""
    actions = plan(random.Random(seed), members=MEMBERS, requests=REQUESTS)
    modes: dict[int, Mode] = {}
    assert [action.after for action in actions] == sorted(action.after for action in actions)
    for number, action in enumerate(actions):
        match action.what:
            case ModeChange(member, mode):
                assert member != 0
                assert mode != modes.get(member, Serve())
                modes[member] = mode
            case ListChange(members):
                assert members[0] == 0
                assert number == 0 or len(members) < MEMBERS
        assert sum(isinstance(mode, SILENT) for mode in modes.values()) <= MOST_SILENT
        if action.after % (STORM + CALM) == STORM and isinstance(action.what, ListChange):
            assert set(modes.values()) <= {Serve()}
    quiet = [action.after for action in actions if action.after % (STORM + CALM) > STORM]
    assert not quiet


@pytest.mark.parametrize("seed", SEEDS)
def test_no_list_changes_soon_after_a_kill_or_another_list(seed: int) -> None:
    actions = plan(random.Random(seed), members=MEMBERS, requests=REQUESTS)
    latest = -LIST
    for action in actions:
        if isinstance(action.what, ListChange):
            assert action.after - latest >= LIST - KILL
        if isinstance(action.what, ListChange | Kill):
            latest = action.after


@pytest.mark.parametrize("seed", range(500))
def test_only_the_list_is_there_before_the_first_request(seed: int) -> None:
    first, *others = plan(random.Random(seed), members=MEMBERS, requests=STORM)
    assert first.after == 0
    assert isinstance(first.what, ListChange)
    assert min(action.after for action in others) > 0


def test_it_has_something_of_everything() -> None:
    actions = plan(random.Random(3), members=MEMBERS, requests=STORM + CALM)
    changes = [action.what for action in actions if isinstance(action.what, ListChange)]
    assert {type(change.policy).__name__ for change in changes} == {"RingHash", "RoundRobin"}
    assert not isinstance(changes[-1].policy, RoundRobin)
    assert {type(action.what) for action in actions} == {ListChange, Kill, ModeChange}
