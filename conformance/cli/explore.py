"""``xdspec explore``: random courses against one client, and what they found."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
from rich.console import Console

from client_under_test.contract.exceptions import ConversationFailed
from client_under_test.environments import Prepared, prepare
from conformance.cli.failures import Failure as Stop
from conformance.cli.failures import client_trouble, require_machine
from conformance.cli.invocation import program
from conformance.cli.lookup import found_client, from_source
from conformance.reporting.live import patience
from conformance.reporting.outcome import counted
from conformance.reporting.report import Exit
from conformance.reporting.stdout import echo, say
from conformance.runner.calibration import calibrated
from conformance.runner.explore import courses
from conformance.runner.explore.course_runner import lacks
from conformance.runner.explore.courses import BadCourse, Course
from conformance.runner.explore.explorer import COURSE, Explorer, Failure, Plan, Summary
from conformance.runner.files import scratch
from conformance.runner.interruption import last_words
from conformance.runner.jobs import default_jobs
from conformance.runner.targets import subject_for
from conformance.spec.catalogue import Catalogue

FOLDER = "explore"
"""The folder of failing courses, in the client's folder of evidence."""


class ExploreOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the command line."""

    only: str
    replay: Path | None
    minutes: float
    times: int
    seed: int
    jobs: int | None
    environment: dict[str, str]
    source: Path | None
    commit: str | None
    out: Path


def explore(name: str, options: ExploreOptions, catalogue: Catalogue, screen: Console) -> Exit:
    """Search, or replay one course, and print what was found."""
    course = _read(options.replay) if options.replay else None
    prepared = _prepared(name, options, screen)
    jobs = options.jobs or default_jobs()
    require_machine(jobs)
    out = options.out.absolute() / prepared.name.replace("/", "-") / FOLDER

    with scratch() as folder:
        target = calibrated(
            subject_for(prepared, environment=options.environment),
            catalogue,
            seed=options.seed,
            scratch=folder,
            out=out,
            meanwhile=partial(patience, screen),
        )
        explorer = Explorer(
            target, catalogue, scratch=folder / FOLDER, out=out, say=partial(say, screen)
        )
        if course is not None:
            searching = explorer.replay(course, options.times)
        else:
            say(
                screen, f"{prepared.name}, area {options.only}, seed {options.seed}, {jobs} at once"
            )
            plan = Plan(
                area=options.only, seconds=60 * options.minutes, seed=options.seed, jobs=jobs
            )
            searching = explorer.search(plan)

        def break_off() -> None:
            """Print what was found before a signal, on a screen that no other output holds."""
            for line in (*lines(explorer.summary, prepared), "interrupted"):
                echo(line)

        with last_words(break_off):
            try:
                summary = asyncio.run(searching)
            except* ConversationFailed as failed:
                why = next(_leaves(failed))
                raise Stop(f"{prepared.name} did not start: {why}", Exit.ADAPTER_TROUBLE) from None
            for line in lines(summary, prepared):
                say(screen, line)
    return exit_of(summary)


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


def _read(path: Path) -> Course:
    try:
        return courses.read(path)
    except BadCourse as bad:
        raise Stop(str(bad)) from None


def _prepared(name: str, options: ExploreOptions, screen: Console) -> Prepared:
    with client_trouble():
        client = from_source(found_client(name), options.source, options.commit)
        with patience(screen, client.preparation):
            prepared = prepare(client, options.environment)
    if missing := lacks(prepared):
        raise Stop(
            f"{client} lacks what courses need: {', '.join(missing)}. Its client.toml lists its "
            "capabilities"
        )
    return prepared


def lines(summary: Summary, client: Prepared) -> list[str]:
    """Return what is printed at the end."""
    said = []
    for failure in summary.failures:
        said += ["", *_described(failure, client)]
    if summary.failures:
        said.append("")
    void = f", {summary.void} of them without a result" if summary.void else ""
    said.append(
        f"{summary.ran} courses{void} with {summary.steps} steps and {summary.requests} requests "
        f"in {summary.seconds:.0f} s"
    )
    said += [f"! {trouble}" for trouble in dict.fromkeys(summary.troubles)]
    repeatable = [failure for failure in summary.failures if failure.is_repeatable]
    again = f" ({summary.again} more courses failed in these ways)" if summary.again else ""
    kinds = f"{counted(len(repeatable), 'repeatable failure')}{again}"
    said.append(kinds if repeatable else "no repeatable failures")
    if once := len(summary.failures) - len(repeatable):
        said.append(f"{counted(once, 'course')} failed once and never again, which does not count")
    return said


def _described(failure: Failure, client: Prepared) -> list[str]:
    finding = failure.finding
    rate = f"failed {failure.failed} of {failure.ran} times"
    if not failure.is_repeatable:
        rate = f"failed once, and none of {failure.ran} times again"
    clause = f" ({finding.clause})" if finding.clause else ""
    drawn = len(failure.drawn.steps)
    count = len(failure.course.steps)
    said = [
        f"{finding.title}{clause}: {rate}",
        f"  expected: {finding.expected}",
        f"  observed: {finding.observed}",
    ]
    said += [f"  {line}" for line in str(failure.course).splitlines()]
    if count < drawn:
        said.append(f"  (course {failure.number} had {drawn} steps)")
    file = failure.folder / COURSE
    said.append(f"  files: {failure.folder}")
    words = [program(), "explore", client.argument, "--replay", str(file)]
    said.append(f"  again: {shlex.join(words)}")
    return said


def exit_of(summary: Summary) -> Exit:
    """Return the exit code of a search."""
    if any(failure.is_repeatable for failure in summary.failures):
        return Exit.DEVIATES
    if summary.ran == summary.void:
        return Exit.SUITE_TROUBLE if summary.ran else Exit.NOTHING_RAN
    return Exit.CONFORMS
