"""A capability that a scenario needs is one that it uses; none is named to leave a client out."""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from conformance import scenarios
from conformance.judging.declaration import MARK, scenario
from conformance.runner.collection import SCENARIOS

USES = {
    "cancel": {"cancel", "request_and_cancel"},
    "channels": {"open", "open_in_new_process"},
    "custom_policy": {"CustomCluster", "custom"},
    "kept_open": {"KEPT_OPEN", "Streams"},
    "response_headers": {"SetsCookies", "collect"},
    "wait_for_ready": {"wait_for_ready"},
    "watch": {"watch"},
}
"""The names of which a scenario with this need uses one at least. Each call has metadata, so no
name shows that need."""


def modules() -> Iterator[Any]:
    for path in sorted(SCENARIOS.rglob("*.py")):
        if path.stem != "__init__":
            parts = path.relative_to(SCENARIOS).with_suffix("").parts
            yield importlib.import_module(".".join((scenarios.__name__, *parts)))


def needs_of(function: Callable[..., Any]) -> set[str]:
    """Return the capabilities that a scenario, or a row of its table, needs."""
    marks: list[pytest.Mark] = list(getattr(function, "pytestmark", ()))
    rows = [row for table in marks if table.name == "parametrize" for row in table.args[1]]
    marks += [mark for row in rows for mark in getattr(row, "marks", ())]
    return {need for mark in marks if mark.name == MARK for need in mark.args[0].needs}


def names_in(thing: Any) -> set[str]:
    """Return each name, attribute and keyword that a function or a class uses."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(thing)))
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    found |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return found | {node.arg or "" for node in ast.walk(tree) if isinstance(node, ast.keyword)}


def names_used(function: Callable[..., Any]) -> set[str]:
    """Return the names that a scenario uses, itself or by what other scenario modules define."""
    found: set[str] = set()
    seen, left = {function}, [function]
    while left:
        thing = left.pop()
        names = names_in(thing)
        found |= names
        known: dict[str, Any] = vars(inspect.getmodule(thing))
        for value in [known[name] for name in names if name in known]:
            is_code = inspect.isfunction(value) or inspect.isclass(value)
            if is_code and value.__module__.startswith(scenarios.__name__) and value not in seen:
                seen.add(value)
                left.append(value)
    return found


def unused_needs(function: Callable[..., Any]) -> set[str]:
    needs = needs_of(function) - {"metadata"}
    return {need for need in needs if USES[need].isdisjoint(names_used(function))}


def test_each_need_of_a_scenario_is_used() -> None:
    functions = [
        function
        for module in modules()
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if name.startswith("test_") and function.__module__ == module.__name__
    ]
    assert {need for function in functions for need in needs_of(function)} == {*USES, "metadata"}
    unused = {f"{case.__module__}.{case.__name__}": unused_needs(case) for case in functions}
    assert not {name: needs for name, needs in unused.items() if needs}


@scenario("A42-X-01", needs=("watch",))
async def only_excludes(world: Any) -> None:
    await world.check("A42-X-01", await world.call([{}]), None)


def test_a_need_that_only_excludes_a_client_is_found() -> None:
    assert unused_needs(only_excludes) == {"watch"}
