"""What the processes of one run have learned of why the client's scenarios fail.

A client that never follows a kind of reference keeps hundreds of scenarios waiting for the same.
After two scenarios have waited to the end, the others need not. The processes share what they
learned by a file to which each appends lines.

One scenario in ONE_IN waits to the end all the same, so that the cause is confirmed. A single
request that refutes a cause ends its use, and the scenarios that it ended early run again.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from pathlib import Path
from typing import Final, Literal

import msgspec

from conformance.judging.verdicts import Cause
from regular_files import read_bytes

ENOUGH: Final = 2
"""Scenarios that must have waited to the end for a cause, before another one ends early."""

ONE_IN: Final = 8
"""One in this number of scenarios waits to the end, though the cause is known."""

FILE: Final = "causes.jsonl"


class Lesson(msgspec.Struct, frozen=True):
    """What one scenario says about a cause."""

    cause: Cause
    says: Literal["confirmed", "refuted"]
    scenario: str


class KnownCauses:
    """The causes that are known in this run.

    Args:
        folder: the folder of the run, which all of its processes see.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._read_to = 0
        self._confirmed: dict[Cause, set[str]] = defaultdict(set)
        self._refuted: set[Cause] = set()

    def known(self) -> frozenset[Cause]:
        """Return the causes that enough scenarios have confirmed, and none has refuted."""
        self._read()
        return frozenset(
            cause
            for cause, scenarios in self._confirmed.items()
            if len(scenarios) >= ENOUGH and cause not in self._refuted
        )

    def refuted(self) -> frozenset[Cause]:
        """Return the causes that a scenario has refuted."""
        self._read()
        return frozenset(self._refuted)

    def confirm(self, cause: Cause, scenario: str) -> None:
        """Note that a scenario has waited to the end for this cause."""
        self._read()
        if scenario not in self._confirmed[cause] and cause not in self._refuted:
            self._append(Lesson(cause, "confirmed", scenario))

    def refute(self, cause: Cause, scenario: str) -> None:
        """Note that in a scenario the client did what, by this cause, it never does."""
        self._read()
        if cause not in self._refuted:
            self._append(Lesson(cause, "refuted", scenario))

    def _append(self, lesson: Lesson) -> None:
        # One write of a short line at the end of a local file: no other process's line is in it.
        with self._path.open("ab", buffering=0) as file:
            file.write(msgspec.json.encode(lesson) + b"\n")

    def _read(self) -> None:
        """Read the lines that were appended since the last time."""
        try:
            if self._path.stat().st_size == self._read_to:
                return
            added = read_bytes(self._path)[self._read_to :]
        except FileNotFoundError:
            return
        whole = added[: added.rfind(b"\n") + 1]
        self._read_to += len(whole)
        for line in whole.splitlines():
            lesson = msgspec.json.decode(line, type=Lesson)
            if lesson.says == "refuted":
                self._refuted.add(lesson.cause)
            else:
                self._confirmed[lesson.cause].add(lesson.scenario)


def waits_to_the_end(scenario: str, *, seed: int | None) -> bool:
    """Return whether a scenario is the one in ONE_IN that waits to the end.

    Args:
        scenario: its id.
        seed: the seed of the run; None for a choice that is the same in each run.
    """
    digest = hashlib.sha256(f"{'' if seed is None else seed} {scenario}".encode()).digest()
    return digest[0] % ONE_IN == 0
