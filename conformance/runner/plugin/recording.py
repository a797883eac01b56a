"""The record of a scenario, from what was judged or from what ended it; its evidence folder."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conformance.judging import causes, evidence
from conformance.judging.aborts import Unsupported
from conformance.judging.declaration import (
    NONCES,
    declaration_of,
    scenario_id,
)
from conformance.judging.evidence import ALONE, Record, Trouble
from conformance.judging.expectations import SendsNewestNonce, fits
from conformance.judging.verdicts import BAD, Reason, Verdict
from conformance.runner.evidence_files import (
    BEFORE,
    folder_name,
    write_exception,
    write_files,
)
from conformance.runner.interaction import Interaction
from conformance.runner.known_causes import KnownCauses
from conformance.runner.plugin.final_checks import final_checks
from conformance.runner.plugin.items import (
    CATALOGUE,
    RECORD,
    SETTINGS,
    STARTED_AT,
    TROUBLE,
    subject_of,
    unasked,
    untimed,
)
from conformance.runner.plugin.learning import learn
from conformance.runner.selection import with_scenario
from conformance.runner.settings import Settings
from conformance.world import World
from conformance.xds_config.bootstrap import VARIABLE, with_bootstraps

PROPERTY = "xdspec"
"""The name under which a report carries the scenario's record, as JSON."""


async def finish(
    item: pytest.Item,
    made: World,
    settings: Settings,
    interaction: Interaction | None,
    known: KnownCauses,
    *,
    lasts: bool = False,
) -> bool:
    """Decide, and leave the evidence, while everything is still there to be asked.

    Args:
        item: the scenario.
        made: its world.
        settings: of the run.
        interaction: the session of interactive mode, which gives the user the world.
        known: what the run has learned about the client.
        lasts: whether another scenario may use the client's process.

    Returns:
        True if another scenario can use that process; else it has been ended.
    """
    is_by_hand = interaction is not None and interaction.driver is not None
    look = await final_checks(made, item.stash.get(TROUBLE, None))
    error, waited = look.error, look.starved
    ignores = () if look.is_void else learn(item, made, error, known)
    is_judged = not look.is_void and (look.trouble is None or look.trouble.early)
    told = facts_of(made) | {
        "ignores": ignores,
        "also": judge_nonces(item, made) if is_judged else (),
    }
    checks = () if look.is_void else tuple(made.checks.checks)
    record = record_of(item, checks=checks, trouble=look.trouble, **told)
    if any(decision.is_against for decision in record.decisions) and not is_by_hand:
        waited = waited or round(made.channels.starved(made.process), 3)
        try:
            await made.preconditions.gates_that_work()
        except Unsupported as unable:
            record = record_of(item, trouble=causes.of(unable), **told)
    record = msgspec.structs.replace(record, starved=waited)
    if interaction is not None:
        record = interaction.signed(record)
        await interaction.keep_up(record)
    record = with_evidence(record, settings, lambda folder: write_files(folder, made, error))
    item.stash[RECORD] = record
    if interaction is not None:
        return False
    is_odd = error is not None or any(decision.verdict in BAD for decision in record.decisions)
    if lasts and not is_odd and not await made.release():
        return True
    broken = await made.channels.close_by_contract()
    if broken and not any(decision.verdict in BAD for decision in record.decisions):
        trouble = Trouble(verdict=Verdict.ERROR, reason=Reason.ADAPTER, what=broken)
        spoiled = record_of(item, trouble=trouble, starved=waited, **told)
        item.stash[RECORD] = _with_evidence_so_far(
            spoiled, record, settings, lambda folder: write_files(folder, made, error)
        )
    return False


def _with_evidence_so_far(
    record: Record, before: Record, settings: Settings, leave: Callable[[Path], tuple[str, ...]]
) -> Record:
    """Return the record with its evidence folder, which may already exist."""
    if not before.evidence:
        return with_evidence(record, settings, leave)
    record = msgspec.structs.replace(record, evidence=before.evidence, left=before.left)
    try:
        evidence.write(Path(before.evidence), record)
    except OSError as error:
        return msgspec.structs.replace(record, lost=error.strerror or type(error).__name__)
    return record


