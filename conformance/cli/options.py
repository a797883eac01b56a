"""The options that commands share, and what is checked of them before anything begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import click
import cloup

from conformance.cli.option_values import (
    TIME_SCALE,
    WRAPPED_SCALE,
    capitals,
    clauses_of,
    folder,
    needless,
    pairs,
    shard,
    source,
    tool,
    writable,
)

OUT = Path("xdspec-out")


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


def _clauses(words: str) -> Option:
    names, more = ("--clause", "clauses"), {"multiple": True, "metavar": "ID", "help": words}
    return option(*names, group=SELECTION, callback=capitals, **more)


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
    help="Number of scenarios at the same time. [default: by cores, more while they are idle]",
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
        help="Run these scenarios: an id, or a glob in which [ab] is a or b (repeatable).",
    ),
    _clauses("Run scenarios that decide this clause (repeatable)."),
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
    help="Skip slow checks: shorten the failover timer if the client has a setting for it, test "
    "one burst of faults instead of several, and skip scenarios that wait for a missing resource "
    "or decide only clauses of editions that the client does not declare.",
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
        "--times",
        group=EXECUTION,
        type=click.IntRange(1),
        metavar="N",
        default=1,
        help="Run each selected scenario N times, to find or rule out a race. The report has the "
        "worst result of each. Needs --scenario or --clause.",
    ),
    option(
        "--hold",
        group=EXECUTION,
        is_flag=True,
        help="Keep client and servers of one scenario up at its end, until Enter or a signal.",
    ),
    option(
        "--no-baseline",
        group=BASELINES,
        is_flag=True,
        help="Treat known failures as new ones, which fail the run.",
    ),
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

CLIENT_OPTIONS = (SOURCE_OPTION, COMMIT_OPTION, ENV_OPTION)

DOCTOR = (SOURCE_OPTION,)

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
    *CLIENT_OPTIONS,
    SEED_OPTION,
    OUT_OPTION,
)

YES_OPTION = option("--yes", is_flag=True, help="Do not ask.")
BUNDLE_OUT = option("--out", type=Path, help="Folder for evidence. [default: a new one in BUNDLE]")
REPLAY = (BUNDLE_OUT, *CLIENT_OPTIONS, YES_OPTION)

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
        metavar="BASE",
        help="Compare with this commit of the checkout, released version, report or other sources. "
        "[required]",
    ),
    SOURCE_OPTION,
    COMMIT_OPTION,
    option(
        "--quick",
        group=SELECTION,
        is_flag=True,
        help="Run only scenarios that fit into about 30 s on two cores, for each side: those that "
        "decide the most selected clauses. The result counts the clauses that are left out "
        "or judged in part.",
    ),
    *WHICH,
    *HOW,
    FAST_OPTION,
    ISOLATED_OPTION,
    STRICT_OPTION,
    option(
        "--no-baseline",
        group=BASELINES,
        is_flag=True,
        hidden=True,
        expose_value=False,
        callback=needless,
    ),
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
    option(
        "--summary",
        "summary_path",
        group=OUTPUT,
        type=Path,
        callback=writable,
        metavar="FILE",
        help="Write Markdown, such as for the page of a CI job.",
    ),
    option(
        "--annotations",
        "annotations_path",
        group=OUTPUT,
        type=Path,
        callback=writable,
        metavar="FILE",
        help="Write annotations for GitHub runners.",
    ),
    OUT_OPTION,
    option(
        "-v",
        "--verbose",
        group=OUTPUT,
        is_flag=True,
        help="Describe every broken clause, not one of each kind of failure.",
    ),
)


MUTANTS = (
    _clauses("Run mutants of this clause (repeatable)."),
    option(
        "--area",
        "areas",
        group=SELECTION,
        multiple=True,
        metavar="AREA",
        help="Run mutants of a topic, such as ring_hash, or of a file, such as ring_hash/ring.",
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
