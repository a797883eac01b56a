"""The files of an evidence folder that are for people: what happened, in full."""

from __future__ import annotations

import shutil
import traceback
from pathlib import Path

import msgspec

from client_under_test.contract.exceptions import ConversationFailed
from conformance.world import World


def write_files(folder: Path, world: World, error: BaseException | None) -> None:
    """Write what the control plane, the fleet and the client's process have to show."""
    world.plane.transcript.write(folder / "transcript.jsonl")
    world.fleet.ledger.write(folder / "rpcs.jsonl")
    _lines(folder / "calls.jsonl", (*world.calls.made, *world.calls.unsettled()))
    _lines(
        folder / "attempts.jsonl",
        [
            {"endpoint": endpoint.address, "attempt": attempt}
            for endpoint in world.members
            for attempt in endpoint.attempts
        ],
    )
    _lines(folder / "load.jsonl", world.plane.loads.rows)
    if world.process.stderr_path.exists():
        shutil.copyfile(world.process.stderr_path, folder / "stderr.log")
    if error is not None:
        write_exception(folder, error)


def write_exception(folder: Path, error: BaseException) -> None:
    """Write what ended a scenario, in full."""
    text = "".join(traceback.format_exception(error))
    (folder / "exception.txt").write_text(text)
    if isinstance(error, ConversationFailed) and not (folder / "stderr.log").exists():
        (folder / "stderr.log").write_text(error.stderr_tail)


def _lines(path: Path, rows: object) -> None:
    with path.open("wb") as file:
        for row in rows:  # type: ignore[attr-defined]
            file.write(msgspec.json.encode(row) + b"\n")
