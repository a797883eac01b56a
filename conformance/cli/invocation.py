"""Describe how the user calls this command, and how to call it again."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from client_under_test.environments import Prepared
from conformance.runner.settings import LEAST
from conformance.runner.user_input import withheld

CHECKOUT = "./xdspec"
"""The command in the folder of a checkout, as reports write it."""

INSTALLED = "xdspec"
"""The command of an installed package, as reports write it."""


def portable_program() -> str:
    """Return the command for a report, which may be read on another machine."""
    return CHECKOUT if _checkout() else INSTALLED


def program() -> str:
    """Return the command, quoted, as the user can paste it in the current folder."""
    if folder := _checkout():
        return shlex.quote(_path_from_here(folder / "xdspec"))
    called = sys.argv[0]
    is_script = Path(called).name == INSTALLED
    if not is_script or ((which := shutil.which(INSTALLED)) and Path(which).samefile(called)):
        return INSTALLED
    return shlex.quote(called)


def pasteable(command: str) -> str:
    """Return a command of a report with the program as the user can paste it here."""
    words = shlex.split(command)
    at = next((number for number, word in enumerate(words) if not _is_variable(word)), 0)
    if words[at : at + 1] not in ([CHECKOUT], [INSTALLED]):
        return command
    return " ".join([*map(shlex.quote, words[:at]), program(), shlex.join(words[at + 1 :])])


def _checkout() -> Path | None:
    """Return the checkout that this command runs from; None if the package is installed."""
    started = Path(sys.argv[0])
    from_checkout = started.parts[-2:] == ("conformance", "__main__.py")
    return started.resolve().parents[1] if from_checkout else None


def _path_from_here(file: Path) -> str:
    """Return the shorter path of a file: from the current folder, or from the root."""
    try:
        relative = os.path.relpath(file)
    except FileNotFoundError:  # the current folder is gone
        return str(file)
    if os.sep not in relative:
        return f"./{relative}"  # without a folder, a shell would look for it in PATH
    return min(relative, str(file), key=len)


def _is_variable(word: str) -> bool:
    return word.partition("=")[0] in LEAST


NO_BASELINE: Final = "--no-baseline"


class Judging(msgspec.Struct, frozen=True, kw_only=True):
    """The options that decide how a run is judged."""

    no_baseline: bool = False
    baseline: Path | None = None
    strict: bool = False


def again(
    client: Prepared,
    *,
    seed: int,
    fast: bool,
    isolated: bool = False,
    variables: Iterable[str],
    judging: Judging,
) -> str:
    """Return the beginning of a command that runs one scenario of a run again, judged alike.

    The program is the portable one; `pasteable` makes the command one for the current folder. The
    values that ``--env`` gave are in no output: a terminal may be a CI's log.

    Args:
        client: of the run.
        seed: of the run.
        fast: whether its timers were shortened.
        isolated: whether each scenario had a process of the client of its own.
        variables: the names of what `--env` gave the client.
        judging: how the run is judged.
    """
    words = [portable_program(), "run", client.argument]
    words += ["--source", str(client.client.source)] if client.client.source else []
    words += ["--commit", client.client.commit] if client.client.commit else []
    words += ["--seed", str(seed)]
    words += running_options(fast=fast, isolated=isolated, variables=variables, wrap=client.wrap)
    words += [NO_BASELINE] if judging.no_baseline else []
    words += ["--baseline", str(judging.baseline.absolute())] if judging.baseline else []
    words += ["--strict"] if judging.strict else []
    return shlex.join(suite_variables() + words)


def counting_known(repeat: str) -> str:
    """Return a command that fails if what is broken fails again, even if a baseline lists it."""
    words = shlex.split(repeat)
    return repeat if NO_BASELINE in words else f"{repeat} {NO_BASELINE}"


def running_options(
    *, fast: bool, isolated: bool, variables: Iterable[str], wrap: Sequence[str]
) -> list[str]:
    """Return the options that decide how a client runs.

    Args:
        fast: whether its timers are shortened.
        isolated: whether no two scenarios share a process of it.
        variables: the names of what `--env` gives the client.
        wrap: the tool that the client is started by.
    """
    words = ["--fast"] if fast else []
    words += ["--isolated"] if isolated else []
    for key, value in withheld(variables).items():
        words += ["--env", f"{key}={value}"]
    words += ["--wrap", shlex.join(wrap)] if wrap else []
    return words


def suite_variables() -> list[str]:
    """Return the variables of the environment that decide how a client runs, as for a shell."""
    return [f"{name}={os.environ[name]}" for name in LEAST if name in os.environ]


def conditions(words: Iterable[str]) -> frozenset[str]:
    """Return the options and variables of a command that decide how its client runs."""
    left, found = iter(words), set()
    for word in left:
        if _is_variable(word) or word in {"--fast", "--isolated"}:
            found.add(word)
        elif word in {"--env", "--wrap"}:
            found.add(shlex.join((word, next(left, ""))))
    return frozenset(found)
