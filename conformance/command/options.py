"""The options that commands share, and what is checked of them before anything begins."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from conformance.catalogue import Catalogue
from conformance.command.failures import Failure
from conformance.command.named import catalogue
from conformance.running.given import Unusable, demand_folder
from conformance.running.given import pairs as given_pairs
from conformance.running.shard import Shard, parsed
from conformance.running.whole_files import check_writable

OUT = Path("xdspec-out")

TIME_SCALE = "XDSPEC_TIME_SCALE"
"""Read by `conformance.timing`, which is loaded after the options."""

WRAPPED_SCALE = "10"
"""Of a client behind --wrap: valgrind makes most programs ten to thirty times slower, and nearly
all that is waited for is done in a tenth of its deadline."""


def pairs(_: click.Context, option: click.Parameter, given: Sequence[str]) -> dict[str, str]:
    """``K=V`` arguments as a mapping."""
    try:
        return given_pairs(given)
    except Unusable as error:
        raise click.BadParameter(str(error), param=option) from None


def tool(_: click.Context, option: click.Parameter, words: str | None) -> tuple[str, ...]:
    """The words of a command that a client is started by, whose program is there.

    Such a tool makes clients slow: deadlines grow, unless the user has said by how much.
    """
    if words is None:
        return ()
    try:
        program, *arguments = shlex.split(words)
    except ValueError:  # nothing, or a quotation without its end
        message = f"{words!r} is no command such as 'valgrind --log-file=%p.log'"
        raise click.BadParameter(message, param=option) from None
    found = shutil.which(program)
    if found is None:
        raise click.BadParameter(f"there is no program {program}", param=option)
    os.environ.setdefault(TIME_SCALE, WRAPPED_SCALE)
    return (str(Path(found).absolute()), *arguments)


def writable(_: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    """A file that can be written, in a folder that exists: better known before than after."""
    if path is None:
        return None
    try:
        if not path.absolute().parent.is_dir():
            raise click.BadParameter(f"the folder of {path} does not exist", param=option)
        if path.is_dir():
            raise click.BadParameter(f"{path} is a folder, and a file is wanted", param=option)
        check_writable(path)
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}"
        raise click.BadParameter(message, param=option) from None
    return path


def two_files(one: Path | None, other: Path | None, options: str) -> None:
    """See that one file is not to hold both reports.

    Args:
        one: a file.
        other: another one.
        options: by which they are named.

    Raises:
        click.UsageError: it is.
    """
    if one and other and one.resolve() == other.resolve():
        raise click.UsageError(f"{options} name one file: each report needs its own")


def folder(_: click.Context, option: click.Parameter, path: Path) -> Path:
    """A folder that is there, or can be made."""
    try:
        demand_folder(path)
    except Unusable as error:
        raise click.BadParameter(str(error), param=option) from None
    return path


def source(_: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    """The absolute path of sources that are there."""
    if path is not None and not path.exists():
        raise click.BadParameter(f"there is no {path}", param=option)
    return None if path is None else path.absolute()


def demanded_clauses(grfc: str, known: Catalogue) -> tuple[str, ...]:
    """The clauses of a gRFC, and those that amend it.

    Raises:
        Failure: there is none.
    """
    clauses = tuple(clause.id for clause in known.only(grfc))
    if not clauses:
        there = ", ".join(dict.fromkeys(clause.document.lower() for clause in known))
        raise Failure(f"no clause is of {grfc}: there are {there}")
    return clauses


def clauses_of(_: click.Context, option: click.Parameter, grfc: str | None) -> tuple[str, ...]:
    """The same, of an option's value."""
    if grfc is None:
        return ()
    try:
        return demanded_clauses(grfc, catalogue())
    except Failure as failure:
        raise click.BadParameter(failure.message, param=option) from None


def shard(_: click.Context, option: click.Parameter, text: str | None) -> Shard | None:
    """The shard that `2/4` names."""
    found = None if text is None else parsed(text)
    if text is not None and found is None:
        message = f"{text!r} is no shard such as 2/4, the second of four"
        raise click.BadParameter(message, param=option)
    return found


OUT_OPTION = click.option(
    "--out", type=Path, callback=folder, default=OUT, show_default=True, help="Folder for evidence."
)

JOBS_OPTION = click.option(
    "--jobs", type=click.IntRange(1), help="Scenarios at once. [default: by cores]"
)


SOURCE_OPTION = click.option(
    "--source",
    type=Path,
    callback=source,
    metavar="PATH",
    help="Build the client from these sources, such as a checkout, instead of a release.",
)


