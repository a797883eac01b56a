"""Where words for people go: whatever is in them, nothing but text reaches a terminal."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import click
from rich.console import Console

LONGEST = 200
"""Letters of one word that are shown of what a user named."""

# What moves a cursor, colours, rings, or has text run the other way; line ends and tabs are text.
_NO_TEXT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)


class OutputLost(Exception):
    """What is said cannot be written where it is to go; the text is a sentence."""


def plain(text: str) -> str:
    r"""The same, with every character that is no text written out, such as `\x1b`."""
    with suppress(UnicodeEncodeError):  # of a name of a file, in a locale that is not UTF-8
        text = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return _NO_TEXT.sub(lambda one: one[0].encode("unicode_escape").decode(), text)


def short(text: str) -> str:
    """The same, but of words without end only their beginning and their end."""
    half = LONGEST // 2
    return re.sub(
        rf"(\S{{{half}}})\S{{{LONGEST},}}(\S{{{half}}})", lambda long: f"{long[1]}…{long[2]}", text
    )


def echo(text: str, *, nl: bool = True, err: bool = False) -> None:
    """Say something, without colours.

    Raises:
        OutputLost: it cannot be said.
    """
    with _told("standard error" if err else "standard output"):
        click.echo(plain(text), nl=nl, err=err)


class Screen(Console):
    """A console for words of clients, too."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print it.

        Raises:
            OutputLost: it cannot be printed.
        """
        words = [plain(one) if isinstance(one, str) else one for one in objects]
        with _told("standard output"):
            super().print(*words, **options)

    def on_broken_pipe(self) -> NoReturn:
        """Say so, where rich would end the process as one that does not conform."""
        raise OutputLost("nobody reads standard output any more")


@contextmanager
def _told(where: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise OutputLost(f"nobody reads {where} any more") from None
    except OSError as error:
        raise OutputLost(f"{where} cannot be written: {error.strerror}") from error


def in_utf_8() -> None:
    """Have files and pipes told in UTF-8, and a terminal in its own letters as far as they go."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure: Callable[..., None] | None = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            encoding = stream.encoding if stream.isatty() else "utf-8"
            reconfigure(encoding=encoding, errors="backslashreplace")
