"""The versions of a client side by side: what changed and where, from made-up runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from client_under_test.environments.identity import Identity
from conformance.cli.commands import main
from conformance.judging.evidence import JudgedClient
from conformance.judging.verdicts import Decision, Reason, Verdict
from conformance.reporting import history as histories
from conformance.reporting import report
from conformance.reporting.build_run import build_run
from conformance.reporting.clause_summary import Kind
from conformance.reporting.history import History, Version, bisected, bisected_lines, lines
from conformance.reporting.report import ClientId, Run
from conformance.spec.catalogue import load

from .sample_reports import records
from .sample_reports import report as made

FOLLOWS = ("A42", "A61")
CLAUSE, FREE = "A42-RING-05", "A42-RING-14"
LETTERS = {
    "p": Decision(clause=CLAUSE, verdict=Verdict.PASS, edition="A42"),
    "f": Decision(clause=CLAUSE, verdict=Verdict.FAIL, reason=Reason.DEVIATES, edition="A42"),
    "h": Decision(clause=CLAUSE, verdict=Verdict.FAIL, reason=Reason.HUNG, edition="A42"),
    "e": Decision(clause=CLAUSE, verdict=Verdict.ERROR, reason=Reason.TIMING),
    "s": Decision(clause=CLAUSE, verdict=Verdict.SKIP, reason=Reason.CAPABILITY),
    "1": Decision(clause=FREE, verdict=Verdict.SEEN, choices=("the first entry",)),
    "2": Decision(clause=FREE, verdict=Verdict.SEEN, choices=("the last entry",)),
}


def run(letters: str, version: str) -> Run:
    judged = JudgedClient(name="one", version=version, variant=None, follows=FOLLOWS)
    told = records(judged, [LETTERS[letter] for letter in letters])
    client = ClientId("one", version, None)
    return build_run(told, load(), client=client, follows=FOLLOWS, wall_seconds=1)


def _several(runs: str | Sequence[str]) -> Sequence[str]:
    return [runs] if isinstance(runs, str) else runs


def history(*versions: str | Sequence[str]) -> History:
    """Versions 0.0, 1.0, …: of each the letters of its run, or of several; one without was none."""
    there = [
        (
            Version(label=f"{number}.0", why="" if runs else "it could not be built"),
            [
                run(letters, f"{number}.0")
                for letters in ([runs] if isinstance(runs, str) else runs)
            ],
        )
        for number, runs in enumerate(versions)
    ]
    return histories.history("one", there, [clause.id for clause in load()])


BROKEN = "broken from 0.0 to 2.0: pass → fail (deviates)"


def changes(seen: History, clause: str = CLAUSE) -> list[str]:
    return [str(change) for change in seen.clauses[clause].changes]


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        (["p", "p"], []),
        (["p", "f"], ["broken from 0.0 to 1.0: pass → fail (deviates)"]),
        (["f", "p"], ["fixed from 0.0 to 1.0: fail (deviates) → pass"]),
        (["f", "h"], ["changed from 0.0 to 1.0: fail (deviates) → fail (hung)"]),
        (["p", "s"], ["gone from 0.0 to 1.0: pass → skip (capability)"]),
        (["s", "f"], ["broken from 0.0 to 1.0: skip (capability) → fail (deviates)"]),
        # What says nothing of the client is passed over: an error, no run, one without the clause.
        (["p", "e", "p"], []),
        (["p", "e", "f"], [BROKEN]),
        (["p", [], "f"], [BROKEN]),
        (["p", "1", "f"], [BROKEN]),
        (
            ["p", "f", "p"],
            [
                "broken from 0.0 to 1.0: pass → fail (deviates)",
                "fixed from 1.0 to 2.0: fail (deviates) → pass",
            ],
        ),
        # Of several runs of one version: what comes and goes is another thing than what stays.
        (
            ["p", ["p", "f", "p"]],
            ["broken from 0.0 to 1.0: pass → fail (deviates) in 1 of 3 runs, pass in 2 of 3 runs"],
        ),
        ([["p", "f"], ["f", "p", "p"]], []),
    ],
)
def test_what_changed(versions: list[str], expected: list[str]) -> None:
    assert changes(history(*versions)) == expected


def test_of_a_choice_what_was_chosen() -> None:
    assert changes(history("1", "1", "2"), FREE) == [
        "changed from 1.0 to 2.0: seen: the first entry → seen: the last entry"
    ]


def test_by_which_edition_and_what_a_baseline_knew_is_no_change() -> None:
    old, new = run("f", "0.0"), run("f", "1.0")
    result = msgspec.structs.replace(new.clauses[CLAUSE], edition="A42-2021", expected=True)
    new = msgspec.structs.replace(new, clauses={CLAUSE: result})
    both = [(Version(label="0"), [old]), (Version(label="1"), [new])]
    assert not histories.history("one", both, ()).changed


def test_lines() -> None:
    table = """\
