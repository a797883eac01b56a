"""Describe how the user calls this command, and how to call it again."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from client_under_test import Prepared
from conformance.runner.settings import LEAST
from conformance.runner.user_input import withheld


def program() -> str:
    """Return what the user types to start this command."""
    from_checkout = Path(sys.argv[0]).parts[-2:] == ("conformance", "__main__.py")
    return "./xdspec" if from_checkout else "xdspec"


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

    The values that ``--env`` gave are in no output: a terminal may be a CI's log.

    Args:
        client: of the run.
        seed: of the run.
        fast: whether its timers were shortened.
        isolated: whether each scenario had a process of the client of its own.
        variables: the names of what `--env` gave the client.
        judging: how the run is judged.
    """
    words = [program(), "run", client.argument]
    words += ["--source", str(client.client.source)] if client.client.source else []
    words += ["--commit", client.client.commit] if client.client.commit else []
    words += ["--seed", str(seed)]
    words += running_options(fast=fast, isolated=isolated, variables=variables, wrap=client.wrap)
    words += ["--no-baseline"] if judging.no_baseline else []
    words += ["--baseline", str(judging.baseline.absolute())] if judging.baseline else []
    words += ["--strict"] if judging.strict else []
    return shlex.join(suite_variables() + words)


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
        if word.partition("=")[0] in LEAST or word in {"--fast", "--isolated"}:
            found.add(word)
        elif word in {"--env", "--wrap"}:
            found.add(shlex.join((word, next(left, ""))))
    return frozenset(found)
