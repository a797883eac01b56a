"""The commands that need no client, but what runs of some have left: evidence and reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import cloup

from conformance.cli.failures import Failure
from conformance.cli.lookup import catalogue
from conformance.cli.option_values import pairs, two_files, writable
from conformance.cli.options import (
    REPLAY,
    VERBOSE_OPTION,
    examples,
    with_options,
)
from conformance.reporting.report import Exit, is_shard
from conformance.reporting.stdout import Screen, echo


@cloup.command(
    epilog=examples(
        "show xdspec-out/go/ring.search",
        "show xdspec-out/go/ring.search --html page.html",
    )
)
@cloup.argument("folder", type=Path)
@cloup.option(
    "--html", type=Path, callback=writable, metavar="FILE", help="Write one self-contained page."
)
@cloup.option(
    "--trace", type=Path, callback=writable, metavar="FILE", help="Write a trace for Perfetto."
)
def show(folder: Path, *, html: Path | None, trace: Path | None) -> None:
    """Draw the evidence of one scenario.

    Draws the events on one clock, the ring, shares and load of the scenario whose evidence is in
    FOLDER: in the terminal, or in the files of --html and --trace.
    """
    from conformance.cli.pictures import show as shown  # noqa: PLC0415

    shown(folder, catalogue(), Screen(), html=html, trace=trace)


@cloup.command(epilog=examples("site report.json -o pages"))
@cloup.argument("paths", nargs=-1, required=True, type=Path, metavar="REPORT…")
@cloup.option("-o", "--out", type=Path, metavar="DIR", help="Folder for the site.  [required]")
def site(paths: tuple[Path, ...], *, out: Path | None) -> None:
    """Write reports as a static website.

    REPORTs are files of `run --json`. Each clause and each failure has a page; failures whose
    evidence is still there have the pictures of `show`. The site needs no server and no network.
    """
    folder, reports = _out_and_reports(paths, out)
    from conformance.cli.pictures import site as written  # noqa: PLC0415

    for line in written(folder, reports, catalogue()):
        echo(line)


@cloup.command(epilog=examples("bundle report.json ring.search -o ring-search.zip"))
@cloup.argument("report", type=Path)
@cloup.argument("scenario")
@cloup.option(
    "-o",
    "--out",
    type=Path,
    metavar="FILE",
    help="A folder, or a file ending in .zip. [default: ./CLIENT-SCENARIO]",
)
@cloup.option("--client", help="The client, if REPORT has several.")
def bundle(report: Path, scenario: str, *, out: Path | None, client: str | None) -> None:
    """Package a failure as a bug report.

    REPORT is a file of `run --json`. The bundle needs no knowledge of this suite: a Markdown page
    with the clause, the expected and observed behavior, the bootstrap and the resources as
    protojson, a timeline, and a script that runs the scenario again.
    """
    from conformance.cli.bundles import bundle as written  # noqa: PLC0415

    place = written(report, scenario, catalogue(), client=client, out=out)
    echo(f"{place}: README.md is the bug report, replay.py runs the scenario again")


@cloup.command(epilog=examples("replay go-ring.search.zip", "replay ./bundle go@1.84.0"))
@cloup.argument("folder", type=Path, metavar="BUNDLE")
@cloup.argument("client", required=False)
@with_options(REPLAY)
def replay(folder: Path, client: str | None, **options: Any) -> int:
    """Run a bundle again.

    Runs the scenario of BUNDLE against CLIENT, or against the client that BUNDLE names if that one
    comes with the suite. If that was built from sources, name yours with --source. Shows what will
    run, and asks first.

    Exits with 0 if every failure of the bundle occurs again, with 1 if one does not.
    """
    from conformance.cli.bundles import ReplayOptions  # noqa: PLC0415
    from conformance.cli.bundles import replay as replayed  # noqa: PLC0415

    code = Exit.CONFORMS
    known, screen = catalogue(), Screen()
    for said in replayed(folder, client, known, screen, ReplayOptions(**options)):
        if isinstance(said, Exit):
            code = said
        else:
            echo(said)
    return int(code)


@cloup.command(epilog=examples("summary report.json >> $GITHUB_STEP_SUMMARY"))
@cloup.argument("reports", nargs=-1, required=True, type=Path, metavar="REPORT…")
@cloup.option("--annotations", is_flag=True, help="Print annotations for GitHub runners.")
def summary(reports: tuple[Path, ...], *, annotations: bool) -> None:
    """Print a short Markdown summary for CI.

    REPORTs are files of `run --json`. For each client: the totals, the outcome, and the failures
    that no baseline contains.
    """
    from conformance.reporting import summary as summaries  # noqa: PLC0415
    from conformance.reporting.report import BadReport, read  # noqa: PLC0415

    lines = summaries.annotation_lines if annotations else summaries.markdown_lines
    try:
        said = [*lines([read(path) for path in reports], catalogue())]
    except BadReport as error:
        raise Failure(str(error)) from None
    for line in said:
        echo(line, commands=annotations)


@cloup.command(epilog=examples("badge report.json --client go --json badge.json"))
@cloup.argument("reports", nargs=-1, required=True, type=Path, metavar="REPORT…")
@cloup.option("--client", help="The client, if the reports have several.")
@cloup.option("--only", metavar="GRFC", help="Count the clauses of a gRFC that pass, such as a42.")
@cloup.option("--label", metavar="TEXT", help="Text on the left. [default: the client]")
@cloup.option(
    "--json",
    "json_path",
    type=Path,
    callback=writable,
    metavar="FILE",
    help="Write JSON for badge services (an endpoint of shields.io).",
)
def badge(
    reports: tuple[Path, ...],
    *,
    client: str | None,
    only: str | None,
    label: str | None,
    json_path: Path | None,
) -> None:
    """Make a badge that shows the outcome of a client.

    REPORTs are files of `run --json`; the badge counts all of them. Without --json, print the text
    of the badge.
    """
    from conformance.cli import badges  # noqa: PLC0415

    wish = badges.BadgeOptions(client=client, only=only, label=label)
    echo(badges.write(reports, wish, catalogue(), json_path))


@cloup.command(epilog=examples("merge part-*.json -o all.json"))
@cloup.argument("paths", nargs=-1, required=True, type=Path, metavar="REPORT…")
@cloup.option(
    "-o",
    "--out",
    type=Path,
    callback=writable,
    metavar="FILE",
    help="File for the joint report.  [required]",
)
@cloup.option(
    "--junit",
    "junit_path",
    type=Path,
    callback=writable,
    metavar="FILE",
    help="Write JUnit XML, too.",
)
@with_options([VERBOSE_OPTION])
@click.pass_context
def merge(
    context: click.Context,
    paths: tuple[Path, ...],
    *,
    out: Path | None,
    junit_path: Path | None,
    verbose: bool,
) -> int:
    """Join the reports of all shards of a run.

    REPORTs are files of `run --shard K/N --json`, one for each shard of one run. Exits as the whole
    run would have.
    """
    from conformance.cli.merge import merge as merged  # noqa: PLC0415

    file, reports = _out_and_reports(paths, out)
    if out is None:
        if file.is_file() and is_shard(file):
            raise click.UsageError(f"{file} is the report of a shard: name the output with -o")
        (parameter,) = (param for param in context.command.params if param.name == "out")
        writable(context, parameter, file)
    two_files(file, junit_path, "-o and --junit")
    return int(merged(file, reports, catalogue(), Screen(), junit_path, verbose=verbose))


def _out_and_reports(paths: tuple[Path, ...], out: Path | None) -> tuple[Path, tuple[Path, ...]]:
    """Return the output and the reports; without -o the output comes first, as it once did."""
    if out is not None:
        return out, paths
    if len(paths) == 1:
        raise click.UsageError("Missing option '-o'")
    return paths[0], paths[1:]


@cloup.command(epilog=examples("diff old.json new.json", "diff old.json new.json --markdown"))
@cloup.argument("old", type=Path)
@cloup.argument("new", type=Path)
@cloup.option("--exact", is_flag=True, help="Exit with 1 for any difference.")
@cloup.option(
    "--json", "json_path", type=Path, callback=writable, metavar="FILE", help="Write JSON."
)
@cloup.option("--markdown", is_flag=True, help="Print Markdown, for a comment on a pull request.")
def diff(old: Path, new: Path, *, exact: bool, json_path: Path | None, markdown: bool) -> int:
    """Compare two reports and list what broke.

    OLD and NEW are files of `run --json`. Exits with 1 if a clause broke or is gone, or if a clause
    is new and fails without an entry in a baseline.
    """
    from conformance.reporting import diff as differences  # noqa: PLC0415
    from conformance.reporting.report import BadReport, read  # noqa: PLC0415

    try:
        found = differences.diff(read(old), read(new))
    except BadReport as error:
        raise Failure(str(error)) from None
    for line in (differences.markdown if markdown else differences.lines)(found):
        echo(line)
    if json_path:
        differences.write_json(found, json_path)
    stops = not found.is_empty if exact else found.is_worse
    return int(Exit.DEVIATES if stops else Exit.CONFORMS)


@cloup.group(name="baseline", epilog=examples("baseline update expected.toml report.json --check"))
def baseline_group() -> None:
    """Maintain an expected.toml, a file of known failures."""


@baseline_group.command(
    "update",
    epilog=examples(
        "baseline update expected.toml report.json --check",
        "baseline update expected.toml report.json --explanation A42-RING-05='is ignored'",
    ),
)
@cloup.argument("file", type=Path, callback=writable)
@cloup.argument("reports", nargs=-1, required=True, type=Path, metavar="REPORT…")
@cloup.option("--client", help="The client, if the reports have several.")
@cloup.option(
    "--explanation",
    "--words",
    "explanations",
    multiple=True,
    callback=pairs,
    metavar="CLAUSE=TEXT",
    help="Why a clause newly fails, by the client's source or the text; --words is its old name.",
)
@cloup.option(
    "--issue",
    "issues",
    multiple=True,
    callback=pairs,
    metavar="CLAUSE=URL",
    help="The issue in the client's tracker.",
)
@cloup.option(
    "--over",
    type=Path,
    metavar="BELOW",
    help="The client's own expected.toml, if FILE overrides it (run --baseline).",
)
@cloup.option("--check", is_flag=True, help="Write nothing; exit with 1 if it is not up to date.")
def update_baseline(file: Path, reports: tuple[Path, ...], *, check: bool, **said: Any) -> int:
    """Update an expected.toml from reports.

    REPORTs are files of `run --json`, of one client.

    New failures are added, each with the explanation that you give. Failures that are gone are
    removed, or bounded by the versions that show them if the reports have several. Explanations,
    links, order and comments stay.
    """
    from conformance.cli.baselines import update  # noqa: PLC0415

    changes = update(file, reports, catalogue(), is_check=check, **said)
    for line in changes:
        echo(line)
    if not changes:
        echo(f"{file} is up to date")
    return int(Exit.DEVIATES if check and changes else Exit.CONFORMS)