one: 3 versions, 2 clauses, 2 changed
  2.0: it could not be built

               0.0   1.0   2.0  3.0
  A42-RING-05  pass  pass  -    fail 1/2  broken from 1.0 to 3.0: \
pass → fail (deviates) in 1 of 2 runs, pass in 1 of 2 runs
  A42-RING-14  seen  seen  -    seen      changed from 1.0 to 3.0: \
seen: the first entry → seen: the last entry"""
    assert "\n".join(lines(history("p1", "p1", [], ["f2", "p2"]))) == table
    assert [*lines(history("p", "p"))] == ["one: 2 versions, 1 clause, none of them changed"]


def test_broken_clauses_come_first() -> None:
    seen = history("f1", "p2", "p1")
    assert [*seen.changed] == [CLAUSE, FREE]
    assert [*history("p1", "p2", "f2").changed] == [CLAUSE, FREE]


def test_markdown() -> None:
    assert [*histories.markdown(history("p", "f", []))] == [
        "### xdspec: one: 2 versions, 1 clause, 1 changed",
        "",
        "- 2.0: it could not be built",
        "",
        "| clause | 0.0 | 1.0 | 2.0 | changes |",
        "|---|---|---|---|---|",
        "| A42-RING-05 | pass | **fail** | - | broken from 0.0 to 1.0: pass → fail (deviates) |",
    ]


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        (
            ["p", "p", "f", "f"],
            [
                "A42-RING-05 of one: broken in 2.0: pass up to 1.0, fail (deviates) since then",
                "  0.0  pass",
                "  1.0  pass",
                "  2.0  fail (deviates)",
                "  3.0  fail (deviates)",
            ],
        ),
        # How it fails says nothing of since when it does.
        (
            ["p", "h", "f"],
            [
                "A42-RING-05 of one: broken in 1.0: pass up to 0.0, fail (hung) since then",
                "  0.0  pass",
                "  1.0  fail (hung)",
                "  2.0  fail (deviates)",
            ],
        ),
        (
            ["p", [], "f"],
            [
                f"A42-RING-05 of one: {BROKEN}; no usable result for 1.0",
                "  0.0  pass",
                "  1.0  it could not be built",
                "  2.0  fail (deviates)",
            ],
        ),
        (
            ["f", "p", "f"],
            [
                "A42-RING-05 of one: broken in 2.0: pass up to 1.0, fail (deviates) since then",
                "  before that: fixed from 0.0 to 1.0: fail (deviates) → pass",
                "  0.0  fail (deviates)",
                "  1.0  pass",
                "  2.0  fail (deviates)",
            ],
        ),
        (
            ["p", ["p", "f"], "f"],
            [
                f"A42-RING-05 of one: {BROKEN}; no usable result for 1.0",
                "  0.0  pass",
                "  1.0  fail (deviates) in 1 of 2 runs, pass in 1 of 2 runs",
                "  2.0  fail (deviates)",
            ],
        ),
        (
            ["p", "p"],
            [
                "A42-RING-05 of one: is the same in all versions that were looked at",
                "  0.0  pass",
                "  1.0  pass",
            ],
        ),
        (
            ["p", "e"],
            [
                "A42-RING-05 of one: cannot be bisected: 1.0 has no usable result",
                "  0.0  pass",
                "  1.0  error (timing)",
            ],
        ),
        (
            ["p", "1"],
            [
                "A42-RING-05 of one: cannot be bisected: 1.0 has no usable result",
                "  0.0  pass",
                "  1.0  no run of it has the clause",
            ],
        ),
    ],
)
def test_bisected(versions: list[str], expected: list[str]) -> None:
    seen = history(*versions)
    assert histories.bisection(seen, CLAUSE).next is None
    assert [*bisected_lines(bisected(seen, CLAUSE), "one")] == expected


def test_what_was_not_looked_at_is_told() -> None:
    """Of versions that have not run yet nothing is known, not even that they cannot run."""
    there = [
        (Version(label=label), [run(letters, label)] if letters else [])
        for label, letters in (("0.0", "p"), ("1.0", ""), ("2.0", ""), ("3.0", "p"))
    ]
    seen = histories.history("one", there, ())
    assert histories.bisection(seen, CLAUSE).next is None  # nothing between could be dated
    assert [*bisected_lines(bisected(seen, CLAUSE), "one")][-1] == (
        "  not run, and assumed to behave like the versions next to them: 1.0, 2.0"
    )


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Reports of one client in three versions, and of another."""
    monkeypatch.chdir(tmp_path)
    for name, letters, version in (
        ("a", "p1", "1.10.0"),
        ("b", "p1", "1.9.0"),
        ("c", "f1", "1.11.0"),
        ("d", "e1", "1.12.0"),
    ):
        report.write_json(made(run(letters, version)), Path(f"{name}.json"))
    other = run("p", "1.0")
    other = msgspec.structs.replace(other, client=ClientId("other", "1.0", "new"))
    report.write_json(made(other), Path("other.json"))
    return tmp_path


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["a.json", "b.json", "c.json"], 0, "broken from 1.10.0 to 1.11.0: pass → fail (deviates)"),
        (["a.json", "b.json"], 0, "one: 2 versions, 2 clauses, none of them changed"),
        (["a.json", "a.json"], 4, "one version of one has no history"),
        (["a.json", "other.json"], 4, "other.json has no run of one, only of other+new"),
        (["a.json", "b.json", "c.json", "--bisect", CLAUSE], 0, "one: broken in 1.11.0: pass up"),
        (["a.json", "b.json", "--bisect", CLAUSE], 1, "is the same in all versions that were loo"),
        (["a.json", "d.json", "--bisect", CLAUSE], 5, "1.12.0 has no usable result"),
        (["a.json", "c.json", "--bisect", "A42-RING-06"], 5, "no run of it has the clause"),
        (["a.json", "c.json", "--markdown"], 0, "| A42-RING-05 | pass | **fail** | broken from"),
        (["a.json", "1.13.0"], 4, "there is no client one"),
    ],
)
def test_reports_in_the_place_of_versions(
    recorded: Path, words: list[str], code: int, says: str
) -> None:
    """No client of that name need be there; versions stand in their order, as nobody named them."""
    ended = CliRunner().invoke(main, ["history", "one", *words])
    assert says in ended.output
    assert ended.exit_code == code, ended.output
    assert not (recorded / "xdspec-out").exists()