def facts_of(made: World) -> dict[str, Any]:
    """Return the fields of a record that do not depend on the judged clauses."""
    return {
        "began": round(made.clock.began, 6),
        "notes": tuple(made.checks.notes),
        "served": with_bootstraps(
            made.control.history, made.environment[VARIABLE], made.channels.given(VARIABLE)
        ),
        "lateness": round(made.clock.lateness.worst, 3),
        "shared_process": made.channels.launched.is_shared,
        "earlier": made.channels.launched.earlier,
    }


def without_world(item: pytest.Item) -> Record:
    """Return the record of a scenario that never got its world, or lost it."""
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


def judge_nonces(item: pytest.Item, made: World) -> tuple[str, ...]:
    """Judge the nonces of all requests in a scenario that does not decide their clause.

    Returns:
        the clause, if a request is out of date: the scenario then decides it as well.
    """
    requests, newest = made.control.asked(), SendsNewestNonce()
    if NONCES in declaration_of(item).clauses or not requests.requests or fits(newest, requests):
        return ()
    made.checks.check(NONCES, requests, newest)
    return (NONCES,)


def record_of(item: pytest.Item, *, also: tuple[str, ...] = (), **more: Any) -> Record:
    """Return the record of all observations, with the verdicts.

    Args:
        item: the scenario.
        also: clauses that it decides beside those that it claims.
        more: what was seen.
    """
    subject, settings, scenario = subject_of(item), item.config.stash[SETTINGS], scenario_id(item)
    claims = declaration_of(item)
    record = Record(
        scenario=scenario,
        clauses=(*claims.clauses, *also),
        timer=claims.timer,
        also=also,
        untimed=untimed(item),
        unasked=unasked(item),
        client=subject.judged,
        mutant=subject.mutant,
        side=subject.side,
        seed=settings.seed,
        fast=settings.fast,
        repeat=settings.repeat and with_scenario(settings.repeat, scenario),
        seconds=round(time.monotonic() - item.stash[STARTED_AT], 3),
        **more,
    )
    decisions = evidence.decisions_of(record, item.config.stash[CATALOGUE])
    return msgspec.structs.replace(record, decisions=decisions)


def with_evidence(
    record: Record, settings: Settings, leave: Callable[[Path], tuple[str, ...]]
) -> Record:
    """Leave the folder of a scenario that went wrong, or of every one; the record names it.

    Evidence that an earlier run has left of the scenario moves to another folder if the user named
    the scenario, and is removed otherwise.

    Args:
        record: what the verdicts rest on.
        settings: the run.
        leave: writes what else the scenario has to show, and tells what the client left itself.
    """
    went_wrong = any(decision.verdict in BAD for decision in record.decisions)
    return kept(
        record,
        Path(settings.out) / (record.mutant or record.side),
        leave if went_wrong or settings.keep_evidence else None,
        alone=bool(settings.selection.exactly),
        repeats=bool(settings.selection.scenarios) and not (record.mutant or record.side),
    )


def kept(
    record: Record,
    place: Path,
    leave: Callable[[Path], tuple[str, ...]] | None,
    *,
    alone: bool = False,
    repeats: bool = False,
) -> Record:
    """Write the evidence folder of a scenario, or remove it; return the record that names it.

    Args:
        record: the basis of the verdicts.
        place: the parent of the evidence folders.
        leave: writes the other files and returns those that the client left; None: no folder.
        alone: whether it is the second try; the folder of the first one may still exist.
        repeats: whether the user named the scenario; the folder of an earlier run is then kept.
    """
    name = folder_name(record.scenario)
    folders = place / name, place / f"{name}{ALONE}"
    folder = folders[1] if alone else folders[0]
    named = msgspec.structs.replace(record, evidence=str(folder))
    try:
        for old in {folder, folders[1]}:
            if (old / evidence.FILE).exists():
                if repeats and old == folders[0]:
                    before = place / f"{name}{BEFORE}"
                    shutil.rmtree(before, ignore_errors=True)
                    old.rename(before)
                else:
                    shutil.rmtree(old)
        if leave is None:
            return record
        evidence.write(folder, named)
        if left := leave(folder):
            named = msgspec.structs.replace(named, left=left)
            evidence.write(folder, named)
    except OSError as error:  # report the observations nevertheless
        return msgspec.structs.replace(record, lost=error.strerror or type(error).__name__)
    return named
