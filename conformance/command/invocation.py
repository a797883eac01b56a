"""How the user calls this command, and would call it again."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from client_under_test import Prepared
from conformance.running.settings import LEAST


def program() -> str:
    """What the user types to start this command."""
    from_checkout = Path(sys.argv[0]).parts[-2:] == ("conformance", "__main__.py")
    return "./xdspec" if from_checkout else "xdspec"


def again(client: Prepared, *, seed: int, fast: bool, environment: Mapping[str, str]) -> str:
    """The beginning of a command that runs one scenario of a run again.

    Args:
        client: of the run.
        seed: of the run.
        fast: whether its timers were shortened.
        environment: what the client was given by ``--env``; `withheld` where others read it.
    """
    words = [program(), "run", client.argument]
    words += ["--source", str(client.client.source)] if client.client.source else []
    words += ["--seed", str(seed)]
    words += ["--fast"] if fast else []
    for key, value in environment.items():
        words += ["--env", f"{key}={value}"]
    words += ["--wrap", shlex.join(client.wrap)] if client.wrap else []
    variables = [f"{name}={os.environ[name]}" for name in LEAST if name in os.environ]
    return shlex.join(variables + words)
