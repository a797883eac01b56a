"""Programs that a client is built and run with: which are on this machine, in which version."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec
from packaging.version import Version

from client_under_test.contract.exceptions import MissingToolchain
from client_under_test.manifests.manifest import Tool
from client_under_test.manifests.version_ranges import is_version

# A virtual machine that starts on a cold disk takes some seconds to say its version.
_ANSWER_DEADLINE: Final = 60

_NUMBERS: Final = re.compile(r"\d+(\.\d+)*")
_COLOURS: Final = re.compile(r"\x1b\[[\d;]*m")  # Maven's even where there is no terminal


class FoundProgram(msgspec.Struct, frozen=True, kw_only=True):
    """A program as it is on this machine.

    `version` is None if it is not there at all, and empty if it does not tell, or was not asked.
    """

    tool: Tool
    version: str | None

    @property
    def needed(self) -> str:
        """What must be there, with the version that it must have: `go 1.26 or newer`."""
        at_least = self.tool.at_least
        return self.name + (f" {at_least} or newer" if at_least else "")

    @property
    def name(self) -> str:
        """What it is the version of."""
        return self.tool.of or self.tool.program

    @property
    def is_old(self) -> bool:
        """Return whether the program was found, but its version is too old."""
        if not (self.version and self.tool.at_least):
            return False
        return Version(self.version) < Version(self.tool.at_least)

    @property
    def is_missing(self) -> bool:
        """Return whether the client cannot run: the program is missing or too old."""
        return self.version is None or self.is_old


def look(tool: Tool) -> FoundProgram:
    """Look for a program, and ask it for its version."""
    if not _is_here(tool):
        return FoundProgram(tool=tool, version=None)
    try:
        done = subprocess.run(
            tool.ask or (tool.program, "--version"),
            check=True,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=_ANSWER_DEADLINE,
            cwd="/",  # some say another version in a folder that asks for one
        )
    except subprocess.CalledProcessError:
        return FoundProgram(tool=tool, version=None if tool.of else "")
    except (OSError, subprocess.SubprocessError):  # it may only be slow
        return FoundProgram(tool=tool, version="")
    said = _NUMBERS.search(_COLOURS.sub("", done.stdout + done.stderr))
    return FoundProgram(tool=tool, version=said[0] if said and is_version(said[0]) else "")


def require(client: str, tools: Iterable[Tool], *, ask: bool) -> None:
    """Make sure that the programs are there.

    Args:
        client: its name, for the sentence.
        tools: what it needs.
        ask: whether to ask them for their versions too, which takes its time.

    Raises:
        MissingToolchain: one is not there, or too old.
    """
    for tool in tools:
        there = (
            look(tool) if ask else FoundProgram(tool=tool, version="" if _is_here(tool) else None)
        )
        if there.is_missing:
            lack = (
                "which is not on this machine"
                if there.version is None
                else f"and this machine has {there.version}"
            )
            raise MissingToolchain(f"client {client} needs {there.needed}, {lack}: {tool.get}")


def state_of(program: str) -> str:
    """Return what changes when the program is replaced by another one, such as a newer compiler."""
    found = shutil.which(program)
    if found is None:
        return ""
    real = Path(found).resolve()
    there = real.stat()
    return f"{real} {there.st_size} {there.st_mtime:.0f}"


def _is_here(tool: Tool) -> bool:
    return shutil.which(tool.program) is not None
