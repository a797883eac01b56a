"""Check which long parts of CI run on a day, and for a change."""

from __future__ import annotations

from pathlib import Path

import pytest

from client_under_test.manifests.clients import built_in
from conformance.mutation.results import declared_mutants

ROOT = Path(__file__).parents[2]

if not (ROOT / "ci" / "rotation.py").exists():
    pytest.skip("needs a checkout", allow_module_level=True)

from ci import rotation  # noqa: E402
from ci.changed_clauses import (  # noqa: E402
    MOST,
    Change,
    ChangedParts,
    beyond_renames,
    touched,
)

BROKEN = {
    "aggregate": frozenset({"A37-TREE-01", "A37-TREE-02"}),
    "ring_hash": frozenset({"A42-PICK-15", "A42-RING-03", "A42-RING-13"}),
}


def names(*ids: str) -> frozenset[str]:
    return frozenset(ids)


# What there is.


def test_each_area_of_mutants_has_one_turn() -> None:
    assert sorted(rotation.AREAS) == sorted(
        {mutant.module.partition("/")[0] for mutant in declared_mutants()}
    )


def test_each_slow_client_has_one_turn_and_none_is_unknown() -> None:
    clients = [*rotation.SLOW, *rotation.EVERY_DAY]
    assert len(clients) == len({*clients})
    assert {client.partition("+")[0].partition("@")[0] for client in clients} <= {*built_in()}


# Days.


def test_each_turn_comes_round() -> None:
    of_days = [rotation.number_of("", day) for day in range(1, 366)]
    every = {*range(1, len(rotation.TURNS) + 1)}
    assert all({*of_days[i : i + len(every)]} == every for i in range(len(of_days) - len(every)))


def test_a_turn_is_forced() -> None:
    assert [rotation.number_of("2", day) for day in (1, 2, 3)] == [2, 2, 2]


@pytest.mark.parametrize("forced", ["0", "-1", "01", "99", "two", " 1", "²"])
def test_a_turn_that_there_is_not(forced: str) -> None:
    with pytest.raises(rotation.BadVariable, match=r"set it to all, or to a number from 1 to \d"):
        rotation.number_of(forced, 1)


# Changes.

SCENARIO_TEXT = '@decides("A42-RING-13", "A37-TREE-01")\nasync def test_search(): ...\n'


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("conformance/spec/catalogue/ring_hash/ring.toml", '[A42-RING-13]\nstrength = "MUST"'),
        ("conformance/mutation/mutants/ring_hash/ring.py", 'last = Mutant(clause="A42-RING-13")'),
        ("client_under_test/reference/rules/ring.py", 'def find():\n    """A42-RING-13."""'),
    ],
)
def test_what_names_a_clause_touches_its_mutants(path: str, text: str) -> None:
    change = touched([Change(path, now=text)])
    assert change == ChangedParts(clauses=names("A42-RING-13"), certain=names("A42-RING-13"))


def test_a_scenario_runs_against_all_with_the_mutants_of_its_clauses() -> None:
    path = "conformance/scenarios/ads/nack.py"
    change = touched([Change(path, now=SCENARIO_TEXT)])
    assert change.scenarios == names("A42-RING-13", "A37-TREE-01") == change.clauses
    whole, rest = ("node", "java"), [name for name in rotation.SLOW if name not in {"node", "java"}]
    turn = rotation.Turn(clients=whole, areas=("ring_hash",), undeclared=rotation.UNDECLARED)
    today = rotation.today([turn], change, BROKEN, ring_keys=False)
    clients, part, areas, mutants, _ = today.lines()
    assert clients.split() == [*rotation.EVERY_DAY, *whole]
    assert part.split() == [*rest, "--clause=A37-TREE-01", "--clause=A42-RING-13"]
    assert (areas, mutants) == ("--area=ring_hash", "--clause=A37-TREE-01")
    others = [area for area in rotation.AREAS if area != "ring_hash"]
    assert today.left_out().split(", ") == [
        *(f"{client} (but for A37-TREE-01 A42-RING-13)" for client in rest),
        f"mutants of {' '.join(others)} (but for those of A37-TREE-01)",
    ]


def test_an_adapter_touches_its_client() -> None:
    adapters = "client_under_test/adapters"
    change = touched([Change(f"{adapters}/node/expected.toml", now="[[expected]]")])
    today = rotation.today([rotation.Turn(clients=("java",))], change, BROKEN, ring_keys=False)
    assert sorted(today.clients) == ["java", "node"]
    assert today.others == tuple(name for name in rotation.SLOW if name not in {"java", "node"})
    assert touched([Change(f"{adapters}/node/README.md", now="text")]) == (ChangedParts())


def test_a_client_of_every_day_is_not_run_twice() -> None:
    change = touched([Change("client_under_test/adapters/go/main.go", now="package")])
    today = rotation.today([rotation.Turn()], change, {}, ring_keys=False)
    assert today.lines()[0].split() == [*rotation.EVERY_DAY]


def test_how_clients_name_ring_entries_runs_in_its_turn_or_for_its_change() -> None:
    turns, none = rotation.TURNS[:1], ChangedParts()
    of_turn = rotation.today(turns, none, {}, ring_keys=False)
    assert of_turn.lines()[4] == "silent-python@1.85.1"
    assert of_turn.left_out().endswith("undeclared ring keys of unknown-reference")
    assert rotation.today(turns, none, {}, ring_keys=True).undeclared == rotation.UNDECLARED
    assert len({*rotation.UNDECLARED}) == len(rotation.UNDECLARED) == 3
    assert all((ROOT / path).is_file() for path in rotation.RING_KEYS)


