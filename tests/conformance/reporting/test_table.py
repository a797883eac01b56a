"""The table of clients and clauses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from conformance.cli.commands import main
from conformance.judging.verdicts import Decision, Reason, Verdict
from conformance.reporting import report
from conformance.reporting.baseline import Entry
from conformance.reporting.markdown import escaped
from conformance.reporting.report import BadReport, NotRun, Report, Run, read
from conformance.reporting.table import table
from conformance.spec.catalogue import load

from .sample_reports import decision
from .sample_reports import report as made
from .sample_reports import run as made_run

DEVIATES = (Verdict.FAIL, Reason.DEVIATES)
ENTRY = Entry(
    clause="A42-RING-05",
    reason=Reason.DEVIATES,
    scenarios=("ring.some[0]",),
    seen="Eight endpoints and a minimum of 100: | one entry each.",
    explanation="min_ring_size is not read",
    issue="https://example.com/1",
)
ALSO = [
    msgspec.structs.replace(ENTRY, clause=clause, scenarios=(shown_by,), like=ENTRY.clause)
    for clause, shown_by in (("A42-RING-06", "ring.some[1]"), ("A42-RING-07", "ring.some[2]"))
]


def run(name: str, *decisions: Decision, **more: Any) -> Run:
    return made_run(*decisions, name=name, wall_seconds=1, **more)


FIRST = made(
    run(
        "one",
        decision("A42-RING-05", *DEVIATES),
        decision("A42-RING-06", *DEVIATES),
        decision("A42-RING-07", *DEVIATES),
        decision("A42-RING-08", *DEVIATES, saw="a ring of\n17 entries"),
        decision("A42-RING-03", Verdict.SEEN, choices=("ip:port_i",)),
        decision("A42-RING-09", Verdict.SKIP, Reason.CAPABILITY, saw="it cannot do this"),
        entries=[ENTRY, *ALSO],
    ),
    not_run=(
        NotRun(
            client="three", verdict=Verdict.SKIP, reason=Reason.ENVIRONMENT, words="no tool\nmore"
        ),
    ),
)
SECOND = made(
    run(
        "two",
        decision("A42-RING-05", Verdict.PASS),
        decision("A76-KEY-01", Verdict.SKIP, Reason.EDITION, saw="calls"),
        variant="odd",
    )
)
TEXT = table([FIRST, SECOND], load())
TITLES = {clause.id: escaped(clause.title) for clause in load()}


@pytest.mark.parametrize(
    "line",
    [
        "| one 1.2.3 | A42, A61 | 4 | 0 | 0 | 1 | 1 | 2026-11-21 by 0.1.0 (0123456789ab) |",
        "- three: skip (environment): no tool",
        "| clause |  |  | one 1.2.3 | two 1.2.3 +odd |",
        f"| A42-RING-05 | {TITLES['A42-RING-05']} | MUST | **fail** (deviates) | pass (A42) |",
        f"| A42-RING-03 | {TITLES['A42-RING-03']} | UNSPECIFIED | seen: ip:port_i | - |",
        f"| A42-RING-09 | {TITLES['A42-RING-09']} | MUST | skip (capability) | - |",
        f"**A42-RING-05**, {TITLES['A42-RING-05']} [MUST]: fail (deviates)",
        "- seen: Eight endpoints and a minimum of 100: \\| one entry each.",
        "- why: min_ring_size is not read",
        "- again: `xdspec run one@1.2.3 --scenario 'ring.some[0]'`",
        "- known: <https://example.com/1>",
        "- by the same cause: A42-RING-06, A42-RING-07",
        "- seen: a ring of 17 entries",
        "- again: `xdspec run one@1.2.3 --scenario 'ring.some[3]'`",
        "- skip (capability): it cannot do this: A42-RING-09",
        "- skip (edition): a clause of A76, which the client does not declare: A76-KEY-01",
    ],
)
def test_lines(line: str) -> None:
    assert line in TEXT.splitlines()


def test_one_cause_is_told_once() -> None:
    deviations = TEXT.split("## Deviations")[1].split("\n## ")[0]
    assert deviations.count("min_ring_size is not read") == 1
    assert re.findall(r"^\*\*(.*?)\*\*", deviations, re.MULTILINE) == ["A42-RING-05", "A42-RING-08"]


def test_every_table_is_whole() -> None:
    """No words of a client or a catalogue break a row."""
    width = 0
    for line in TEXT.splitlines():
        cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        assert not width or cells in {0, width}, line
        width = cells


def test_the_same_reports_give_the_same_text(tmp_path: Path) -> None:
    paths = [tmp_path / "1.json", tmp_path / "2.json"]
    for path, written in zip(paths, (FIRST, SECOND), strict=True):
        report.write_json(written, path)
    ended = CliRunner().invoke(main, ["table", *map(str, paths)])
    assert (ended.exit_code, ended.stdout) == (0, TEXT)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "cannot be read: No such file"),
        (b"{}", "not a report of this suite"),
        (b"not JSON", "not a report of this suite"),
        (made(run("one", complete=False)), "has a run of one 1.2.3 that did not finish"),
    ],
)
def test_reports_that_make_no_table(tmp_path: Path, content: Any, says: str) -> None:
    path = tmp_path / "r.json"
    if isinstance(content, Report):
        report.write_json(content, path)
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(BadReport, match=says):
        read(path)
    ended = CliRunner().invoke(main, ["table", str(path)])
    assert (ended.exit_code, "Traceback" in ended.output) == (4, False)
