"""What a scenario claims: the clauses that it decides, and what it needs for that."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import pytest

MARK = "decides"

NONCES = "A27-ADS-02"
"""The clause about nonces, which every scenario decides as well if it finds it broken."""


class Bootstrap(msgspec.Struct, frozen=True, kw_only=True):
    """Additions to a client's default bootstrap configuration."""

    fields: dict[str, Any] = {}
    """Top-level fields, by name."""
    server_features: tuple[Any, ...] = ()
    """Additional features of the only server: names, or other JSON that no client understands."""


AS_ALWAYS = Bootstrap()


class Declaration(msgspec.Struct, frozen=True, kw_only=True):
    """What a scenario declares before it runs."""

    clauses: tuple[str, ...]
    """The clauses on which it gives verdicts: exactly these."""
    needs: tuple[str, ...] = ()
    """Capabilities of the contract without which it is skipped."""
    knobs: dict[str, int] = {}
    """Knobs that the client's process, or its channels, are given; skipped where it has none."""
    bootstrap: Bootstrap = AS_ALWAYS
    """The client's."""
    alone: bool = False
    """Set if it is about the client's process, or about several channels in one process. No other
    scenario uses that process then."""
    seconds: float = 0.25
    """About how long it takes: the longest start first."""
    waits: bool = False
    """True if the scenario spends that time idle, waiting for a timer."""
    timer: float = 0.0
    """Seconds of the shortest timer of the served config that decides the outcome, if it is far
    shorter than the suite's deadlines: a client that waits as long for a processor may fail."""
    failover: bool = False
    """True if that timer is the failover timer, which --fast shortens."""
    resolutions: bool = False
    """True if that timer is the least time between two resolutions of a name, which is short if the
    client has a knob for it."""
    timed: tuple[str, ...] = ()
    """The clauses on the duration of that timer: they are not judged if it is shortened."""
    absence: bool = False
    """True if that timer is the one after which a resource does not exist. No client has a knob for
    it, so --fast leaves the scenario out."""


def scenario(  # noqa: PLR0913 - all but the clauses by their names
    *clauses: str,
    needs: tuple[str, ...] = (),
    knobs: Mapping[str, int] | None = None,
    bootstrap: Bootstrap = AS_ALWAYS,
    alone: bool = False,
    seconds: float = 0.25,
    waits: bool = False,
    timer: float = 0.0,
    failover: bool = False,
    resolutions: bool = False,
    timed: tuple[str, ...] = (),
    absence: bool = False,
) -> pytest.MarkDecorator:
    """Mark a scenario, or a row of its table, with the clauses that it decides."""
    declared = Declaration(
        clauses=(*clauses, *timed),
        needs=needs,
        knobs=dict(knobs or {}),
        bootstrap=bootstrap,
        alone=alone,
        seconds=seconds,
        waits=waits or absence or resolutions,
        timer=timer,
        failover=failover or bool(timed),
        resolutions=resolutions,
        timed=timed,
        absence=absence,
    )
    return pytest.mark.decides(declared)


def declaration_of(item: pytest.Item) -> Declaration:
    """Return the declaration of a collected scenario; a row of a table adds its own clauses.

    A bootstrap configuration is the row's, if it has one of its own.

    Raises:
        ValueError: it declares no clause.
    """
    marks: list[Declaration] = [mark.args[0] for mark in item.iter_markers(MARK)]
    if not marks:
        message = f"{item.nodeid} decides no clause: mark it with @scenario(ID)"
        raise ValueError(message)
    return Declaration(
        clauses=tuple(dict.fromkeys(c for mark in reversed(marks) for c in mark.clauses)),
        needs=tuple(dict.fromkeys(n for mark in marks for n in mark.needs)),
        knobs={k: v for mark in reversed(marks) for k, v in mark.knobs.items()},
        bootstrap=next((m.bootstrap for m in marks if m.bootstrap != AS_ALWAYS), AS_ALWAYS),
        alone=any(mark.alone for mark in marks),
        seconds=max(mark.seconds for mark in marks),
        waits=any(mark.waits for mark in marks),
        timer=min((mark.timer for mark in marks if mark.timer), default=0.0),
        failover=any(mark.failover for mark in marks),
        resolutions=any(mark.resolutions for mark in marks),
        timed=tuple(t for mark in marks for t in mark.timed),
        absence=any(mark.absence for mark in marks),
    )


TARGET_MARK = "target:"
"""Begins the id of a parameter that is a mutant, or one of several clients. It is no part of a
scenario's id."""


def scenario_id(item: Any) -> str:
    """``hash_policy.random_hash[absent]``: the module, the function and the row of its table."""
    name = re.sub(rf"{TARGET_MARK}[\w.]*", "", item.name.removeprefix("test_"))
    name = name.replace("[-", "[").replace("-]", "]").removesuffix("[]")
    return f"{item.path.stem}.{name}"


def declared_clauses(marks: Iterable[pytest.Mark]) -> frozenset[str]:
    """Every clause that a scenario's function, or a row of its table, claims by these marks."""
    marks = tuple(marks)
    own = {clause for mark in marks if mark.name == MARK for clause in mark.args[0].clauses}
    rows = {
        clause
        for table in marks
        if table.name == "parametrize"
        for row in table.args[1]
        for mark in getattr(row, "marks", ())
        if mark.name == MARK
        for clause in mark.args[0].clauses
    }
    return frozenset(own | rows)


def case(name: str, clause: str, *values: object) -> Any:
    """Return a row of a scenario's table: its name, the clause that it decides, and arguments."""
    return pytest.param(clause, *values, id=name, marks=scenario(clause))
