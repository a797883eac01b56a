"""The report of a run on the console: what needs attention, what was not judged, a summary."""

from __future__ import annotations

from io import StringIO
from typing import Any

import msgspec
import pytest
from rich.console import Console

from conformance.judging.evidence import Record
from conformance.judging.verdicts import Reason, Verdict
from conformance.reporting import console
from conformance.reporting.live import SHOWN, Live
from conformance.reporting.report import Run, said_of

from . import sample_runs as made

PASSING, SECOND = "A42-RING-07", "A27-DROP-01"


def shown(run: Run, **more: Any) -> list[str]:
    said = StringIO()
    options = {"repeat": "xdspec run some", "issues": "", "brief": False, **more}
    console.show(Console(file=said, width=200), run, made.CATALOGUE, said_of(run), **options)
    return said.getvalue().splitlines()


WHOLE = made.run(
    made.of(PASSING, made.PASSED),
    made.of(SECOND, made.PASSED),
    made.of(made.FREE, (Verdict.SEEN, None)),
    made.of(made.MUST, made.FAILED),
    made.of("A42-RING-06", made.FAILED),
    made.of("A42-PICK-25", made.SKIPPED),
    made.of("A42-PICK-24", made.SKIPPED),
    entries=[made.KNOWN],
)


def test_only_what_needs_attention_is_listed() -> None:
    said = shown(WHOLE)
    assert [line for line in said if PASSING in line or made.FREE in line] == []
    assert [line for line in said if made.MUST in line] == [
        f"  fail known: {made.MUST} (-v explains it)"
    ]
    failed = next(number for number, line in enumerate(said) if line.startswith("FAIL"))
    table = next(number for number, line in enumerate(said) if "document" in line)
    assert failed < said.index(f"  fail known: {made.MUST} (-v explains it)") < table
    assert said[-1].startswith(
        f"{made.CLIENT}: 7 clauses: 2 pass, 2 fail (2 MUST; 1 known), "
        "1 seen (the text leaves a choice), 2 skip; "
    )


def test_a_verbose_report_lists_every_clause() -> None:
    said = shown(WHOLE, verbose=True)
    for clause in WHOLE.clauses:
        assert any(line.startswith(f"  {clause} ") for line in said)
    assert any(made.MUST in line and "fail (deviates) known" in line for line in said)


def test_clauses_that_were_skipped_for_one_reason_are_one_line() -> None:
    assert [line.rstrip() for line in shown(WHOLE) if "skip (capability)" in line] == [
        "  skip (capability)  2 clauses:"
    ]


def test_the_summary_has_a_row_for_each_document() -> None:
    said = shown(WHOLE)
    head = next(line for line in said if line.strip().startswith("document"))
    assert head.split() == ["document", "pass", "new", "known", "seen", "skip"]
    rows = {line.split()[0]: line.split()[1:] for line in said[said.index(head) + 1 :] if line}
    assert rows["A42"] == ["1", "1", "1", "1", "2"]
    assert rows["A27"] == ["1", "-", "-", "-", "-"]


def test_one_document_has_no_table() -> None:
    assert not any("document" in line for line in shown(made.run(made.of(PASSING, made.PASSED))))


# Progress.


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def progress(records: list[Record], **more: Any) -> list[str]:
    said, clock = StringIO(), Clock()
    with Live(Console(file=said, width=200), "some", clock=clock, **more) as live:
        live.planned(len(records))
        for record in records:
            clock.now += 2
            live.finished(record)
    return said.getvalue().splitlines()


def passing(count: int) -> list[Record]:
    record = made.of(PASSING, made.PASSED)
    return [msgspec.structs.replace(record, scenario=f"ring.{number}") for number in range(count)]


def failing(count: int) -> list[Record]:
    record = made.of(made.MUST, made.FAILED)
    return [msgspec.structs.replace(record, scenario=f"bad.{number}") for number in range(count)]


