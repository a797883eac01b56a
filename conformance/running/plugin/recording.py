"""The record of a scenario, from what was judged or from what ended it; its evidence folder."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from client_under_test.contract.exceptions import ClientHung, ClockWrong, ConversationFailed
from conformance.by_hand import Desk
from conformance.judging import causes, evidence
from conformance.judging.claims import (
    claims_of,
    scenario_id,
)
from conformance.judging.endings import ClientLied, ClientNeverCame, ClientUnable
from conformance.judging.evidence import Record, Trouble
from conformance.judging.verdicts import BAD, Reason, Verdict
from conformance.running.evidence_files import ALONE, folder_name, write_exception, write_files
from conformance.running.plugin.items import (
    CATALOGUE,
    RECORD,
    SETTINGS,
    STARTED_AT,
    TROUBLE,
    subject_of,
    unasked,
    untimed,
)
from conformance.running.settings import Settings
from conformance.world import World
from conformance.world.starvation import starved

PROPERTY = "xdspec"
"""The name under which a report carries the scenario's record, as JSON."""


async def finish(item: pytest.Item, made: World, settings: Settings, desk: Desk | None) -> None:
    """Decide, and leave the evidence, while everything is still there to be asked."""
    is_by_hand = desk is not None and desk.hands is not None
    error = made.process.failure or item.stash.get(TROUBLE, None)
    trouble, waited = None, 0.0
    if made.process.failure is None:
        try:
            made.preconditions.a_stream()
            if not isinstance(error, ClientHung):
                await made.preconditions.a_steady_clock()
            await made.preconditions.one_story()
        except (ClientNeverCame, ClientLied, ConversationFailed) as worse:
            error = worse
    if error is not None:
        waited = round(starved(made.process.pid), 3)
        trouble = causes.of(
            error,
            lateness=made.clock.lateness.worst,
            starved=waited,
            seconds=made.now,
            nothing_seen=not (made.bench.checks or made.calls.made or made.calls.unsettled()),
        )
        if not isinstance(error, ClientLied | ClockWrong | ClientNeverCame):
            trouble = msgspec.structs.replace(trouble, at=made.bench.at)
    if made.fleet.troubles:
        what = "; ".join(made.fleet.troubles)
        trouble = Trouble(verdict=Verdict.ERROR, reason=Reason.SUITE, what=what)
    told: dict[str, Any] = {
        "began": round(made.clock.began, 6),
        "notes": tuple(made.bench.notes),
        "served": tuple(made.control.history),
        "lateness": round(made.clock.lateness.worst, 3),
    }
    # Of a word that is known to be false nothing is made: neither for the client nor against it.
    # Nor is anything said of one that has never heard what is served.
    is_void = isinstance(error, ClientLied | ClockWrong | ClientNeverCame)
    checks = () if is_void else tuple(made.bench.checks)
    record = record_of(item, checks=checks, trouble=trouble, **told)
    if any(one.is_against for one in record.decisions) and not is_by_hand:
        waited = waited or round(starved(made.process.pid), 3)
        try:
            await made.preconditions.gates_that_work()
        except ClientUnable as unable:
            record = record_of(item, trouble=causes.of(unable), **told)
    record = msgspec.structs.replace(record, starved=waited)
    if desk is not None:
        record = desk.signed(record)
        await desk.keep_up(record)
    item.stash[RECORD] = with_evidence(
        record, settings, lambda folder: write_files(folder, made, error)
    )


def without_world(item: pytest.Item) -> Record:
    """The record of a scenario that never got its world, or lost it."""
    error = item.stash.get(TROUBLE, None)
    if isinstance(error, pytest.skip.Exception):
        trouble = Trouble(
            verdict=Verdict.SKIP, reason=Reason.CAPABILITY, what=error.msg or "skipped"
        )
    else:
        error = error or RuntimeError("the scenario left no record")
        trouble = causes.of(error)

    def leave(folder: Path) -> tuple[str, ...]:
        if error is not None:
            write_exception(folder, error)
        return ()

    return with_evidence(record_of(item, trouble=trouble), item.config.stash[SETTINGS], leave)


def record_of(item: pytest.Item, **more: Any) -> Record:
    """The record of what was seen, with its verdicts; `more` is what was seen."""
    subject = subject_of(item)
    record = Record(
        scenario=scenario_id(item),
        clauses=claims_of(item).clauses,
        untimed=untimed(item),
        unasked=unasked(item),
        client=subject.judged,
        mutant=subject.mutant,
        seed=item.config.stash[SETTINGS].seed,
        fast=item.config.stash[SETTINGS].fast,
        seconds=round(time.monotonic() - item.stash[STARTED_AT], 3),
        **more,
    )
    decisions = evidence.decisions_of(record, item.config.stash[CATALOGUE])
    return msgspec.structs.replace(record, decisions=decisions)


def with_evidence(
    record: Record, settings: Settings, leave: Callable[[Path], tuple[str, ...]]
) -> Record:
    """Leave the folder of a scenario that went wrong, or of every one; the record names it.

    What an earlier run has left of the same scenario goes in any case.

    Args:
        record: what the verdicts rest on.
        settings: the run.
        leave: writes what else the scenario has to show, and tells what the client left itself.
    """
    went_wrong = any(one.verdict in BAD for one in record.decisions)
    place = Path(settings.out) / record.mutant
    name = folder_name(record.scenario)
    folder, alone = place / name, place / f"{name}{ALONE}"
    if settings.selection.exactly:  # what this run's first try left may stand still
        folder = alone
    named = msgspec.structs.replace(record, evidence=str(folder))
    try:
        for old in {folder, alone}:
            if (old / evidence.FILE).exists():
                shutil.rmtree(old)
        if not (went_wrong or settings.keep_evidence):
            return record
        evidence.write(folder, named)
        if left := leave(folder):
            named = msgspec.structs.replace(named, left=left)
            evidence.write(folder, named)
    except OSError as error:  # what was seen is told all the same
        return msgspec.structs.replace(record, lost=error.strerror or type(error).__name__)
    return named
