"""The commands that need no client, but what runs of some have left: evidence and reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from conformance.command.failures import Failure
from conformance.command.named import catalogue
from conformance.command.options import pairs, two_files, writable
from conformance.reporting.report import Exit
from conformance.reporting.screen import Screen, echo


@click.command()
@click.argument("folder", type=Path)
@click.option("--html", type=Path, callback=writable, help="Write one page here, with all in it.")
@click.option(
    "--trace", type=Path, callback=writable, help="Write a trace here, which Perfetto opens."
)
def show(folder: Path, *, html: Path | None, trace: Path | None) -> None:
    """Draw the evidence in FOLDER: what happened on one clock, the ring, shares, load.

    In the terminal, unless --html or --trace says where else.
    """
    from conformance.command.pictures import show as shown  # noqa: PLC0415

    shown(folder, catalogue(), Screen(), html=html, trace=trace)


@click.command()
@click.argument("folder", type=Path, metavar="DIR")
@click.argument("reports", nargs=-1, required=True, type=Path, metavar="REPORT…")
def site(folder: Path, reports: tuple[Path, ...]) -> None:
    """Write a site into DIR from REPORTs that --json has written: clauses, clients and versions.

    A page for each clause and each failure; those whose evidence is still there have the pictures
    of `show`. It needs no server and no network.
    """
    from conformance.command.pictures import site as written  # noqa: PLC0415

    for line in written(folder, reports, catalogue()):
        echo(line)


@click.command()
@click.argument("report", type=Path)
@click.argument("scenario")
@click.option(
    "-o",
    "--out",
    type=Path,
    metavar="FILE",
    help="A folder, or a file that ends in .zip. [default: a folder here, named after both]",
)
@click.option("--client", help="Whose failure it is, where REPORT has several clients.")
def bundle(report: Path, scenario: str, *, out: Path | None, client: str | None) -> None:
    """Write the failure of SCENARIO in REPORT, which --json has written, as a bug report.

    For a tracker where nobody knows this suite: a page in Markdown with the clause, what was
    expected and what was seen, the bootstrap and the resources as protojson, a timeline, and a
    script that plays it again.
    """
    from conformance.command.bundles import bundle as written  # noqa: PLC0415

    place = written(report, scenario, catalogue(), client=client, out=out)
    echo(f"{place}: README.md is the report, replay.py plays it again")


@click.command()
@click.argument("folder", type=Path, metavar="BUNDLE")
@click.argument("client", required=False)
@click.option("--out", type=Path, help="Folder for evidence. [default: a new one in BUNDLE]")
@click.option(
    "--env",
    "environment",
    multiple=True,
    callback=pairs,
    metavar="K=V",
    help="Environment for the client.",
)
@click.option("--yes", is_flag=True, help="Run what is shown without asking.")
def replay(
    folder: Path, client: str | None, *, out: Path | None, environment: dict[str, str], yes: bool
) -> int:
    """Play the scenario of a BUNDLE again: against its client, or against CLIENT.

    Shows what will run and asks first. A bundle names a client that comes with the suite; any other
    is named by CLIENT.

    Exits with 0 if every failure of the bundle is shown again, with 1 if one is not.
    """
    from conformance.command.bundles import replay as replayed  # noqa: PLC0415

    code = Exit.CONFORMS
    known, screen = catalogue(), Screen()
    for said in replayed(folder, client, known, screen, out=out, environment=environment, yes=yes):
        if isinstance(said, Exit):
            code = said
        else:
            echo(said)
    return int(code)


@click.command()
@click.argument("reports", nargs=-1, required=True, type=Path, metavar="REPORT…")
def table(reports: tuple[Path, ...]) -> None:
    """Print the table of clients and clauses, as Markdown, from REPORTs that --json has written."""
    from conformance.reporting import table as tables  # noqa: PLC0415
    from conformance.reporting.report import BadReport, read  # noqa: PLC0415

    try:
        text = tables.table([read(path) for path in reports], catalogue())
    except BadReport as error:
        raise Failure(str(error)) from None
    echo(text, nl=False)


@click.command()
@click.argument("reports", nargs=-1, required=True, type=Path, metavar="REPORT…")
@click.option(
    "--annotations", is_flag=True, help="Print them as commands that GitHub's runners show."
)
def summary(reports: tuple[Path, ...], *, annotations: bool) -> None:
    """Print REPORTs in short, as Markdown: of each client the sum, and what no baseline knows."""
    from conformance.reporting import summary as summaries  # noqa: PLC0415
    from conformance.reporting.report import BadReport, read  # noqa: PLC0415

    lines = summaries.annotation_lines if annotations else summaries.markdown_lines
    try:
        said = [*lines([read(path) for path in reports], catalogue())]
    except BadReport as error:
        raise Failure(str(error)) from None
    for line in said:
        echo(line, commands=annotations)


@click.command()
@click.argument("reports", nargs=-1, required=True, type=Path, metavar="REPORT…")
@click.option("--client", help="Whose badge it is, where the reports have several clients.")
@click.option("--only", metavar="GRFC", help="How many clauses of a gRFC pass, such as a42.")
@click.option("--label", metavar="TEXT", help="What stands on the left. [default: the client]")
@click.option("--svg", type=Path, callback=writable, help="Write the picture here.")
@click.option(
    "--json",
    "json_path",
    type=Path,
    callback=writable,
    help="Write it here as badge services read it (an endpoint of shields.io).",
)
def badge(
    reports: tuple[Path, ...],
    *,
    client: str | None,
    only: str | None,
    label: str | None,
    svg: Path | None,
    json_path: Path | None,
) -> None:
    """Make a badge for a client of REPORTs that --json has written: does it conform?

    Of several reports, such as one for each gRFC, all count. Without a file its words are printed.
    """
    from conformance.command import badges  # noqa: PLC0415

    two_files(svg, json_path, "--svg and --json")
    wish = badges.Wish(client=client, only=only, label=label)
    echo(badges.write(reports, wish, catalogue(), svg=svg, json_path=json_path))


@click.command()
@click.argument("out", type=Path, metavar="OUT", callback=writable)
@click.argument("reports", nargs=-1, required=True, type=Path, metavar="REPORT…")
@click.option(
    "--junit", "junit_path", type=Path, callback=writable, help="Write JUnit XML of it here, too."
)
def merge(out: Path, reports: tuple[Path, ...], *, junit_path: Path | None) -> int:
    """Write into OUT the report of a run, from the REPORTs of all its shards (`run --shard`).

    Exits as the whole run would have. Refuses shards of different runs, and to leave one out.
    """
    from conformance.command.merge import merge as merged  # noqa: PLC0415

    two_files(out, junit_path, "OUT and --junit")
    return int(merged(out, reports, catalogue(), Screen(), junit_path))


@click.command()
@click.argument("old", type=Path)
@click.argument("new", type=Path)
@click.option("--exact", is_flag=True, help="Exit with 1 for any difference, not only a worse one.")
@click.option("--json", "json_path", type=Path, callback=writable, help="Write it as JSON here.")
@click.option(
    "--markdown", is_flag=True, help="Print it as Markdown, for a comment on a pull request."
)
def diff(old: Path, new: Path, *, exact: bool, json_path: Path | None, markdown: bool) -> int:
    """Compare two reports that --json has written: what is broken, gone, fixed, new or changed.

    Exits with 1 if a clause is broken or gone, or is new and fails as no baseline knows.
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


