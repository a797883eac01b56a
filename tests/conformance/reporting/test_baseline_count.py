"""What comes in some runs only, counted over reports."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from client_under_test.manifests.clients import BUILT_IN
from conformance.cli.commands import main
from conformance.judging.evidence import JudgedClient
from conformance.judging.verdicts import Decision, Reason, Verdict
from conformance.reporting import baseline, report
from conformance.reporting.baseline import Entry
from conformance.reporting.baseline_count import Judgement, counted, said
from conformance.reporting.rates import Rate
from conformance.reporting.report import ClientId, Run, build_run
from conformance.spec.catalogue import load

from .sample_reports import records
from .sample_reports import report as made

CLAUSE = "A42-RING-05"
PASS = Decision(clause=CLAUSE, verdict=Verdict.PASS, edition="A42")
FAIL = Decision(clause=CLAUSE, verdict=Verdict.FAIL, reason=Reason.CRASHED, saw="died of it")
ERROR = Decision(clause=CLAUSE, verdict=Verdict.ERROR, reason=Reason.TIMING)
RACE = Entry(
    clause=CLAUSE,
    reason=Reason.CRASHED,
    scenarios=("ring.some[0]", "ring.some[1]"),
    seen="A race.",
    explanation="it is lost in some runs",
    shows="died",
    sometimes="once in 30 runs",
    versions=">=1.2",
)


def run(*decisions: Decision, version: str = "1.2.3") -> Run:
    judged = JudgedClient(name="one", version=version, variant=None, follows=("A42",))
    client = ClientId("one", version, None)
    told = records(judged, decisions)
    return build_run(told, load(), client=client, follows=judged.follows, wall_seconds=1)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("once in 30 runs", Rate(1, 30)),
        ("twice in 1,000 runs", Rate(2, 1000)),
        ("in 7 of 8 runs of 1.70.0", Rate(7, 8)),
        ("in four of fourteen runs, all beside other load", None),
        ("in four of twelve runs, all beside other load", Rate(4, 12)),
        ("in one of two whole runs, where others ran beside it", Rate(1, 2)),
        ("once in a dozen runs of 1.85.1 in one day", Rate(1, 12)),
        ("3 times in 40 runs", Rate(3, 40)),
        # What is said the other way round, or without a number, is not taken for one.
        ("but for once in 6,561 runs, by the order of a map", None),
        ("in most runs: a race of the connection", None),
        ("in 9 of 8 runs", None),
        (f"once in {'9' * 5000} runs", None),
        ("often", None),
    ],
)
def test_how_often_it_is_said_to_be(words: str, expected: Rate | None) -> None:
    assert said(words) == expected


@pytest.mark.parametrize(
    ("sometimes", "failed", "runs", "judgement"),
    [
        ("once in 30 runs", 1, 10, Judgement.FITS),
        ("once in 30 runs", 0, 40, Judgement.FITS),
        ("once in 30 runs", 5, 10, Judgement.MORE),
        ("once in 2 runs", 9, 10, Judgement.FITS),  # two runs say little
        ("in 20 of 30 runs", 1, 20, Judgement.LESS),
        ("now and then", 5, 10, Judgement.UNCOUNTED),
        ("once in 30 runs", 0, 0, Judgement.UNSEEN),
    ],
)
def test_judgement(sometimes: str, failed: int, runs: int, judgement: Judgement) -> None:
    entry = msgspec.structs.replace(RACE, sometimes=sometimes)
    there = [run(FAIL)] * failed + [run(PASS)] * (runs - failed)
    (found,) = counted([entry], there)
    assert found.seen == Rate(failed, runs)
    assert found.judgement is judgement


def test_a_run_counts_once_and_only_if_it_judged_the_clause() -> None:
    there = [
        run(FAIL, FAIL),
        run(PASS, FAIL),
        run(ERROR),
        run(FAIL, version="1.1"),
        run(msgspec.structs.replace(FAIL, saw="another end")),
    ]
    (found,) = counted([RACE], there)
    assert found.seen == Rate(2, 3)


def test_what_is_seen_in_every_run_is_not_counted() -> None:
    assert not [*counted([msgspec.structs.replace(RACE, sometimes="")], [run(PASS)])]


def test_of_what_is_shipped_most_can_be_counted() -> None:
    shipped = [
        entry
        for file in sorted(BUILT_IN.glob(f"*/{baseline.FILE}"))
        for entry in baseline.read(file, load())
        if entry.sometimes
    ]
    assert sum(said(entry.sometimes) is not None for entry in shipped) > len(shipped) / 2


@pytest.mark.parametrize(
    ("letters", "code", "says"),
    [
        ("ppf", 0, "A42-RING-05 in ring.some[0], ring.some[1]: fails in 1 of 3 runs, as often as"),
        ("ffffff", 1, "fails in 6 of 6 runs, more often than said; said: once in 30 runs"),
    ],
)
def test_the_command(tmp_path: Path, letters: str, code: int, says: str) -> None:
    entry = msgspec.structs.asdict(RACE)
    lines = [
        f"{key} = '{entry[key]}'" for key in ("clause", "seen", "explanation", "shows", "sometimes")
    ]
    lines += ["reason = 'crashed'", f"scenario = {[*RACE.scenarios]}"]
    (tmp_path / "expected.toml").write_text("[[expected]]\n" + "\n".join(lines))
    report.write_json(
        made(*(run(FAIL if letter == "f" else PASS) for letter in letters)), tmp_path / "r.json"
    )
    words = ["baseline", "count", str(tmp_path / "expected.toml"), str(tmp_path / "r.json")]
    ended = CliRunner().invoke(main, words)
    assert says in ended.output
    assert ended.exit_code == code


def test_a_baseline_without_such_entries(tmp_path: Path) -> None:
    (tmp_path / "expected.toml").touch()
    report.write_json(made(run(PASS)), tmp_path / "r.json")
    words = ["baseline", "count", str(tmp_path / "expected.toml"), str(tmp_path / "r.json")]
    ended = CliRunner().invoke(main, words)
    assert ended.output == f"{tmp_path}/expected.toml has no entry with `sometimes`\n"
    assert ended.exit_code == 0
    ended = CliRunner().invoke(main, [*words[:2], str(tmp_path / "none.toml"), words[-1]])
    assert "none.toml cannot be read: there is no such file" in ended.output
    assert ended.exit_code == 4
