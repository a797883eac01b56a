"""What `xdspec diff` says of two reports, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from conformance.cli.commands import main
from conformance.judging.evidence import JudgedClient
from conformance.judging.verdicts import UNSEEN, Decision, Reason, Verdict
from conformance.reporting import report
from conformance.reporting.build_run import build_run
from conformance.reporting.clause_summary import Kind
from conformance.reporting.diff import diff, lines, markdown
from conformance.reporting.provenance import provenance
from conformance.reporting.report import ClientId, Report, Run
from conformance.spec.catalogue import load

from .sample_reports import records

FOLLOWS = ("A42", "A61")
CLAUSE, OTHER, FREE = "A42-RING-05", "A42-RING-06", "A42-RING-14"

PASS = Decision(clause=CLAUSE, verdict=Verdict.PASS, edition="A42")
FAIL = Decision(clause=CLAUSE, verdict=Verdict.FAIL, reason=Reason.DEVIATES, edition="A42")
ERROR = Decision(clause=CLAUSE, verdict=Verdict.ERROR, reason=Reason.TIMING)
SKIP = Decision(clause=CLAUSE, verdict=Verdict.SKIP, reason=Reason.CAPABILITY)
KNOWN = msgspec.structs.replace(FAIL, expected=True)


def run(*decisions: Decision, name: str = "one", version: str = "1.2.3") -> Run:
    """A run in which each decision is of a scenario of its own."""
    judged = JudgedClient(name=name, version=version, variant=None, follows=FOLLOWS)
    made = build_run(
        records(judged, decisions),
        load(),
        client=ClientId(name, version, None),
        follows=FOLLOWS,
        wall_seconds=1,
    )
    expected = {decision.clause for decision in decisions if decision.expected}
    # A baseline marks what it expects; here the decision says so itself.
    clauses = {
        clause: msgspec.structs.replace(result, expected=clause in expected)
        for clause, result in made.clauses.items()
    }
    return msgspec.structs.replace(made, clauses=clauses)


def made(*runs: Run) -> Report:
    return Report(provenance=provenance(load(), seed=1), runs=runs)


def seen(*choices: str) -> Decision:
    return Decision(clause=FREE, verdict=Verdict.SEEN, choices=choices)


@pytest.mark.parametrize(
    ("old", "new", "kind", "is_worse"),
    [
        (PASS, FAIL, Kind.BROKEN, True),
        (PASS, ERROR, Kind.BROKEN, True),
        (SKIP, FAIL, Kind.BROKEN, True),
        (PASS, SKIP, Kind.GONE, True),
        (FAIL, SKIP, Kind.GONE, True),
        (PASS, None, Kind.GONE, True),
        (FAIL, PASS, Kind.FIXED, False),
        (ERROR, PASS, Kind.FIXED, False),
        (SKIP, PASS, Kind.NEW, False),
        (None, PASS, Kind.NEW, False),
        (None, SKIP, Kind.NEW, False),
        (None, FAIL, Kind.NEW, True),
        (None, KNOWN, Kind.NEW, False),
        (FAIL, ERROR, Kind.CHANGED, False),
        (FAIL, KNOWN, Kind.CHANGED, False),
        (FAIL, msgspec.structs.replace(FAIL, reason=Reason.LIED), Kind.CHANGED, False),
        (PASS, msgspec.structs.replace(PASS, edition="A61"), Kind.CHANGED, False),
    ],
)
def test_a_clause(
    old: Decision | None,
    new: Decision | None,
    kind: Kind,
    is_worse: bool,  # noqa: FBT001
) -> None:
    found = diff(made(run(*[old] if old else [])), made(run(*[new] if new else [])))
    ((difference,),) = (client.clauses for client in found.clients)
    assert (difference.clause, difference.kind) == (CLAUSE, kind)
    assert (found.is_worse, found.is_empty) == (is_worse, False)


@pytest.mark.parametrize(
    ("old", "new", "differs"),
    [
        (seen("the first entry"), seen("the last entry"), True),
        (seen("a", "b"), seen("b", "a"), False),
        (seen(f"{UNSEEN}: 127.0.0.1:1 is silent"), seen(f"{UNSEEN}: 127.0.0.1:2 is silent"), False),
        (seen("fits A42"), seen("the behavior is that of A42"), False),
        (
            seen("A42 is superseded; fits none of the wordings"),
            seen("judged by A42 (superseded); the behavior is that of no wording"),
            False,
        ),
        (seen("fits A42, A61"), seen("the behavior is that of A42"), True),
        (PASS, msgspec.structs.replace(PASS, saw="other words"), False),
        (FAIL, msgspec.structs.replace(FAIL, saw="127.0.0.1:7 has 3", seconds=2.0), False),
    ],
)
def test_only_what_does_not_vary_from_run_to_run(
    old: Decision,
    new: Decision,
    differs: bool,  # noqa: FBT001
) -> None:
    assert diff(made(run(old)), made(run(new))).is_empty is not differs


def test_the_edition_that_a_client_was_seen_to_follow() -> None:
    def follows(*editions: str) -> Report:
        another = Decision(
            clause="A42-PRO-11",
            verdict=Verdict.FAIL,
            reason=Reason.EDITION,
            edition="A61",
            editions_consistent=editions,
        )
        return made(run(another))

    ((difference,),) = (c.clauses for c in diff(follows("A42"), follows("A61-2023")).clients)
    assert "behavior of A42" in str(difference.old)
    assert diff(follows("A42"), follows("A42")).is_empty


def test_a_scenario_behind_a_clause_that_says_the_same() -> None:
    found = diff(made(run(FAIL, PASS)), made(run(FAIL, FAIL)))
    ((difference,),) = (client.clauses for client in found.clients)
    assert (difference.kind, [*difference.scenarios]) == (Kind.BROKEN, ["ring.some[1]"])
    assert found.is_worse
    assert str(difference) == "fail (deviates) by A42, but scenarios differ"


def test_clients_are_paired() -> None:
    old = made(run(PASS, version="1"), run(PASS, name="two", version="1"), run(name="three"))
    new = made(run(PASS, name="two", version="1"), run(FAIL, version="2"), run(name="four"))
    names = [client.name for client in diff(old, new).clients]
    assert names == ["one 1 → one 2", "two 1", "three 1.2.3", "four 1.2.3"]


def test_versions_side_by_side_are_not_guessed_at() -> None:
    old = made(run(PASS, version="1"), run(PASS, version="2"))
    found = diff(old, made(run(PASS, version="2"), run(PASS, version="3")))
    assert [client.name for client in found.clients] == ["one 1", "one 2", "one 3"]
    assert found.is_worse


def test_the_lines() -> None:
    old = made(run(PASS, seen("a")), run(name="two"))
    new = made(run(FAIL, seen("b")), run(name="two"))
    assert [*lines(diff(old, new))] == [
        "one 1.2.3: 1 broken, 1 changed; 2 clauses",
        "  broken   A42-RING-05    pass by A42 → fail (deviates) by A42",
        "           ring.some[0]: pass → fail (deviates) by A42",
        "  changed  A42-RING-14    seen: a → seen: b",
        "           ring.some[1]: seen: a → seen: b",
        "two 1.2.3: nothing differs in 0 clauses",
    ]


@pytest.mark.parametrize(
    ("new", "arguments", "code"),
    [
        (PASS, (), 0),
        (PASS, ("--exact",), 0),
        (FAIL, (), 1),
        (msgspec.structs.replace(PASS, edition="A61"), (), 0),
        (msgspec.structs.replace(PASS, edition="A61"), ("--exact",), 1),
    ],
)
def test_how_it_ends(tmp_path: Path, new: Decision, arguments: tuple[str, ...], code: int) -> None:
    paths = [tmp_path / name for name in ("old.json", "new.json", "diff.json")]
    for path, result in zip(paths, (PASS, new), strict=False):
        report.write_json(made(run(result)), path)
    old, there, out = map(str, paths)
    ended = CliRunner().invoke(main, ["diff", old, there, "--json", out, *arguments])
    assert ended.exit_code == code
    assert json.loads(paths[2].read_text())["clients"][0]["old"]["name"] == "one"


def test_what_is_no_report(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text("{}")
    ended = CliRunner().invoke(main, ["diff", str(path), str(path)])
    assert (ended.exit_code, ended.output.count("\n")) == (4, 1)


def test_as_markdown() -> None:
    told = [*markdown(diff(made(run(PASS, seen("a|b"))), made(run(FAIL, seen("<a>_[1]")))))]
    assert told[0] == "### xdspec: is worse"
    assert told[2] == "one 1.2.3: **1 broken**, **1 changed**; 2 clauses"
    table = [line for line in told if line.startswith("| ")]
    assert [line.split(" | ")[:2] for line in table[1:]] == [
        ["| broken", CLAUSE],
        ["| changed", FREE],
    ]
    assert r"a\|b" in table[2]
    assert r"\<a>\_\[1]" in table[2]
    assert table[1].endswith("| `ring.some[0]` |")
    assert "<details>" not in "\n".join(told)


def test_a_long_table_is_folded() -> None:
    clauses = [clause.id for clause in load() if clause.document == "A42"][:30]
    passed, failed = (
        run(*(msgspec.structs.replace(result, clause=clause) for clause in clauses))
        for result in (PASS, FAIL)
    )
    told = [*markdown(diff(made(failed), made(passed)))]
    assert told[0] == "### xdspec: is no worse"
    assert [told.index("<details><summary>30 clauses</summary>"), told[-1]] == [4, "</details>"]


def test_markdown_of_what_is_the_same_or_in_one_report_only() -> None:
    same, other = made(run(PASS)), made(run(PASS, name="other_one"))
    assert [*markdown(diff(same, same))] == [
        "### xdspec: nothing differs",
        "",
        "- one 1.2.3: nothing differs in 1 clauses",
    ]
    assert [*markdown(diff(same, other))][2::2] == [
        "- one 1.2.3: in the old report only",
        "- other_one 1.2.3: in the new report only",
    ]
