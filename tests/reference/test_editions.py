"""Editions, and the clauses that the reference cites."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from client_under_test import adapters, reference
from client_under_test.environments import prepare
from client_under_test.manifests.clients import find
from client_under_test.reference.editions.editions import (
    AMENDMENTS,
    MODERN,
    OTHERS,
    SEED,
    SEED_2021,
    NoSuchEdition,
    Rules,
    edition,
)
from client_under_test.reference.xds.rules import XdsRules
from conformance.spec import catalogue

MANIFEST = Path(adapters.__file__).parent / "reference" / "client.toml"
CITED = re.compile(r"\bA\d+-[A-Z]+-\d\d\b")


def differences(rules: Rules, other: Rules) -> set[str]:
    names = (field.name for field in fields(Rules))
    return {name for name in names if getattr(rules, name) is not getattr(other, name)}


RULES = [
    Rules(),
    XdsRules(registered_policies={}),
    *(edition(f"seed+{name}").rules for name in {**AMENDMENTS, **OTHERS}),
]


def test_a_rule_has_the_name_of_its_function() -> None:
    """`rules.find_entry` is `find_entry`; an edition's own is `find_entry_a61` or similar."""
    names = {
        (field.name, function.__name__)
        for rules in RULES
        for field in fields(rules)
        if callable(function := getattr(rules, field.name))
    }
    wrong = {
        f"{name} is {function}"
        for name, function in names
        if not re.fullmatch(rf"{name}(_a\d+)?(_\d{{4}})?", function)
    }
    assert not wrong


def test_seed_is_the_defaults() -> None:
    assert SEED.rules == Rules()
    assert differences(SEED.rules, SEED_2021.rules) == {"ends_hash_policies", "header_value"}


@pytest.mark.parametrize("name", AMENDMENTS)
def test_each_amendment_changes_rules_of_its_own(name: str) -> None:
    alone = differences(SEED.rules, edition(f"seed+{name}").rules)
    assert alone
    for other in AMENDMENTS:
        if other != name:
            assert not alone & differences(SEED.rules, edition(f"seed+{other}").rules)


def test_what_was_first_written_differs_from_what_is_written_now() -> None:
    then, now = (edition(f"seed+{names}").rules for names in ("A56-2022+A61-2023", "A56+A61"))
    assert differences(then, now) == {"choose_priority", "proactive_attempt"}


def test_modern_has_all() -> None:
    changed = {name: edition(f"seed+{name}").rules for name in AMENDMENTS}
    for rules in changed.values():
        for name in differences(SEED.rules, rules):
            assert getattr(MODERN.rules, name) is getattr(rules, name)
    assert MODERN.stated[-len(AMENDMENTS) - 3 :] == ("A37", "A42", "A52", *AMENDMENTS)


@pytest.mark.parametrize("variant", tomllib.loads(MANIFEST.read_text("utf-8"))["variants"])
def test_the_manifest_states_what_the_edition_does(variant: str) -> None:
    written = tomllib.loads(MANIFEST.read_text("utf-8"))["variants"][variant]
    name = written["environment"]["XDSPEC_REFERENCE_EDITION"]
    assert {*prepare(find(f"reference+{variant}")).editions} == {*edition(name).stated}


@pytest.mark.parametrize("name", ["", "A42", "seed+A99", "modern+A61", "seed+"])
def test_unknown(name: str) -> None:
    with pytest.raises(NoSuchEdition, match="seed-2021"):
        edition(name)


def sources() -> dict[str, str]:
    (folder,) = reference.__path__
    return {path.name: path.read_text() for path in Path(folder).rglob("*.py")}


def test_every_clause_that_is_cited_exists() -> None:
    known = {clause.id for clause in catalogue.load()}
    cited = {name: set(CITED.findall(text)) - known for name, text in sources().items()}
    assert not {name: unknown for name, unknown in cited.items() if unknown}
