"""What becomes of a test whose world is at its end: what it says, and the evidence that is kept."""

from __future__ import annotations

import shlex
import time
import traceback
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from conformance.judging import causes, evidence
from conformance.judging.aborts import Unsupported
from conformance.judging.evidence import Record, Trouble
from conformance.judging.verdicts import Verdict
from conformance.runner.evidence_files import write_files
from conformance.runner.plugin.final_checks import final_checks
from conformance.runner.plugin.recording import facts_of, kept
from conformance.runner.settings import Settings
from conformance.runner.targets import Target
from conformance.runner.terminal_escape import block, defused, plain
from conformance.runner.user_input import withheld
from conformance.spec.catalogue import load
from pytest_xdspec.client_setup import place_of
from pytest_xdspec.items import STARTED_AT, name_of
from pytest_xdspec.user_world import World

SERVED = 2
"""How many of the last responses served are printed below a failure."""


class Concluded(NamedTuple):
    """What pytest should report for a test."""

    trouble: Trouble | None
    """An error of the client or the suite. It replaces the test's own finding."""
    said: str
    """The text of the error, with its place in the test."""
    told: str
    """The text printed below the failure."""


async def conclude(
    item: pytest.Item,
    made: World,
    subject: Target,
    settings: Settings,
    error: BaseException | None,
) -> Concluded:
    """Look at the world for the last time, and keep the evidence if something is wrong.

    Args:
        item: the test.
        made: its world, in which everything still runs.
        subject: the client.
        settings: of the session.
        error: what the test ended with, if it did not pass.
    """
    look = await final_checks(made, error if isinstance(error, causes.EXPECTED) else None)
    trouble = look.trouble
    if trouble is None and error is not None:
        try:
            await made.preconditions.gates_that_work()
        except Unsupported as unable:
            trouble = causes.of(unable)
        made.checks.note(f"the test ended with {type(error).__name__}: {error}")
    record = _record(item, made, subject, settings, trouble, is_void=look.is_void)
    went_wrong = error is not None or trouble is not None
    record = kept(
        msgspec.structs.replace(record, starved=look.starved),
        place_of(settings.out, subject),
        (lambda folder: write_files(folder, made, look.error or error))
        if went_wrong or settings.keep_evidence
        else None,
    )
    said = "" if trouble is None else "\n".join([trouble.what, *_where(item, error)])
    told = "\n".join(map(block, _below(record, trouble)))
    return Concluded(trouble, defused(plain(said)), defused(plain(told)))


def _record(
    item: pytest.Item,
    made: World,
    subject: Target,
    settings: Settings,
    trouble: Trouble | None,
    *,
    is_void: bool,
) -> Record:
    checks = () if is_void else tuple(made.checks.checks)
    told: dict[str, Any] = facts_of(made)
    record = Record(
        scenario=name_of(item),
        clauses=tuple(dict.fromkeys(check.clause for check in checks)),
        client=subject.judged,
        seed=settings.seed,
        seconds=round(time.monotonic() - item.stash[STARTED_AT], 3),
        checks=checks,
        trouble=trouble,
        repeat=_repeat(item, subject, settings),
        **told,
    )
    decisions = evidence.decisions_of(record, load())
    return msgspec.structs.replace(record, decisions=decisions)


def _repeat(item: pytest.Item, subject: Target, settings: Settings) -> str:
    """Return the command that runs only this test again, in the same folder."""
    words = ["pytest", "-p", "pytest_xdspec", f"--xdspec-client={subject.prepared.argument}"]
    given = withheld(subject.environment)
    words += [f"--xdspec-env={key}={value}" for key, value in given.items()]
    return shlex.join([*words, f"--xdspec-seed={settings.seed}", item.nodeid])


def _where(item: pytest.Item, error: BaseException | None) -> list[str]:
    """Return the last line of the test itself in the traceback."""
    if error is None:
        return []
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_in(frame, item)]
    return [f"at {item.path.name}:{frame.lineno}: {frame.line}" for frame in frames[-1:]]


def _is_in(frame: traceback.FrameSummary, item: pytest.Item) -> bool:
    return Path(frame.filename) == item.path


def _below(record: Record, trouble: Trouble | None) -> list[str]:
    client = record.client
    lines = [f"client    {client.name} {client.version}, seed {record.seed}"]
    lines += [f"served    {text}" for text in record.served[-SERVED:]]
    lines.append(f"repeat    {record.repeat}")
    if trouble is not None and trouble.verdict is Verdict.FAIL:
        lines.append(f"tracker   {client.issues}")
    if record.lost:
        lines.append(f"evidence  could not be kept: {record.lost}")
    elif record.evidence:
        lines.append(f"evidence  {record.evidence} (`xdspec show` draws it)")
    return lines
