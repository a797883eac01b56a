"""Former ids of scenarios, which stay valid in baselines, reports and options."""

from __future__ import annotations

import functools
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from regular_files import read_text

TABLE: Final = Path(__file__).with_name("former_ids.toml")
"""Each former id of a scenario, or of a row of its table, with the next one, or the present ones by
clause."""


def function_of(scenario: str) -> str:
    """Return a scenario's id without the row of its table."""
    return scenario.partition("[")[0]


@functools.cache
def table() -> Mapping[str, str | Mapping[str, str]]:
    """Return the next id, by former id; the present ones by clause where a scenario was split."""
    return tomllib.loads(read_text(TABLE))


@functools.cache
def _former() -> Mapping[str, tuple[str, ...]]:
    """Return the former ids, by present id."""
    found = defaultdict[str, list[str]](list)
    for former in table():
        names = _present(former)
        if former not in names:
            for name in names:
                found[name].append(former)
    return {name: tuple(former) for name, former in found.items()}


def _present(former: str) -> set[str]:
    """Return all ids that a former id leads to."""
    following = table().get(former, "")
    if not isinstance(following, str):
        return {*following.values()}
    return _present(following) if following else {former}


def current_id(scenario: str, clause: str = "") -> str:
    """Return the present id of a scenario; the id itself if it is present, or unknown.

    Args:
        scenario: an id, with or without the row of a table.
        clause: a clause that the scenario decided, since a scenario may have been split.
    """
    function, row = function_of(scenario), scenario[len(function_of(scenario)) :]
    for name, rest in ((scenario, ""), (function, row)):
        present = table().get(name)
        if isinstance(present, str):
            return current_id(f"{present}{rest}", clause)
        if present and clause in present:
            return f"{present[clause]}{rest}"
    return scenario


def all_ids(scenario: str) -> tuple[str, ...]:
    """Return a scenario's id, then its former ids."""
    function = function_of(scenario)
    row = scenario[len(function) :]
    former = tuple(f"{name}{row}" for name in _former().get(function, ())) if row else ()
    return (scenario, *_former().get(scenario, ()), *former)


def all_functions(function: str) -> tuple[str, ...]:
    """Return the id of a function, and the former ones of all of its rows."""
    rows = (
        former
        for name, several in _former().items()
        if function_of(name) == function
        for former in several
    )
    return (function, *dict.fromkeys(map(function_of, rows)))
