"""Print text, with verdicts in color; control characters never reach a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import click
from rich.console import Console
from rich.markup import escape

from conformance.judging.verdicts import Verdict
from conformance.runner.terminal_escape import defused, plain


def from_here(path: str | Path) -> str:
    """Return a path as the user would type it: relative, if it is in the current folder."""
    with suppress(OSError, ValueError):
        return str(Path(path).relative_to(Path.cwd()))
    return str(path)


class OutputLost(Exception):
    """The output cannot be written; the message is a sentence."""


class OutputClosed(OutputLost):
    """The reader of standard output has closed it, as ``head`` does when it has enough."""


def echo(text: str, *, nl: bool = True, err: bool = False, commands: bool = False) -> None:
    """Print a text without colors.

    Args:
        text: the text.
        nl: whether to end the line.
        err: whether it goes to standard error.
        commands: whether a line may be a command for a runner of a CI.

    Raises:
        OutputLost: it cannot be said.
    """
    with _told("standard error" if err else "standard output"):
        click.echo(plain(text) if commands else defused(plain(text)), nl=nl, err=err)


class Screen(Console):
    """A console for words of clients, too."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print it.

        Raises:
            OutputLost: it cannot be printed.
        """
        words = [defused(plain(item)) if isinstance(item, str) else item for item in objects]
        options.setdefault("soft_wrap", True)  # do not split other texts into lines
        with _told("standard output"):
            super().print(*words, **options)

    def on_broken_pipe(self) -> NoReturn:
        """Say so, where rich would end the process as one that does not conform."""
        raise OutputClosed("standard output was closed")


def say(console: Console, text: str, style: str = "") -> None:
    """Print a text as it is: without markup, without colors of its own, and in one line."""
    console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def _told(where: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise OutputClosed(f"{where} was closed") from None
    except OSError as error:
        raise OutputLost(f"{where} cannot be written: {error.strerror}") from error


def in_utf_8() -> None:
    """Write files and pipes in UTF-8, and a terminal in its own encoding as far as it goes."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure: Callable[..., None] | None = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            encoding = stream.encoding if stream.isatty() else "utf-8"
            reconfigure(encoding=encoding, errors="backslashreplace")


COLOURS = {
    Verdict.PASS: "green",
    Verdict.FAIL: "red",
    Verdict.SEEN: "cyan",
    Verdict.SKIP: "yellow",
    Verdict.ERROR: "magenta",
}


def painted(verdict: Verdict, text: str | None = None) -> str:
    """Return a verdict, or another text, as markup in the verdict's color."""
    return f"[{COLOURS[verdict]}]{escape(text or verdict.value)}[/]"