@click.group(name="baseline")
def baseline_group() -> None:
    """Work on an expected.toml, the file of a client's known failures."""


@baseline_group.command("update")
@click.argument("file", type=Path, callback=writable)
@click.argument("reports", nargs=-1, required=True, type=Path, metavar="REPORT…")
@click.option("--client", help="Whose runs count, where the reports have several clients.")
@click.option(
    "--explanation",
    "--words",
    "explanations",
    multiple=True,
    callback=pairs,
    metavar="CLAUSE=TEXT",
    help="Why a clause newly fails, by the client's source or the text; --words is its old name.",
)
@click.option(
    "--issue",
    "issues",
    multiple=True,
    callback=pairs,
    metavar="CLAUSE=URL",
    help="Where the client's maintainers know of it.",
)
@click.option(
    "--over",
    type=Path,
    metavar="BELOW",
    help="The client's own expected.toml, where FILE is laid over it (run --baseline).",
)
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if it is not up to date.")
def update_baseline(file: Path, reports: tuple[Path, ...], *, check: bool, **said: Any) -> int:
    """Bring FILE to what the REPORTs of one client show that --json has written.

    New failures are added, each with the explanation that you give. Failures that are gone are
    removed, or bounded by the versions that show them if the reports have several. Explanations,
    links, order and comments stay.
    """
    from conformance.command.baselines import update  # noqa: PLC0415

    changes = update(file, reports, catalogue(), is_check=check, **said)
    for line in changes:
        echo(line)
    if not changes:
        echo(f"{file} is up to date")
    return int(Exit.DEVIATES if check and changes else Exit.CONFORMS)


@baseline_group.command("count")
@click.argument("file", type=Path)
@click.argument("reports", nargs=-1, required=True, type=Path, metavar="REPORT…")
@click.option("--client", help="Whose runs count, where the reports have several clients.")
def count_baseline(file: Path, reports: tuple[Path, ...], *, client: str | None) -> int:
    """Count in REPORTs what FILE says is seen in some runs only (`sometimes`).

    Exits with 1 if something fails more often than FILE says, by more than chance.
    """
    from conformance.command.baselines import count  # noqa: PLC0415
    from conformance.reporting.baseline_count import Judgement  # noqa: PLC0415

    found = count(file, reports, catalogue(), client=client)
    for one in found:
        echo(str(one))
    if not found:
        echo(f"{file} has nothing that is seen in some runs only")
    is_worse = any(one.judgement is Judgement.MORE for one in found)
    return int(Exit.DEVIATES if is_worse else Exit.CONFORMS)