@pytest.mark.usefixtures("recorded")
def test_what_is_written_for_programs() -> None:
    ended = CliRunner().invoke(main, ["history", "one", "a.json", "c.json", "--json", "h.json"])
    assert ended.exit_code == 0
    told = json.loads(Path("h.json").read_text())
    assert [version["label"] for version in told["versions"]] == ["1.10.0", "1.11.0"]
    assert told["bisected"] is None


@pytest.mark.usefixtures("recorded")
def test_runs_of_sources_are_told_apart_by_their_commits() -> None:
    """A branch has one version for months; a released version beside it is another one."""
    old, new, tree = "a" * 40, "b" * 40, "c" * 64
    sources = Identity(source="/one", commit=old, dirty=False, tree=tree)
    for name, letters, identity in (
        ("clean", "p1", sources),
        ("again", "p1", sources),
        ("next", "f1", msgspec.structs.replace(sources, commit=new)),
        ("dirty", "f1", msgspec.structs.replace(sources, dirty=True)),
        ("wheel", "f1", Identity(source="/one.whl", tree=tree)),
        ("adapter", "f1", Identity(source="/one", commit=old, is_adapter=True)),
    ):
        there = msgspec.structs.replace(run(letters, "1.10.0"), identity=identity)
        report.write_json(made(there), Path(f"{name}.json"))
    names = ("a", "clean", "again", "next", "dirty", "wheel", "adapter")
    words = ["history", "one", *(f"{name}.json" for name in names), "--json", "h.json"]
    ended = CliRunner().invoke(main, words)
    assert ended.exit_code == 0, ended.output
    told = json.loads(Path("h.json").read_text())
    assert {version["label"]: version["runs"] for version in told["versions"]} == {
        "1.10.0": 2,
        "1.10.0 (aaaaaaaaaaaa)": 2,
        "1.10.0 (bbbbbbbbbbbb)": 1,
        "1.10.0 (aaaaaaaaaaaa with changes, sha256 cccccccccccc)": 1,
        "1.10.0 (sha256 cccccccccccc)": 1,
    }
    assert "broken from 1.10.0 (aaaaaaaaaaaa) to 1.10.0 (bbbbbbbbbbbb): pass → fail" in ended.output


def test_json(tmp_path: Path) -> None:
    seen = history("p", "f")
    found = msgspec.structs.replace(seen, bisected=bisected(seen, CLAUSE))
    histories.write_json(found, tmp_path / "h.json")
    told = json.loads((tmp_path / "h.json").read_text())
    change = told["bisected"]["change"]
    assert (change["kind"], change["before"], change["after"]) == (Kind.BROKEN, "0.0", "1.0")
    assert [version["label"] for version in told["versions"]] == ["0.0", "1.0"]
    row = told["clauses"][CLAUSE]
    assert [cell[0]["told"]["verdict"] for cell in row["versions"]] == ["pass", "fail"]
    assert row["changes"] == [change]
