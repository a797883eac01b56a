"""The files of an evidence folder that are for people: what happened, in full.

All times in them are of the suite's own monotonic clock, those that an adapter told included;
`began` in scenario.json is the moment from which the checks count.
"""

from __future__ import annotations

import math
import shutil
import traceback
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from client_under_test.contract.exceptions import ConversationFailed
from conformance.judging.evidence import ALONE, FILE, Record
from conformance.judging.process_comparison import described
from conformance.judging.verdicts import worst
from conformance.runner.terminal_escape import plain
from conformance.world import World
from conformance.world.waits import PASSED
from conformance.xds_config.bootstrap import VARIABLE
from fake_control_plane import LoadRequest
from regular_files import UntrustedFolder, copy

BEFORE = "-before"
"""The end of an evidence folder's name, of an earlier run: a repeat does not remove it."""


BOOTSTRAP = "bootstrap.json"

COMPARISON = "shared-process.txt"
"""How the scenario ended in a shared process, if that is not how it ended in its own."""

LEFT = "left"
"""The folder in an evidence folder with what the client itself left in its own."""


REMOVED = "-removed.txt"
"""The end of the name of a list beside it: of links, and where they led, FIFOs and sockets."""


def hide_from_git(out: Path) -> None:
    """Make the folder for evidence one that git ignores, if it is not there yet.

    It may lie in the checkout that is judged, which would have changes from the next run on.
    """
    with suppress(OSError):
        out.mkdir(parents=True)
        (out / ".gitignore").write_text("*\n", "utf-8")


def write_files(folder: Path, world: World, error: BaseException | None) -> tuple[str, ...]:
    """Write what the control plane, the fleet and the client's process have to show.

    Returns:
        The files that the client itself left where it ran, such as a core file.
    """
    (folder / BOOTSTRAP).write_text(world.environment[VARIABLE], "utf-8")
    world.plane.transcript.write(folder / "transcript.jsonl")
    world.fleet.ledger.write(folder / "rpcs.jsonl")
    _lines(folder / "calls.jsonl", _calls(world))
    _lines(folder / "states.jsonl", _states(world))
    _lines(
        folder / "attempts.jsonl",
        [
            {"endpoint": endpoint.address, "attempt": attempt}
            for endpoint in world.registry
            for attempt in endpoint.attempts
        ],
    )
    _lines(folder / "load.jsonl", _reports(world))
    _lines(folder / "gates.jsonl", _actions(world))
    _lines(folder / "suite.jsonl", _suite(world))
    for number, process in enumerate(world.channels.processes, start=1):
        end = f"-{number}" if number > 1 else ""
        if process.stderr_path.exists():
            copy(process.stderr_path, folder / f"stderr{end}.log", start=process.stderr_start)
        keep_what_it_left(process.folder, folder / f"{LEFT}{end}")
    if error is not None:
        write_exception(folder, error)
    left = (path for place in folder.glob(f"{LEFT}*") for path in place.rglob("*"))
    return tuple(sorted(str(path.relative_to(folder)) for path in left if path.is_file()))


def keep_what_it_left(source: Path, target: Path) -> None:
    """Keep the regular files that a client left where it ran, in the place of an earlier run's.

    A link or a FIFO is removed: who opens the evidence would read something else, or wait.
    """
    listed = target.with_name(f"{target.name}{REMOVED}")
    shutil.rmtree(target, ignore_errors=True)
    listed.unlink(missing_ok=True)
    if not source.is_dir():
        return
    with UntrustedFolder(source, may_be_link=False) as left:
        removed = left.keep_regular_files()
    if removed:
        lines = "".join(f"{' '.join(plain(text).split())}\n" for text in removed)
        listed.write_text(lines, "utf-8", "backslashreplace")
    if any(source.iterdir()):
        shutil.move(source, target)


