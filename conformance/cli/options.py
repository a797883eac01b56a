"""The options that commands share, and what is checked of them before anything begins."""

from __future__ import annotations

import difflib
import os
import shlex
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import click
import cloup

from conformance.cli.failures import Failure
from conformance.cli.lookup import catalogue
from conformance.runner.files import check_writable
from conformance.runner.sharding import Shard, parsed
from conformance.runner.user_input import Unusable, require_folder
from conformance.runner.user_input import pairs as given_pairs
from conformance.spec.catalogue import Catalogue

OUT = Path("xdspec-out")

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
        there = dict.fromkeys(clause.document.lower() for clause in known)
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


SELECTION: Final = "Selection"
EXECUTION: Final = "Execution"
SHARDING: Final = "Sharding"
BASELINES: Final = "Baselines"
OUTPUT: Final = "Output"
"""Groups of options, in the help of any command."""

Option = tuple[str | None, tuple[str, ...], dict[str, Any]]
"""Its group, its names, and what else click takes."""


def option(*names: str, group: str | None = None, **more: Any) -> Option:
    """Describe an option that several commands may have, each in groups of its own."""
    return group, names, more


JUNIT_OPTION = option(
    "--junit",
    "junit_path",
    group=OUTPUT,
    type=Path,
    callback=writable,
    metavar="FILE",
    help="Write JUnit XML.",
)
OUT_OPTION = option(
    "--out",
    group=OUTPUT,
    type=Path,
    callback=folder,
    default=OUT,
    show_default=True,
    help="Folder for evidence.",
)

JOBS_OPTION = option(
    "--jobs",
    group=EXECUTION,
    type=click.IntRange(1),
    help="Number of scenarios at the same time. [default: by cores]",
)

SOURCE_OPTION = option(
    "--source",
    group=EXECUTION,
    type=Path,
    callback=source,
    metavar="PATH",
    help="Build the client from these sources, such as a checkout, instead of a release.",
)

SEED_OPTION = option(
    "--seed",
    group=EXECUTION,
    type=int,
    help="Random seed. Ports still differ between runs, and with them ring positions.",
)

ENV_OPTION = option(
    "--env",
    "environment",
    group=EXECUTION,
    multiple=True,
    callback=pairs,
    metavar="K=V",
    help="Environment variable for the client, such as GRPC_TRACE=xds_client (repeatable).",
)

WHICH = (
    option(
        "--only",
        "--grfc",
        "only",
        group=SELECTION,
        callback=clauses_of,
        metavar="GRFC",
        help="Run scenarios of a gRFC, such as a42, and of the gRFCs that amend it.",
    ),
    option(
        "--scenario",
        "scenario_patterns",
        group=SELECTION,
        multiple=True,
        metavar="ID",
        help="Run matching scenarios (glob; repeatable).",
    ),
    option(
        "--clause",
        "clauses",
        group=SELECTION,
        multiple=True,
        metavar="ID",
        help="Run scenarios that decide this clause (repeatable).",
    ),
)
"""Which scenarios run."""

HOW = (
    SEED_OPTION,
    JOBS_OPTION,
    ENV_OPTION,
    option(
        "--wrap",
        group=EXECUTION,
        callback=tool,
        metavar="COMMAND",
        help="Start the client under a tool, such as 'valgrind --log-file=%p.log'. Deadlines "
        f"become {WRAPPED_SCALE} times as long, unless {TIME_SCALE} is set.",
    ),
)
"""How they run."""

FAST_OPTION = option(
    "--fast",
    group=EXECUTION,
    is_flag=True,
    help="Skip what is slow: shorten the failover timer if the client has a knob for it, end the "
    "soak after one storm of faults, and skip scenarios that wait for a missing resource or decide "
    "only clauses of editions that the client does not declare.",
)

ISOLATED_OPTION = option(
    "--isolated",
    group=EXECUTION,
    is_flag=True,
    help="Start a client process for each scenario, even if the client can share one.",
)

VERBOSE_OPTION = option(
    "-v",
    "--verbose",
    group=OUTPUT,
    is_flag=True,
    help="List every scenario and clause, and describe every failure.",
)

COMMIT_OPTION = option(
    "--commit",
    group=EXECUTION,
    metavar="REF",
    help="Build from this commit of the --source checkout, not from its files.",
)

STRICT_OPTION = option(
    "--strict",
    group=BASELINES,
    is_flag=True,
    help="Treat failed SHOULD clauses as failures.",
)

RUN = (
    option(
        "--all",
        "every_client",
        group=SELECTION,
        is_flag=True,
        help="Run every bundled client whose toolchain is available.",
    ),
    *WHICH,
    *HOW,
    FAST_OPTION,
    ISOLATED_OPTION,
    SOURCE_OPTION,
    COMMIT_OPTION,
    option(
        "--hold",
        group=EXECUTION,
        is_flag=True,
        help="Keep client and servers of one scenario up at its end, until Enter or a signal.",
    ),
    option("--no-baseline", group=BASELINES, is_flag=True, help="Ignore baselines."),
    option(
        "--baseline",
        group=BASELINES,
        type=Path,
        metavar="FILE",
        help="Your own expected.toml; its entries override those of the client.",
    ),
    STRICT_OPTION,
    option(
        "--shard",
        group=SHARDING,
        callback=shard,
        metavar="K/N",
        help="Run the K-th of N shares of the scenarios; `xdspec merge` joins the reports.",
    ),
    option(
        "--durations",
        group=SHARDING,
        type=Path,
        metavar="REPORT",
        help="Balance shards by the durations in this report.",
    ),
    option(
        "--json",
        "json_path",
        group=OUTPUT,
        type=Path,
        callback=writable,
        metavar="FILE",
        help="Write the report, which other commands read.",
    ),
    JUNIT_OPTION,
    OUT_OPTION,
    option(
        "--keep-evidence",
        group=OUTPUT,
        is_flag=True,
        help="Keep the evidence of scenarios that pass, too.",
    ),
    VERBOSE_OPTION,
)

SERVE = (
    option(
        "--with",
        "client",
        metavar="CLIENT",
        default="reference",
        show_default=True,
        help="The client that makes the calls that you do not make, and whose manifest decides "
        "how your client is judged.",
    ),
    SEED_OPTION,
    ENV_OPTION,
    OUT_OPTION,
)

EXPLORE = (
    option(
        "--only",
        group=SELECTION,
        type=click.Choice(["ring"]),
        default="ring",
        show_default=True,
        help="Draw courses of this area.",
    ),
    option(
        "--replay",
        group=SELECTION,
        type=Path,
        metavar="FILE",
        help="Run the course in this file instead of drawing courses.",
    ),
    option(
        "--minutes",
        group=EXECUTION,
        type=click.FloatRange(0, min_open=True),
        default=1.0,
        show_default=True,
        metavar="N",
        help="How long to draw courses. What has failed is then still repeated and shrunk.",
    ),
    option(
        "--times",
        group=EXECUTION,
        type=click.IntRange(1),
        metavar="N",
        default=10,
        show_default=True,
        help="How often to run the course of --replay.",
    ),
    SEED_OPTION,
    option(
        "--jobs",
        group=EXECUTION,
        type=click.IntRange(1),
        help="Number of courses at the same time. [default: by cores]",
    ),
    ENV_OPTION,
    SOURCE_OPTION,
    COMMIT_OPTION,
    OUT_OPTION,
)

HISTORY = (
    SOURCE_OPTION,
    option(
        "--commits",
        group=SELECTION,
        metavar="GOOD..BAD",
        help="Compare these commits of the --source checkout.",
    ),
    option(
        "--bisect",
        group=SELECTION,
        metavar="CLAUSE",
        help="Find the version in which the verdict on this clause last changed, with few runs.",
    ),
    *WHICH,
    *HOW,
    FAST_OPTION,
    ISOLATED_OPTION,
    OUT_OPTION,
    option(
        "--json",
        "json_path",
        group=OUTPUT,
        type=Path,
        callback=writable,
        metavar="FILE",
        help="Write the history.",
    ),
    option("--markdown", group=OUTPUT, is_flag=True, help="Print Markdown."),
    option(
        "--report",
        "report_path",
        group=OUTPUT,
        type=Path,
        callback=writable,
        metavar="FILE",
        help="Write the report of the runs; a later command accepts it instead of versions.",
    ),
)


GATE = (
    option(
        "--base",
        group=EXECUTION,
        required=True,
        metavar="BASE",
        help="Compare with this commit of the checkout, released version, report or other sources.",
    ),
    SOURCE_OPTION,
    COMMIT_OPTION,
    option(
        "--quick",
        group=SELECTION,
        is_flag=True,
        help="Run only scenarios that fit into about 30 s on two cores, for each side: those that "
        "decide the most selected clauses. The result names the clauses that are left out.",
    ),
    *WHICH,
    *HOW,
    FAST_OPTION,
    ISOLATED_OPTION,
    STRICT_OPTION,
    option(
        "--json",
        "json_path",
        group=OUTPUT,
        type=Path,
        callback=writable,
        metavar="FILE",
        help="Write the comparison.",
    ),
    JUNIT_OPTION,
    option("--markdown", group=OUTPUT, is_flag=True, help="Print Markdown."),
    OUT_OPTION,
)


MUTANTS = (
    option(
        "--clause",
        "clauses",
        group=SELECTION,
        multiple=True,
        metavar="ID",
        help="Run mutants of this clause (repeatable).",
    ),
    option(
        "--area",
        "areas",
        group=SELECTION,
        multiple=True,
        metavar="AREA",
        help="Run mutants of a base text, such as a42, or of one of its files, such as a42/ring.",
    ),
    option(
        "--mutant",
        "names",
        group=SELECTION,
        multiple=True,
        metavar="ID",
        help="Run this mutant (repeatable).",
    ),
    JOBS_OPTION,
    option(
        "--json",
        "json_path",
        group=OUTPUT,
        type=Path,
        callback=writable,
        metavar="FILE",
        help="Write the results.",
    ),
    OUT_OPTION,
)


def examples(*commands: str) -> str:
    """Return the end of a command's help: lines that can be typed."""
    return "\n".join(("\b", "Examples:", *(f"  xdspec {command}" for command in commands)))


def with_options(options: Sequence[Option]) -> Callable[..., Any]:
    """Return a decorator that gives a command these options, in this order."""
    groups = {name: cloup.OptionGroup(name) for name, _, _ in options if name}

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for name, declared, more in reversed(options):
            function = cloup.option(*declared, group=groups.get(name or ""), **more)(function)
        return function

    return decorate