@pytest.mark.parametrize(
    "path",
    [
        "conformance/judging/verdicts.py",
        "conformance/spec/oracles/ring/search.py",
        "conformance/scenarios/pytest.ini",
        "fake_control_plane/plane.py",
        "tests/conformance/scenarios/test_ring.py",
        "docs/compliance.md",
        "README.md",
    ],
)
def test_what_adds_nothing_to_a_turn(path: str) -> None:
    assert touched([Change(path, now=SCENARIO_TEXT)]) == ChangedParts()


def test_all_turns_leave_nothing_out() -> None:
    broken = {area: names(f"{area.upper()}-TREE-01") for area in rotation.AREAS}
    change = ChangedParts(clauses=names("A37-TREE-01"), scenarios=names("A37-TREE-01"))
    today = rotation.today(rotation.TURNS, change, broken, ring_keys=False)
    assert today.clients == rotation.SLOW
    assert sorted(today.areas) == sorted(rotation.AREAS)
    assert (today.lines()[1], today.lines()[3]) == ("", "")
    assert today.left_out() == "nothing"


# Slow tests.


def test_the_turns_share_the_files_of_slow_tests() -> None:
    files = rotation.files_with_slow_tests()
    shares = [
        rotation.slow_tests(files, {number}, ()) for number in range(1, len(rotation.TURNS) + 1)
    ]
    assert sorted(file for share in shares for file in share) == sorted(files)
    assert max(map(len, shares)) - min(map(len, shares)) <= 1
    assert rotation.WATCHED.keys() <= {*files}


def test_slow_tests_run_for_a_change_of_what_they_watch() -> None:
    files = rotation.files_with_slow_tests()
    own, both = "tests/ci/test_action.py", ["tests/ci/test_action.py", "tests/ci/test_examples.py"]
    assert rotation.slow_tests(files, set(), [own]) == [own]
    assert rotation.slow_tests(files, set(), ["ci/action/run"]) == both
    assert rotation.slow_tests(files, set(), ["conformance/world/world.py"]) == []
    for paths in rotation.WATCHED.values():
        assert all((ROOT / path).exists() for path in paths), paths


def test_a_rename_is_told_from_other_changes() -> None:
    moved = Change(NEW, now=scenarios(1, 2, name="place"))
    changed = Change("tests/test_it.py", before="A = 1", now="A = 2")
    page = Change("docs/page.md", before="a", now="b")
    gone = Change(OLD, before=scenarios(1, 2))
    assert beyond_renames([gone, moved, changed, page]) == [changed, page]


# A change of many clauses.


def scenarios(*numbers: int, name: str = "world", limit: int = 1) -> str:
    return "\n".join(
        f'@decides("A42-RING-{number}")\nasync def test_{number}({name}):\n'
        f"    await {name}.call({limit})\n"
        for number in numbers
    )


MANY = range(100, 400)
OLD, NEW = "conformance/scenarios/a42/ring.py", "conformance/scenarios/ring_hash/ring.py"


def test_a_statement_that_moves_to_another_file_is_not_touched() -> None:
    text = scenarios(*MANY)
    changes = [Change(OLD, before=text), Change(NEW, now=f"import this\n{text}")]
    assert touched(changes) == ChangedParts()


def test_names_alone_count_as_a_change_of_few_clauses() -> None:
    changes = [Change(OLD, before="A = min(1)  # A42-RING-01", now="A = max(1) # A42-RING-01")]
    change = touched(changes)
    assert (change.clauses, change.certain) == (names("A42-RING-01"), names())
    assert change.sample("today") == change


def test_of_a_rename_a_sample_runs_after_what_else_changed() -> None:
    renamed = scenarios(*MANY[:-1], name="place") + scenarios(MANY[-1], name="place", limit=2)
    changes = [Change(OLD, before=scenarios(*MANY)), Change(NEW, now=renamed)]
    change = touched(changes)
    assert len(change.clauses) == len(MANY)
    assert change.certain == names(f"A42-RING-{MANY[-1]}")
    today, tomorrow = change.sample("today"), change.sample("tomorrow")
    assert today == change.sample("today")
    assert today != tomorrow
    for sample in (today, tomorrow):
        assert len(sample.clauses) == MOST
        assert change.certain < sample.clauses < change.clauses
        assert sample.scenarios == sample.clauses


def test_where_more_than_names_changed_everywhere_a_sample_runs_too() -> None:
    changes = [Change(OLD, before=scenarios(*MANY), now=scenarios(*MANY, limit=2))]
    change = touched(changes)
    assert len(change.certain) == len(MANY)
    assert len(change.sample("today").clauses) == MOST


def test_a_rule_touches_the_clauses_of_its_mutants() -> None:
    text = "def choose_a56():\n    return 1\n"
    change = Change("client_under_test/reference/rules.py", before=text, now=text.replace("1", "2"))
    mutant = 'last = Mutant(clause="A42-RING-01", broken="-", rules={"choose": max})'
    assert touched([change], [mutant]).clauses == names("A42-RING-01")
    assert not touched([change]).clauses


def test_a_helper_touches_the_clauses_that_use_it() -> None:
    text = (
        "LIMIT = 1\n\ndef helper():\n    return LIMIT\n\n"
        '@decides("A42-RING-01")\ndef test_it():\n    helper()\n\n'
        '@decides("A42-RING-02")\ndef test_other(): ...\n'
    )
    change = touched([Change(OLD, before=text, now=text.replace("= 1", "= 2"))])
    assert change.clauses == change.certain == names("A42-RING-01")
