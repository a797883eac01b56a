"""Find where the repository has what is about a clause or a scenario, from the sources alone."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
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
    for path in sorted(FOLDER.rglob("*.toml")):
        for number, line in enumerate(read_text(path).splitlines(), 1):
            if line.strip() == f"[{clause}]":
                return f"{shown(path)}:{number}"
    return shown(FOLDER)


def function_of(scenario: str) -> str:
    """Return the file and line of a scenario's function; empty if it is none of this suite."""
    module, _, rest = scenario.partition(".")
    function = f"test_{rest.partition('[')[0]}"
    for path in sorted(SCENARIOS.rglob(f"{module}.py")):
        for node in _module(path).body:
            if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef) and node.name == function:
                return f"{shown(path)}:{node.lineno}"
    return ""


def mutants_of(clause: str) -> Iterator[str]:
    """Return the file and line of each mutant of a clause, its name, and what it does instead."""
    for path in _naming(MUTANTS, clause):
        for node in _module(path).body:
            if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
                continue
            words = {
                keyword.arg: keyword.value.value
                for keyword in node.value.keywords
                if isinstance(keyword.value, ast.Constant)
            }
            if words.get("clause") == clause:
                name, broken = ast.unparse(node.targets[0]), str(words.get("broken"))
                yield f"{name}: {broken} ({shown(path)}:{node.lineno})"


def rules_of(clause: str) -> Iterator[str]:
    """Return the functions of the reference client that name a clause, with file and line."""
    for path in _naming(REFERENCE, clause):
        for node in ast.walk(_module(path)):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if re.search(rf"\b{clause}\b", ast.get_docstring(node) or ""):
                yield f"{node.name} ({shown(path)}:{node.lineno})"


def _naming(folder: Path, clause: str) -> Iterator[Path]:
    """Return the modules below a folder that contain the id of a clause."""
    for path in sorted(folder.rglob("*.py")):
        if re.search(rf"\b{clause}\b", read_text(path)):
            yield path


@functools.cache
def _module(path: Path) -> ast.Module:
    return ast.parse(read_text(path))
