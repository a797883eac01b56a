"""The report of a client that fails much begins with the few causes of it."""

from __future__ import annotations

from io import StringIO

import msgspec
import pytest
from rich.console import Console

from conformance.judging import causes
from conformance.judging.aborts import CauseIsKnown, ResourceRejected
from conformance.judging.evidence import JudgedClient, Record, decisions_of
from conformance.judging.verdicts import Cause
from conformance.reporting import console
from conformance.reporting.build_run import build_run
from conformance.reporting.cause_texts import FEWEST, SHOWN, cause_lines, common_causes
from conformance.reporting.report import ClientId, Exit, Run
from conformance.spec.catalogue import load
from conformance.xds_config.references import NO_CHILDREN, NO_LOAD_STREAM

CATALOGUE = load()
NACK = Cause(resource="cluster", words="…: unsupported policy: 2")
FIRST, SECOND, THIRD = "A42-CDS-01", "A42-RING-12", "A42-HASH-01"


def record(name: str, clause: str, error: BaseException | None, *ignores: Cause) -> Record:
    made = Record(
        scenario=name,
        clauses=(clause,),
        client=JudgedClient(name="some", version="1", variant=None, follows=("A42",)),
        seed=1,
        seconds=1.0,
        trouble=causes.of(error) if error else None,
        ignores=ignores,
    )
    return msgspec.structs.replace(made, decisions=decisions_of(made, CATALOGUE))


def rejected(name: str, clause: str) -> Record:
    return record(name, clause, ResourceRejected("it refused", NACK))


def early(name: str, cause: Cause = NO_CHILDREN) -> Record:
    return record(name, "A37-TREE-01", CauseIsKnown("it ignores", cause))


def run(*records: Record) -> Run:
    client = ClientId("some", "1", None)
    return build_run(records, CATALOGUE, client=client, follows=("A42",), wall_seconds=1)


MUCH = run(
    *(rejected(f"r{number}", (FIRST, SECOND, THIRD)[number % 3]) for number in range(6)),
    *(early(f"e{number}") for number in range(7)),
    record("w", "A37-TREE-02", None, NO_CHILDREN),
    *(early(f"l{number}", NO_LOAD_STREAM) for number in range(2)),
    early("once", Cause(resource="route", words="the client does another thing")),
)


def test_it_begins_with_the_causes_and_what_they_keep_from_a_verdict() -> None:
    assert [*cause_lines(MUCH, CATALOGUE)] == [
        "3 causes ended 16 of 17 scenarios:",
        f"  1. {NO_CHILDREN.words}",
        "     8 scenarios, of which 7 did not wait to their ends, as the cause was known",
        "     no clause that the client declares depends on it",
        "  2. the client rejects a cluster resource: unsupported policy: 2",
        "     6 scenarios",
        "     A42-CDS-01 fails. Without this cause, 2 clauses would have a verdict: 2 of A42",
        f"  3. {NO_LOAD_STREAM.words}",
        "     2 scenarios, of which 2 did not wait to their ends, as the cause was known",
        "     no clause that the client declares depends on it",
    ]


def test_the_console_shows_it_before_every_failure() -> None:
    written = StringIO()
    screen = Console(file=written, width=200)
    console.show(
        screen, MUCH, CATALOGUE, (Exit.DEVIATES,), repeat="xdspec run some", issues="", brief=False
    )
    text = written.getvalue()
    assert 0 < text.index("3 causes ended 16 of 17 scenarios") < text.index("FAIL (deviates)")


@pytest.mark.parametrize("count", [FEWEST - 1, FEWEST])
def test_a_few_scenarios_are_no_reason_to_begin_so(count: int) -> None:
    made = run(*(early(f"e{number}") for number in range(count)))
    assert bool([*cause_lines(made, CATALOGUE)]) == (count == FEWEST)


def test_of_many_causes_the_largest_are_named() -> None:
    each = (
        early(f"{kind}-{number}", Cause(resource="route", words=f"the client does {kind}"))
        for kind in range(SHOWN + 2)
        for number in range(2 + kind)
    )
    lines = [*cause_lines(run(*each), CATALOGUE)]
    assert lines[1] == "  1. the client does 4"
    assert lines[-1] == "  2 more causes ended 5 scenarios"
    assert len(common_causes(MUCH)) == SHOWN
