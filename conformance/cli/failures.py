"""What ends a command that cannot do what the user wants: one sentence, and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from client_under_test.contract.exceptions import BuildFailed, CacheUnusable, ClientTrouble
from conformance.cli.invocation import program
from conformance.reporting.report import Exit
from conformance.runner.terminal_escape import block


class Failure(click.ClickException):
    """One sentence for the user, and the exit code."""

    def __init__(self, message: str, code: Exit = Exit.BAD_INPUT) -> None:
        super().__init__(message)
        self.code = code

    def show(self, file: Any = None) -> None:
        """Say it; commands of this suite in it are as the user can paste them here."""
        words = block(self.message).replace("`xdspec ", f"`{program()} ")
        click.echo(f"xdspec: {words}", file=file or sys.stderr)


@contextmanager
def client_trouble() -> Iterator[None]:
    """Turn what can be wrong with a client's name, manifest or build into a sentence."""
    try:
        yield
    except BuildFailed as trouble:
        raise Failure(str(trouble), Exit.ADAPTER_TROUBLE) from None
    except CacheUnusable as trouble:
        raise Failure(str(trouble), Exit.SUITE_TROUBLE) from None
    except ClientTrouble as trouble:
        raise Failure(str(trouble)) from None


def require_machine(jobs: int) -> None:
    """Raise Failure if this machine cannot carry that many scenarios at once."""
    from conformance.runner import preflight  # noqa: PLC0415 - times are read after the options

    try:
        preflight.check(jobs)
    except preflight.Unfit as unfit:
        raise Failure(str(unfit), Exit.SUITE_TROUBLE) from None
