"""Check and convert the values of options."""

from __future__ import annotations

import difflib
import os
import shlex
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import click

from conformance.cli.failures import Failure
from conformance.cli.lookup import catalogue
from conformance.runner.files import check_writable
from conformance.runner.sharding import Shard, parsed
from conformance.runner.user_input import Unusable, require_folder
from conformance.runner.user_input import pairs as given_pairs
from conformance.spec.catalogue import Catalogue

TIME_SCALE = "XDSPEC_TIME_SCALE"
"""Read by `conformance.timing`, which is loaded after the options."""

WRAPPED_SCALE = "10"
"""The time scale for a client behind --wrap: valgrind makes most programs ten to thirty times
slower, and nearly all events come in a tenth of their deadline."""


def pairs(_: click.Context, option: click.Parameter, given: Sequence[str]) -> dict[str, str]:
    """``K=V`` arguments as a mapping."""
    try:
        return given_pairs(given)
    except Unusable as error:
        raise click.BadParameter(str(error), param=option) from None


def capitals(_: click.Context, _option: click.Parameter, ids: Sequence[str]) -> tuple[str, ...]:
    """Return ids of clauses as they are written, and anything else as the user wrote it."""
    return tuple(each if "." in each else each.upper() for each in ids)


def tool(_: click.Context, option: click.Parameter, words: str | None) -> tuple[str, ...]:
    """Return the arguments of a command that wraps the client; its program must exist.

    Such a tool makes clients slow: deadlines grow, unless the user has said by how much.
    """
    if words is None:
        return ()
    try:
        program, *arguments = shlex.split(words)
    except ValueError:  # nothing, or a quotation without its end
        message = f"{words!r} is not a command such as 'valgrind --log-file=%p.log'"
        raise click.BadParameter(message, param=option) from None
    found = shutil.which(program)
    if found is None:
        raise click.BadParameter(f"there is no program {program}", param=option)
    os.environ.setdefault(TIME_SCALE, WRAPPED_SCALE)
    return (str(Path(found).absolute()), *arguments)


def writable(_: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    """Return a file that can be written, in an existing folder: check before the run, not after."""
    if path is None:
        return None
    try:
        if not path.absolute().parent.is_dir():
            raise click.BadParameter(f"the folder of {path} does not exist", param=option)
        if path.is_dir():
            raise click.BadParameter(f"{path} is a folder: name a file", param=option)
        check_writable(path)
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}"
        raise click.BadParameter(message, param=option) from None
    return path


def two_files(path: Path | None, other: Path | None, options: str) -> None:
    """See that one file is not to hold both reports.

    Args:
        path: a file.
        other: another one.
        options: by which they are named.

    Raises:
        click.UsageError: it is.
    """
    if path and other and path.resolve() == other.resolve():
        raise click.UsageError(f"{options} name one file: each report needs its own")


def folder(_: click.Context, option: click.Parameter, path: Path) -> Path:
    """Return a folder that exists or can be made."""
    try:
        require_folder(path)
    except Unusable as error:
        raise click.BadParameter(str(error), param=option) from None
    return path


def source(_: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    """Return the absolute path of existing sources."""
    if path is not None and not path.exists():
        raise click.BadParameter(f"there is no {path}", param=option)
    return None if path is None else absolute(path)


def absolute(path: Path) -> Path:
    """Return the absolute path of something that is there, without `..` where that is the same."""
    plain = Path(os.path.normpath(path.absolute()))
    with suppress(OSError):
        if plain.samefile(path):
            return plain
    return path.absolute()


def demanded_clauses(grfc: str, known: Catalogue) -> tuple[str, ...]:
    """Return the clauses of a gRFC, and the clauses of its amendments.

    Raises:
        Failure: there is none.
    """
    clauses = tuple(clause.id for clause in known.only(grfc))
    if not clauses:
        if any(clause.id == grfc.upper() for clause in known):
            raise Failure(f"{grfc} is a clause, not a gRFC; `run --clause` selects clauses")
        documents = {clause.document.lower() for clause in known}
        there = sorted(documents, key=lambda document: int(document[1:]))
        near = difflib.get_close_matches(grfc.lower(), there, n=1, cutoff=0.75)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise Failure(f"no clause belongs to {grfc}{hint}; choose from {', '.join(there)}")
    return clauses


def clauses_of(_: click.Context, option: click.Parameter, grfc: str | None) -> tuple[str, ...]:
    """Return the clauses of the gRFC that an option names."""
    if grfc is None:
        return ()
    try:
        return demanded_clauses(grfc, catalogue())
    except Failure as failure:
        raise click.BadParameter(failure.message, param=option) from None


def shard(_: click.Context, option: click.Parameter, text: str | None) -> Shard | None:
    """Parse a shard such as `2/4`."""
    found = None if text is None else parsed(text)
    if text is not None and found is None:
        message = f"{text!r} is not a shard such as 2/4, the second of four"
        raise click.BadParameter(message, param=option)
    return found


def needless(context: click.Context, option: click.Parameter, is_given: bool) -> None:  # noqa: FBT001 - click passes it so
    """Refuse ``--no-baseline`` where a command counts known failures anyway."""
    if is_given and not context.resilient_parsing:
        raise click.BadParameter(
            "the gate needs none: it compares failures whether or not a baseline lists them",
            param=option,
        )