WHICH = (
    click.option(
        "--only",
        callback=clauses_of,
        metavar="GRFC",
        help="Only scenarios of a gRFC's clauses and of those that amend it, such as a42.",
    ),
    click.option(
        "--scenario",
        "scenario_patterns",
        multiple=True,
        metavar="ID",
        help="Only this scenario; shell patterns are known. May be repeated.",
    ),
    click.option(
        "--clause",
        "clauses",
        multiple=True,
        metavar="ID",
        help="Only scenarios that decide this clause. May be repeated.",
    ),
)
"""Which scenarios run."""

HOW = (
    click.option(
        "--seed",
        type=int,
        help="Draw the same random numbers as another run. Ports are new in each run, and "
        "with them the rings and what is chosen by those.",
    ),
    JOBS_OPTION,
    click.option(
        "--env",
        "environment",
        multiple=True,
        callback=pairs,
        metavar="K=V",
        help="Environment for the client, such as GRPC_TRACE=xds_client.",
    ),
    click.option(
        "--wrap",
        callback=tool,
        metavar="COMMAND",
        help="Start the client by this, such as 'valgrind --log-file=%p.log'. Deadlines "
        f"are then {WRAPPED_SCALE} times as long, unless {TIME_SCALE} is set.",
    ),
)
"""How they run."""

FAST_OPTION = click.option(
    "--fast",
    is_flag=True,
    help="Shorten the client's failover timer where it has a knob for that; clauses on "
    "its length are skipped. Leave out scenarios that decide only what the client does "
    "not state, and those that wait until a resource does not exist, and end the soak "
    "after one storm of faults.",
)

VERBOSE_OPTION = click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="List every scenario and clause, and describe every failure.",
)

RUN = (
    VERBOSE_OPTION,
    click.option(
        "--all",
        "every_client",
        is_flag=True,
        help="Every real client that can be had here.",
    ),
    *WHICH,
    *HOW,
    click.option(
        "--json", "json_path", type=Path, callback=writable, help="Write the report here."
    ),
    click.option(
        "--junit", "junit_path", type=Path, callback=writable, help="Write JUnit XML here."
    ),
    OUT_OPTION,
    click.option("--keep-evidence", is_flag=True, help="Keep that of scenarios that pass, too."),
    FAST_OPTION,
    click.option("--no-baseline", is_flag=True, help="Let expected failures count."),
    click.option(
        "--baseline",
        type=Path,
        metavar="FILE",
        help="Known failures of your own, laid over those of the client.",
    ),
    click.option("--strict", is_flag=True, help="Let SHOULD clauses fail the run, too."),
    SOURCE_OPTION,
    click.option(
        "--commit",
        metavar="REF",
        help="Build from this commit of the checkout that --source names, not from its files.",
    ),
    click.option(
        "--shard",
        callback=shard,
        metavar="K/N",
        help="Run the K-th of N shares of the scenarios, of about the same length. `xdspec merge` "
        "makes one report of all N.",
    ),
    click.option(
        "--durations",
        type=Path,
        metavar="REPORT",
        help="Deal shares out by how long the scenarios took there.",
    ),
    click.option(
        "--hold",
        is_flag=True,
        help="Keep the world of one scenario up at its end until a key or signal.",
    ),
)

SERVE = (
    click.option(
        "--with",
        "client",
        metavar="CLIENT",
        default="reference",
        show_default=True,
        help="What makes those calls that you do not make, and whose manifest says what a client "
        "driven by hand is judged by.",
    ),
    HOW[0],
    HOW[2],
    OUT_OPTION,
)

HISTORY = (
    SOURCE_OPTION,
    click.option(
        "--commits",
        metavar="GOOD..BAD",
        help="Compare these commits of the checkout that --source names.",
    ),
    click.option(
        "--bisect",
        metavar="CLAUSE",
        help="Find since when this clause is as it is in the last version, by as few runs as "
        "that takes, of its scenarios alone.",
    ),
    *WHICH,
    *HOW,
    FAST_OPTION,
    OUT_OPTION,
    click.option(
        "--json", "json_path", type=Path, callback=writable, help="Write the history here."
    ),
    click.option("--markdown", is_flag=True, help="Print it as Markdown."),
    click.option(
        "--report",
        "report_path",
        type=Path,
        callback=writable,
        help="Write the report of the runs here: it can be named in the place of their versions.",
    ),
)


def with_options(options: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    """A decorator that gives a command these options, in this order."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate
