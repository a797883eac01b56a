"""Find where the repository has what is about a clause or a scenario, from the sources alone."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from conformance.spec.catalogue import FOLDER
from regular_files import read_text

ROOT = Path(__file__).parents[2]
SCENARIOS = ROOT / "conformance" / "scenarios"
MUTANTS = ROOT / "conformance" / "mutation" / "mutants"
REFERENCE = ROOT / "client_under_test" / "reference"


def shown(path: Path) -> str:
    """Return a path as it is in the repository, or in the installed package."""
    return path.relative_to(ROOT).as_posix()


def row_of(clause: str) -> str:
    """Return the file and line of a clause's row."""
    for path, text in _naming(FOLDER, clause):
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip() == f"[{clause}]":
                return f"{shown(path)}:{number}"
    return shown(FOLDER)


def function_of(scenario: str) -> str:
    """Return the file and line of a scenario's function; empty if it is none of this suite."""
    module, _, rest = scenario.partition(".")
    function = f"test_{rest.partition('[')[0]}"
    for path in _texts(SCENARIOS):
        for node in _module(path).body if path.name == f"{module}.py" else ():
            if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef) and node.name == function:
                return f"{shown(path)}:{node.lineno}"
    return ""


def mutants_of(clause: str) -> Iterator[str]:
    """Return the file and line of each mutant of a clause, its name, and what it does instead."""
    for path, name, line, keywords in _declared_mutants(clause):
        broken = keywords["broken"]
        if isinstance(broken, ast.Constant):
            yield f"{name}: {broken.value!s} ({shown(path)}:{line})"


def _declared_mutants(clause: str) -> Iterator[tuple[Path, str, int, dict[str, ast.expr]]]:
    """Yield the file, name, line and arguments of each mutant of a clause."""
    for path, _ in _naming(MUTANTS, clause):
        for node in _module(path).body:
            if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
                continue
            keywords = {each.arg: each.value for each in node.value.keywords if each.arg}
            own = keywords.get("clause")
            if isinstance(own, ast.Constant) and own.value == clause:
                yield path, ast.unparse(node.targets[0]), node.lineno, keywords


def rules_of(clause: str) -> Iterator[str]:
    """Return the rules of the reference client for a clause, with file and line.

    These are the functions and constants whose docstrings name the clause, and the other rules that
    its mutants replace. Each rule is a field of a class such as `LoadStreamRules`.
    """
    named = dict(_rules_naming(clause))
    yield from named.values()
    replaced = dict.fromkeys(
        key.value
        for _, _, _, keywords in _declared_mutants(clause)
        for rules in (keywords.get("rules"), keywords.get("xds"))
        if isinstance(rules, ast.Dict)
        for key in rules.keys
        if isinstance(key, ast.Constant)
    )
    editions = {re.sub(r"_a\d+$", "", name) for name in named}
    yield from (_rule_fields()[str(rule)] for rule in replaced if rule not in editions)


@functools.cache
def _rule_fields() -> Mapping[str, str]:
    """Return each field of the reference client's classes, with file and line."""
    return {
        ast.unparse(field.target): f"{ast.unparse(field.target)} ({shown(path)}:{field.lineno})"
        for path in _texts(REFERENCE)
        for node in _module(path).body
        if isinstance(node, ast.ClassDef) and node.name.endswith("Rules")
        for field in node.body
        if isinstance(field, ast.AnnAssign)
    }


def _rules_naming(clause: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the place of each rule whose docstring names a clause."""
    for path, _ in _naming(REFERENCE, clause):
        for node in ast.walk(_module(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                if clause in _ids(ast.get_docstring(node) or ""):
                    yield node.name, f"{node.name} ({shown(path)}:{node.lineno})"
            elif isinstance(node, ast.ClassDef):
                yield from (
                    (
                        ast.unparse(field.target),
                        f"{ast.unparse(field.target)} ({shown(path)}:{field.lineno})",
                    )
                    for field, below in pairwise(node.body)
                    if isinstance(field, ast.AnnAssign)
                    and isinstance(below, ast.Expr)
                    and clause in _ids(ast.unparse(below))
                )


def _naming(folder: Path, clause: str) -> Iterator[tuple[Path, str]]:
    """Yield the files below a folder that name a clause, with their texts."""
    for path, text in _texts(folder).items():
        if clause in _ids(text):
            yield path, text


# What is read is kept, since a prefix explains many clauses.


@functools.cache
def _texts(folder: Path) -> Mapping[Path, str]:
    """Return the rows or modules below a folder."""
    paths = (path for path in sorted(folder.rglob("*")) if path.suffix in {".py", ".toml"})
    return {path: read_text(path) for path in paths}


@functools.cache
def _ids(text: str) -> frozenset[str]:
    """Return the ids of clauses in a text."""
    return frozenset(re.findall(r"\bA\d+-[A-Z]+-\d+\b", text))


@functools.cache
def _module(path: Path) -> ast.Module:
    return ast.parse(read_text(path))
