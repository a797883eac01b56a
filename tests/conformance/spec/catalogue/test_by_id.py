"""Check that a search for a clause's id finds its rule and its mutants."""

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import client_under_test
import conformance
from client_under_test.reference.editions.behavior import of_edition
from client_under_test.reference.editions.editions import Rules
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.xds.rules import XdsRules
from conformance.mutation.results import declared_mutants
from conformance.spec.catalogue import Catalogue, load

ID = re.compile(r"\bA\d+-[A-Z]+-\d+\b")
SUITE = Path(conformance.__file__).parent
GUIDE = SUITE.parent / "CONTRIBUTING.md"
REFERENCE = Path(client_under_test.__file__).parent / "reference"


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return load()


class Module(NamedTuple):
    """A module of the project. The path begins at the project's root."""

    path: str
    text: str

    @property
    def syntax(self) -> ast.Module:
        return ast.parse(self.text)


def modules(*folders: Path) -> tuple[Module, ...]:
    return tuple(
        Module(str(path.relative_to(SUITE.parent)), path.read_text("utf-8"))
        for folder in folders
        for path in sorted(folder.rglob("*.py"))
    )


# The rules of the reference client, and its mutants.


def told_of_fields(rules: type) -> dict[str, str]:
    """What stands below the fields of a class, and of those that it is made of."""
    told: dict[str, str] = {}
    for base in rules.__mro__[:-1]:
        (declaration,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        assert isinstance(declaration, ast.ClassDef)
        for field, below in zip(declaration.body, declaration.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
                assert isinstance(field.target, ast.Name)
                told[field.target.id] = ast.unparse(below)
    return told


TOLD = {kind: told_of_fields(kind) for kind in (Rules, XdsRules)}


def replaced(mutant: Mutant) -> Iterator[tuple[str, str]]:
    """The rules that a mutant replaces, and what is said of them as they are in its edition."""
    conduct = of_edition(mutant.variant)
    sides: tuple[tuple[Any, Mapping[str, Any]], ...] = (
        (conduct.rules, mutant.rules),
        (conduct.xds, mutant.xds),
    )
    for rules, changes in sides:
        below = TOLD[type(rules)]
        for name in changes:
            rule = getattr(rules, name)
            told = below.get(name, "") + (inspect.getdoc(rule) or "" if callable(rule) else "")
            yield name, told + "".join(map(_read_below_xds, re.findall(r"`(resources/.*?)`", told)))


def _read_below_xds(path: str) -> str:
    return (REFERENCE / "xds" / path).read_text("utf-8")


def test_rules_name_the_clauses_of_their_mutants() -> None:
    """Where a mutant replaces several rules at once, one of them: the others only help it."""
    silent = []
    for row in declared_mutants():
        module, _, name = row.place.partition(":")
        rules = dict(replaced(getattr(importlib.import_module(module), name)))
        if row.clause not in {each for told in rules.values() for each in ID.findall(told)}:
            silent.append(
                f"The mutant {row.id} breaks {row.clause} by replacing {' and '.join(rules)}: name "
                f"{row.clause} in the docstring of that rule, as the edition {row.variant} has it."
            )
    assert not silent


# Ids.


@pytest.mark.parametrize("folder", [SUITE, REFERENCE], ids=lambda path: path.name)
def test_ids_exist(folder: Path, catalogue: Catalogue) -> None:
    unknown = [
        f"{module.path} names {each}, of which the catalogue has no row."
        for module in modules(folder)
        for each in sorted({*ID.findall(module.text)})
        if each not in catalogue
    ]
    assert not unknown


# What CONTRIBUTING says of it. The wheel has no such file.


@pytest.mark.skipif(not GUIDE.exists(), reason="needs a checkout")
def test_the_guide_shows_each_place_of_its_clause() -> None:
    section = (
        GUIDE.read_text("utf-8").split("## Find everything about a clause\n")[1].split("\n## ")[0]
    )
    (clause,) = {*ID.findall(section)}
    rows = re.findall(r"^\| \w+ \| `([^`]+)` \| (.*) \|$", section, re.MULTILINE)
    assert len(rows) == 5
    for path, said in rows:
        text = (SUITE.parent / path).read_text("utf-8")
        assert clause in text, f"{path} does not name {clause}, though CONTRIBUTING.md says so."
        missing = {name for name in re.findall(r"`(\w+)`", said) if name not in text}
        assert not missing, f"CONTRIBUTING.md names {missing}, which {path} does not have."
