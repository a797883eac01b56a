"""The picker's oracle against tables written from the texts, and the rules that hold for all."""

import itertools
from typing import get_args

import pytest

from conformance.spec.oracles.aggregated_state import aggregated_state
from conformance.spec.oracles.picker import Pick, State, pick

STATES: tuple[State, ...] = get_args(State)
LETTERS: dict[str, State] = {
    "R": "READY",
    "I": "IDLE",
    "C": "CONNECTING",
    "F": "TRANSIENT_FAILURE",
}


def states(letters: str) -> tuple[State, ...]:
    return tuple(LETTERS[letter] for letter in letters)


@pytest.mark.parametrize(
    ("walk", "a42", "a61"),
    [
        ("R", "0", "0"),
        ("I", "queue 0", "queue 0"),
        ("C", "queue", "queue"),
        ("F", "fail 0", "fail"),
        ("RFF", "0", "0"),
        ("IRR", "queue 0", "queue 0"),
        ("CRR", "queue", "queue"),
        ("FRR", "1 0", "1"),
        ("FIR", "queue 01", "queue 1"),
        ("FCR", "queue 0", "queue"),
        ("FFR", "2 01", "2"),
        ("FFIR", "3 012", "queue 2"),
        ("FFCR", "3 01", "queue"),
        ("FFFR", "3 012", "3"),
        ("FFFIR", "4 0123", "queue 3"),
        ("FFI", "fail 012", "queue 2"),
        ("FFC", "fail 01", "queue"),
        ("FFII", "fail 012", "queue 2"),
        ("FFCI", "fail 01", "queue"),
        ("FFFI", "fail 0123", "queue 3"),
        ("FFIIR", "4 012", "queue 2"),
        ("FFF", "fail 012", "fail"),
    ],
)
def test_the_picker_by_the_texts(walk: str, a42: str, a61: str) -> None:
    for edition, wanted in (("A42", a42), ("A61", a61)):
        told, _, connects = wanted.partition(" ")
        number = int(told) if told.isdigit() else None
        assert pick(states(walk), "A61" if edition == "A61" else "A42") == Pick(
            outcome="complete" if number is not None else told,  # type: ignore[arg-type]
            endpoint=number,
            connects=tuple(map(int, connects)),
        )


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_both_pickers_differ_only_behind_two_failed_ones(length: int) -> None:
    for walk in itertools.product(STATES, repeat=length):
        old, new = pick(walk, "A42"), pick(walk, "A61")
        assert (old.endpoint is None) == (old.outcome != "complete")
        if old.outcome == "complete":
            assert walk[old.endpoint or 0] == "READY"
        if (old.outcome, old.endpoint) != (new.outcome, new.endpoint):
            assert walk[:2] == ("TRANSIENT_FAILURE", "TRANSIENT_FAILURE")
        assert (new.outcome == "fail") == (set(walk) == {"TRANSIENT_FAILURE"})


def test_a_walk_without_endpoints_is_refused() -> None:
    with pytest.raises(ValueError, match="without endpoints"):
        pick((), "A42")


@pytest.mark.parametrize(
    ("endpoints", "state"),
    [
        ("RFF", "R"),
        ("RC", "R"),
        ("FF", "F"),
        ("FFCI", "F"),
        ("FC", "C"),
        ("CI", "C"),
        ("FI", "C"),
        ("FII", "C"),
        ("II", "I"),
        ("I", "I"),
        ("F", "F"),
        ("", "F"),
    ],
)
def test_the_six_rules(endpoints: str, state: str) -> None:
    for order in set(itertools.permutations(endpoints)):
        assert aggregated_state(states("".join(order))) == LETTERS[state]
