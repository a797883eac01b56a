"""The group of all commands: it prints what ended one, and exits with a code of this suite."""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

import click
import cloup

from conformance.cli.error_report import settle_output, tell
from conformance.cli.failures import Failure
from conformance.reporting.report import Exit
from conformance.reporting.stdout import OutputClosed, OutputLost, echo, in_utf_8
from conformance.runner.interruption import end_is_decided
from conformance.runner.terminal_escape import short

CLOSED = 128 + signal.SIGPIPE
"""The exit code if the reader of the output wants no more of it, as of a program that SIGPIPE ends.

Such as ``xdspec list clauses | head -1``. It is not 0, since that would be a verdict."""

RUNNING = {"run", "gate", "explore", "history", "mutants", "test", "serve", "doctor", "replay"}
"""Commands that start a client or tests. If one breaks off, the user must learn of it."""


class Command(cloup.Group):
    """The group of all commands; usage errors have this suite's exit code for bad input."""

    _named: str | None = None
    """The command that the user named."""

    def main(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Run, and exit with a code of ours."""
        kwargs["standalone_mode"] = False
        in_utf_8()
        try:
            sys.exit(self._said(lambda: super(Command, self).main(*args, **kwargs)))
        finally:
            end_is_decided()

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Remember which command the user named."""
        self._named, command, left = super().resolve_command(ctx, args)
        return self._named, command, left

    def _said(self, do: Callable[[], Any]) -> int:
        """Call `do`, print its error, and return the exit code; 1 is for clients only."""
        try:
            code = do()
            sys.stdout.flush()
        except click.ClickException as error:
            words = io.StringIO()
            error.show(words)
            with suppress(OutputLost):
                echo(short(words.getvalue()), nl=False, err=True)
            return error.code if isinstance(error, Failure) else Exit.BAD_INPUT
        except (click.Abort, KeyboardInterrupt):
            return Exit.INTERRUPTED
        except (SystemExit, Exception) as error:  # noqa: BLE001 - whatever it is
            settle_output()
            if self._reader_has_enough(error):
                return CLOSED
            tell(error)
            return Exit.SUITE_TROUBLE
        return code if isinstance(code, int) else Exit.CONFORMS

    def _reader_has_enough(self, error: BaseException) -> bool:
        """Return whether nothing failed, but the reader of the output has closed it."""
        if isinstance(error, SystemExit):  # click exits with 1 if it cannot print the help
            return True
        is_closed = isinstance(error, BrokenPipeError | OutputClosed)
        return is_closed and self._named not in RUNNING
