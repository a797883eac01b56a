"""What a client's process is given of the suite's own surroundings: its variables, its PATH."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from client_under_test.contract.exceptions import NotStarted

# A client is judged as shipped: what the suite's own environment says to gRPC, Python, pytest and
# proxies does not reach it, nor where the suite runs. What is meant for it is given explicitly.
_KEPT_OUT: Final = ("GRPC_", "PYTHON", "PYTEST_", "VIRTUAL_ENV", "PWD", "OLDPWD")


def inherited() -> dict[str, str]:
    """Return the environment variables that the client inherits."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_KEPT_OUT) and not name.lower().endswith("_proxy")
    }


def found(command: Sequence[str]) -> tuple[str, ...]:
    """Return the command with an absolute path of its program, so that it works in any folder.

    Raises:
        NotStarted: there is no such program.
    """
    program, *arguments = command
    place = shutil.which(program)
    if place is None:
        raise NotStarted(f"there is no program {program}", hello_said=False)
    return (str(Path(place).absolute()), *arguments)