def write_exception(folder: Path, error: BaseException) -> None:
    """Write what ended a scenario, in full."""
    text = "".join(traceback.format_exception(error))
    (folder / "exception.txt").write_text(text, "utf-8", "backslashreplace")
    if isinstance(error, ConversationFailed) and not (folder / "stderr.log").exists():
        (folder / "stderr.log").write_text(error.stderr_tail, "utf-8", "backslashreplace")


def write_comparison(record: Record) -> None:
    """Write how a scenario ended in a shared process of the client, and in one of its own."""
    if record.evidence is None:
        return
    sentence = described(
        record.scenario, record.in_shared_process, worst(record.decisions), record.earlier
    )
    lines = [f"{sentence}.", "", "Scenarios that had used the process, oldest first:"]
    lines += [f"  {name}" for name in record.earlier] or ["  none"]
    lines += ["", "What it decided there:"]
    lines += [
        f"  {decision.clause}: {decision.verdict.value}: {decision.saw}"
        for decision in record.in_shared_process
    ]
    with suppress(OSError):  # the report says the same
        (Path(record.evidence) / COMPARISON).write_text(
            "\n".join(lines) + "\n", "utf-8", "backslashreplace"
        )


def forget_others(out: Path, scenarios: Collection[str]) -> None:
    """Remove the evidence of scenarios that are not among these: no run replaces it any more."""
    names = {folder_name(scenario) for scenario in scenarios}
    for folder in tuple(out.iterdir()) if out.is_dir() else ():
        is_one = not folder.is_symlink() and (folder / FILE).is_file()
        if is_one and folder.name.removesuffix(ALONE) not in names:
            shutil.rmtree(folder)


def folder_name(scenario: str) -> str:
    """Return the name of the folder with a scenario's evidence."""
    return scenario.replace("/", "-")


def _calls(world: World) -> Iterator[dict[str, Any]]:
    """Every call in the order of its start, with when it began and ended; at last what has not."""
    spans = world.calls.spans()
    calls = {call.id: call for call in (*world.calls.made, *world.calls.unsettled())}
    not_over = (math.inf, math.inf)
    for call in sorted(calls.values(), key=lambda call: spans.get(call.id, not_over)):
        times = [round(at, 6) if call.id in spans else None for at in spans.get(call.id, not_over)]
        yield {"started_at": times[0], "ended_at": times[1], **msgspec.to_builtins(call)}


def _states(world: World) -> Iterator[dict[str, Any]]:
    """Yield every state that a channel reported, unchanged."""
    for channel, watched in world.states.watched:
        for seen in watched.states:
            yield {"at": round(seen.at, 6), "channel": channel, "state": seen.state}


def _reports(world: World) -> Iterator[dict[str, Any]]:
    """Every cluster of every load report, with when the report came."""
    for event in world.plane.transcript.events:
        if isinstance(event, LoadRequest):
            for load in event.clusters:
                yield {"at": event.at, "stream": event.stream, **msgspec.to_builtins(load)}


def _actions(world: World) -> Iterator[dict[str, Any]]:
    """Yield the changes of the endpoints, from their opening on."""
    addresses = {endpoint.id: endpoint.address for endpoint in world.registry}
    for action in world.fleet.ledger.actions:
        if action.endpoint in addresses:
            told = msgspec.to_builtins(action) | {"endpoint": addresses[action.endpoint]}
            yield told | {"at": round(action.at, 6)}


def _suite(world: World) -> Iterator[dict[str, Any]]:
    """Yield when the suite waited without result, and when it was late itself, oldest first."""
    began = world.clock.began
    waited = [(*wait[:2], "deadline", wait.what) for wait in PASSED if wait.began >= began]
    late = [(*moment, "late", "") for moment in world.clock.lateness.moments]
    for since, until, kind, what in sorted(waited + late):
        times = {"at": round(since, 6), "until": round(until, 6)}
        yield {**times, "kind": kind, "what": what.partition("\n")[0]}


def _lines(path: Path, rows: Iterable[object]) -> None:
    with path.open("wb") as file:
        for row in rows:
            file.write(msgspec.json.encode(row) + b"\n")
