"""Report an unexpected exception: one sentence, the file with the details, and an exit code."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from contextlib import suppress
from pathlib import Path

from conformance.reporting.stdout import OutputLost, echo
from conformance.runner.terminal_escape import plain, short

PREFIX = "xdspec-trouble-"
TROUBLE = "trouble.txt"
"""In the evidence of a client: all that is known of what ended its run."""

PLEASE = "internal error of the suite, please report it"


def tell(error: BaseException) -> None:
    """Say on standard error what ended the command, and where all of it is."""
    words = sentence(error)
    if not isinstance(error, OutputLost):
        words += f" ({details(error)})"
    with suppress(OutputLost, ValueError):
        echo(f"xdspec: {words}", err=True)


def sentence(error: BaseException) -> str:
    """Describe an error in a line; for a system error, the operation and the reason."""
    match error:
        case OutputLost():
            said = str(error)
        case MemoryError():
            said = "out of memory"
        case RuntimeError() if "start new thread" in str(error):
            said = "the system refuses more threads"
        case OSError(strerror=str(why), filename=None):
            said = f"the system refused an operation: {why}"
        case OSError(strerror=str(why)):
            said = f"{os.fsdecode(error.filename)}: {why}"
        case _:
            said = f"{PLEASE}: {type(error).__name__}: {error}"
    return short(" ".join(plain(said).split()))


def details(error: BaseException) -> str:
    """Write all that is known of it; where that is, or that it is nowhere."""
    text = "".join(traceback.format_exception(error))
    with suppress(OSError):
        number, name = tempfile.mkstemp(prefix=PREFIX, suffix=".txt")
        with os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        return f"details: {name}"
    return "its details could not be written"


def in_a_line(text: str, file: Path) -> str:
    """Describe the end of a run in a line; write a longer text to a file, and name the file."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < 2:  # noqa: PLR2004 - it is a line already
        return short(text.strip())
    said = [line.removeprefix("E ").strip() for line in lines if line.startswith("E ")]
    message = f"{lines[0]}: {said[0]}" if said else lines[-1].strip()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8", errors="backslashreplace") as kept:
            kept.write(f"{text}\n\n")
    except OSError:
        return short(f"{message} (its details could not be written)")
    return short(f"{message} (details: {file})")


def forget(file: Path) -> None:
    """Remove what an earlier run has left there."""
    with suppress(OSError):
        file.unlink(missing_ok=True)


def settle_output() -> None:
    """Let go of what standard output cannot take, which Python would try to write at its end."""
    with suppress(OSError, ValueError):
        try:
            sys.stdout.flush()
        except OSError:
            pass
        else:
            return
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
