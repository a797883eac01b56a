"""Check that a search for a clause's id finds its rule and its mutants."""

import ast
import re
from pathlib import Path
from typing import NamedTuple

import pytest

import client_under_test
import conformance
from conformance.mutation.results import declared_mutants
from conformance.reporting.places import rules_of
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


def test_a_mutant_leads_to_its_rule() -> None:
    """The docstring of a rule names a clause, or else the clause's mutant names the rule."""
    clauses = {row.clause for row in declared_mutants()}
    assert not [clause for clause in sorted(clauses) if not [*rules_of(clause)]]


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