def test_a_log_has_a_line_for_each_tenth() -> None:
    lines = progress(passing(200))
    assert len(lines) == 10
    assert lines[0] == "  20/200  scenarios run, about 6 min 0 s left"
    assert lines[8] == " 180/200  scenarios run, about 40 s left"
    assert lines[9] == " 200/200  scenarios run, in 6 min 40 s"


def test_a_failure_is_named_as_it_comes_and_counted() -> None:
    lines = progress([*failing(1), *passing(9)])
    assert lines[0] == "    1/10  fail (deviates)  bad.0  0.25 s"
    assert lines[1] == "    1/10  scenarios run, 1 failed, about 18 s left"


def test_scenarios_that_run_again_are_counted_for_themselves() -> None:
    said = StringIO()
    shared = [msgspec.structs.replace(record, shared_process=True) for record in failing(2)]
    with Live(Console(file=said, width=200), "some", clock=Clock()) as live:
        live.planned(20)
        for record in (*shared, *passing(18)):
            live.finished(record)
        live.planned(22)
        for record in (*failing(1), *passing(1)):
            live.finished(record)
    lines = said.getvalue().splitlines()
    assert lines == [
        "   20/20  scenarios run, in 0.0 s",  # two failed in a shared process
        "     1/2  fail (deviates)  bad.0  0.25 s",
        "     2/2  scenarios run again, 1 failed, in 0.0 s",
    ]


def test_a_failure_that_runs_again_is_counted_once() -> None:
    said = StringIO()
    with Live(Console(file=said, width=200), "some", clock=Clock()) as live:
        live.planned(10)
        for record in (*failing(2), *passing(8)):
            live.finished(record)
        live.planned(12)
        again = msgspec.structs.replace(passing(1)[0], scenario="bad.1")
        for record in (*failing(1), again):
            live.finished(record)
    assert said.getvalue().splitlines()[-1] == "     2/2  scenarios run again, 1 failed, in 0.0 s"


def test_of_many_failures_the_first_are_named() -> None:
    named = [line for line in progress([*failing(SHOWN + 5), *passing(100)]) if "bad." in line]
    assert len(named) == SHOWN


def test_a_known_failure_is_not_named() -> None:
    lines = progress([*failing(1), *passing(19)], known=lambda _scenario, _decision: True)
    assert not any("bad.0" in line or "failed" in line for line in lines)


@pytest.mark.parametrize("known", [True, False])
def test_a_verbose_run_names_every_scenario(*, known: bool) -> None:
    lines = progress(
        [*failing(1), *passing(2)], verbose=True, known=lambda _scenario, _decision: known
    )
    assert len(lines) == 3
    assert ("fail (deviates) known" in lines[0]) is known


def test_a_quiet_run_prints_nothing_in_a_log() -> None:
    assert progress([*failing(1), *passing(9)], quiet=True) == []


def test_a_long_quiet_run_prints_its_progress_in_a_log() -> None:
    lines = progress([*failing(1), *passing(99)], quiet=True)
    assert len(lines) == 10
    assert lines[0] == "some: 10/100 scenarios run, 1 failed, about 3 min 0 s left"


def test_a_terminal_has_one_live_line_that_goes() -> None:
    said = StringIO()
    screen = Console(file=said, width=100, force_terminal=True, color_system=None)
    with Live(screen, "some client") as live:
        live.planned(3)
        for record in (*failing(1), *passing(2)):
            live.finished(record)
            live._bar.refresh()
    text = said.getvalue()
    assert "some client" in text
    assert "3/3 scenarios 1 failed" in text
    assert "left" in text
    assert "scenarios run" not in text
    assert text.count("fail (deviates)  bad.0") == 1


def test_what_ended_early_is_skipped_for_its_reason() -> None:
    late = made.run(made.of(made.MUST, (Verdict.ERROR, Reason.TIMING)))
    assert any("no verdict, since this machine was too slow" in line for line in shown(late))
