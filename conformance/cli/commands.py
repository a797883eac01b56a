"""The ``xdspec`` command: options in, exit code out; the work is done elsewhere."""

from __future__ import annotations

import copy
import math
import os
import random
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import cloup
import msgspec

from client_under_test.manifests.clients import built_in
from conformance.cli import reports
from conformance.cli.command_group import Command
from conformance.cli.development import doctor, mutants, new_client, test
from conformance.cli.explore_options import EXPLORE
from conformance.cli.failures import Failure
from conformance.cli.lookup import catalogue, known_clause, why_not_judged
from conformance.cli.option_values import TIME_SCALE, WRAPPED_SCALE, two_files
from conformance.cli.options import GATE, HISTORY, RUN, SERVE, examples, with_options
from conformance.reporting.stdout import Screen, echo, say
from conformance.runner.settings import LEAST
from conformance.runner.terminal_escape import block
from conformance.runner.workers import forked
from conformance.spec.catalogue import Catalogue, peer_coverage

if TYPE_CHECKING:
    from conformance.cli.versions import Commits


@cloup.group(
    cls=Command,
    context_settings={"help_option_names": ["-h", "--help"]},
    subcommand_metavar="COMMAND [OPTIONS]",
    options_metavar="",
    epilog=examples("run go --only a42", "explain A42-PICK-08", "run --help"),
)
@click.version_option(package_name="xdspec")
def main() -> None:
    """Conformance tests and a fake xDS server for gRPC clients."""
    for variable, least in LEAST.items():
        number = os.environ.get(variable, f"{least}")
        try:
            good = least <= float(number) < math.inf
        except ValueError:
            good = False
        if not good:
            raise Failure(f"{variable} is {number!r}: set it to a number >= {least:g}")


@cloup.command(
    epilog=examples(
        "run go --only a42",
        "run java@1.60.0 --scenario 'ring.*'",
        "run ./my-adapter --json report.json --fast",
        "run go --shard 1/4 --seed 7 --json part-1.json",
    ),
)
@cloup.argument("clients", nargs=-1)
@with_options(RUN)
def run(clients: tuple[str, ...], **options: Any) -> int:
    """Run scenarios against one or more clients.

    CLIENTS are names, NAME@VERSION, NAME+VARIANT, or folders with an adapter. Without a name, the
    newest grpcio is judged.

    \b
    Exit codes (the first that applies):
      2  the run was interrupted
      3  an error of the suite or the machine, such as a timing problem
      6  an error of an adapter
      1  a new failure, or the baseline is out of date
      0  no new failures
      5  no clause was judged
      4  bad input
    """  # noqa: D301 - click takes these lines as they are
    _check_shard(options)
    if options["hold"]:
        _hush_servers()
    with forked() as worker:  # first, to load what this process loads now while it does
        return _run(clients, worker=worker, **options)


def _hush_servers() -> None:
    """Keep what gRPC's own servers log from a person's screen; clients inherit nothing of it."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")


def _check_shard(options: Mapping[str, Any]) -> None:
    """See that what shards need is there, and nothing that is for them alone without one."""
    if not options["shard"]:
        if options["durations"]:
            raise Failure("--durations balances shards: use it with --shard")
        return
    if options["seed"] is None:
        raise Failure("--shard needs --seed: all shards of a run have the same seed")
    if not options["json_path"]:
        raise Failure("--shard needs --json: `xdspec merge` reads the report")
    if options["hold"]:
        raise Failure("--hold and --shard exclude each other: --hold is for one scenario")


def _run(clients: tuple[str, ...], **options: Any) -> int:
    from conformance.cli.run_clients import run_clients  # noqa: PLC0415  # pytest is slow to load
    from conformance.cli.run_options import RunOptions  # noqa: PLC0415
    from conformance.cli.sharding import read_durations  # noqa: PLC0415

    known, screen = catalogue(), Screen()
    for clause in options["clauses"]:
        if why := why_not_judged(known_clause(known, clause)):
            say(screen, f"{clause} is not judged: {why}")
    options["durations"] = read_durations(options["durations"])
    given = RunOptions(**_seeded(options))
    two_files(given.json_path, given.junit_path, "--json and --junit")
    if given.every_client and clients:
        raise Failure("--all runs every client: name clients, or use --all")
    if given.baseline and given.no_baseline:
        raise Failure("--baseline and --no-baseline exclude each other")
    if given.source and len(clients) != 1:
        raise Failure("--source is for one client: name that client")
    if given.times > 1 and not (given.scenario_patterns or given.clauses):
        raise Failure("--times is for some scenarios: name them with --scenario or --clause")
    if given.times > 1 and (given.hold or given.shard):
        raise Failure("--times excludes --hold and --shard")
    if given.hold and len(given.scenario_patterns) != 1:
        raise Failure("--hold is for one scenario: name it with --scenario")
    return int(run_clients(clients or ("python",), given, known, screen))


@cloup.command(epilog=examples("serve ring.search", "serve ring.search --with go"))
@cloup.argument("scenario")
@with_options(SERVE)
def serve(scenario: str, **options: Any) -> int:
    """Serve one scenario for a client you start yourself.

    Prints the bootstrap and the target for your client, which may run in a debugger, and then
    every event. If the scenario needs calls, it lists them: make them and type `done`, or type
    `make` to let the client of --with make them. `help` lists all commands. Deadlines for your
    client are ten times as long as in a run, unless XDSPEC_TIME_SCALE is set.
    """
    os.environ.setdefault(TIME_SCALE, WRAPPED_SCALE)
    _hush_servers()
    from conformance.cli.serve import ServeOptions, serve  # noqa: PLC0415 - times are read after that

    return int(serve(scenario, ServeOptions(**_seeded(options)), catalogue(), Screen()))


@cloup.command(
    epilog=examples(
        "explore go --minutes 10",
        "explore python --replay xdspec-out/python@1.85.1/explore/course-7-12/course.json",
    ),
)
@cloup.argument("client")
@with_options(EXPLORE)
def explore(client: str, **options: Any) -> int:
    """Search for failures with random updates and faults.

    Runs random sequences of updates, faults and requests, called courses. Compares what the client
    does with every result that a conforming client may show. Repeats a failing course, shrinks it,
    and writes it to a file, which --replay runs again.

    The command exits with 1 if a course fails repeatedly.
    """
    from conformance.cli.explore import ExploreOptions, explore  # noqa: PLC0415 - Hypothesis is slow to load

    return int(explore(client, ExploreOptions(**_seeded(options)), catalogue(), Screen()))


def _seeded(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with a seed: a random one if the user named none."""
    seed = options["seed"]
    return {**options, "seed": random.SystemRandom().getrandbits(32) if seed is None else seed}


@cloup.command(
    epilog=examples(
        "history python 1.60.1 1.65.5 1.70.0",
        "history go 1.64.0 1.70.0 1.85.0 --bisect A42-PICK-08",
        "history go --source ../grpc-go --commits v1.85.0..HEAD",
    ),
)
@cloup.argument("client")
@cloup.argument("versions", nargs=-1, metavar="VERSION…")
@with_options(HISTORY)
def history(client: str, versions: tuple[str, ...], **options: Any) -> int:
    """Compare versions of a client, or bisect a verdict.

    A VERSION is a number, NUMBER+VARIANT, +VARIANT, a folder with another version of the client, or
    a report of `run --json`, whose runs are not repeated. With --bisect, the command exits with 1
    if the verdict has not changed.

    With --source and --commits, the versions are commits of a checkout; commits that cannot be
    built are skipped.
    """
    if not versions and not options["commits"]:
        raise click.UsageError("Missing argument 'VERSION…', or --source with --commits")
    all_recorded = bool(versions) and all(Path(version).is_file() for version in versions)
    with nullcontext() if all_recorded else forked() as worker:
        return _history(client, versions, worker=worker, **options)


def _history(client: str, versions: tuple[str, ...], **given: Any) -> int:
    from conformance.cli.history import HistoryOptions, history  # noqa: PLC0415
    from conformance.cli.run_options import RunOptions  # noqa: PLC0415

    known = catalogue()
    bisect, markdown = given.pop("bisect"), given.pop("markdown")
    if bisect:
        if given["clauses"] or given["only"]:
            raise Failure(
                "--bisect selects the scenarios of its clause: leave --clause and --only out"
            )
        given["clauses"] = (bisect := known_clause(known, bisect).id,)
    for clause in given["clauses"]:
        known_clause(known, clause)
    wish = HistoryOptions(bisect=bisect, json_path=given.pop("json_path"), markdown=markdown)
    report = given.pop("report_path")
    two_files(wish.json_path, report, "--json and --report")
    commits = _commits_of(given.pop("source"), given.pop("commits"), versions)
    options = RunOptions(**_seeded(given), every_client=True, json_path=report)
    screen = Screen(stderr=markdown)  # of what is printed only the result is for a program
    return int(history(client, commits or versions, options, wish, known, screen))


def _commits_of(source: Path | None, given: str | None, versions: Sequence[str]) -> Commits | None:
    """Return the commits that --source and --commits name together."""
    if not source and not given:
        return None
    if not (source and given):
        raise Failure("--source and --commits belong together: name a checkout and its commits")
    if versions:
        raise Failure(f"--commits selects the versions: leave {versions[0]} out")
    from conformance.cli.versions import Commits  # noqa: PLC0415

    good, dots, bad = given.partition("..")
    if not (good and dots) or bad.startswith("."):
        raise Failure(f"--commits has the form GOOD..BAD, such as v1.85.0..HEAD: {given} has not")
    return Commits(source=source, good=good, bad=bad or "HEAD")


@cloup.command(
    epilog=examples(
        "gate go --source ../grpc-go --base origin/master",
        "gate go --source ../grpc-go --base 1.85.0 --only a42 --quick",
    ),
)
@cloup.argument("client")
@with_options(GATE)
def gate(client: str, **options: Any) -> int:
    """Report what a change of a library breaks.

    The change is what --source names. Its base is a commit of that checkout, a released version, a
    report of `run --json`, or other sources. Scenarios that differ run again alone on both sides
    before they count.

    \b
    Exit codes (the first that applies):
      2  a run was interrupted
      3  an error of the suite or the machine, such as a timing problem
      6  a side cannot be built or run
      1  the change breaks a MUST clause (with --strict also a SHOULD clause)
      0  it breaks none
      5  no clause was judged
      4  bad input
    """  # noqa: D301 - click takes these lines as they are
    with forked() as worker:
        return _gate(client, worker=worker, **options)


def _gate(client: str, **options: Any) -> int:
    from conformance.cli.gate import GateOptions, gate  # noqa: PLC0415
    from conformance.cli.run_options import RunOptions  # noqa: PLC0415

    known = catalogue()
    for clause in options["clauses"]:
        known_clause(known, clause)
    base = options.pop("base")
    if base is None:
        raise Failure(
            "gate needs a base: a commit of the --source checkout, as in --base origin/master, a "
            "released version, as in --base 1.85.0, or a report, as in --base base.json"
        )
    wish = GateOptions(
        base=base,
        quick=options.pop("quick"),
        json_path=options.pop("json_path"),
        junit_path=options.pop("junit_path"),
        markdown=options.pop("markdown"),
        summary_path=options.pop("summary_path"),
        annotations_path=options.pop("annotations_path"),
    )
    two_files(wish.json_path, wish.junit_path, "--json and --junit")
    if options["commit"] and not options["source"]:
        raise Failure("--commit selects a commit of a checkout: name the checkout with --source")
    given = RunOptions(**_seeded(options))
    screen = Screen(stderr=wish.markdown)  # of what is printed only the result is for a program
    return int(gate(client, given, wish, known, screen))


@cloup.command(epilog=examples("rejudge xdspec-out/go@1.85.0/ring.search"))
@cloup.argument("folder", type=Path)
def rejudge(folder: Path) -> int:
    """Re-evaluate saved evidence.

    FOLDER has the evidence of one scenario. No client runs: the oracles and the catalogue of this
    version of the suite judge what was recorded.
    """
    from conformance.judging import evidence  # noqa: PLC0415
    from conformance.reporting.build_run import build_run  # noqa: PLC0415
    from conformance.reporting.failure_texts import decision_lines  # noqa: PLC0415
    from conformance.reporting.report import ClientId, exit_of  # noqa: PLC0415

    known = catalogue()
    try:
        record, decisions = evidence.judge(folder, known)
    except evidence.BadEvidence as error:
        raise Failure(str(error)) from None
    client = record.client
    echo(block(f"{record.scenario}, {client.name} {client.version}, seed {record.seed}"))
    for line in decision_lines(decisions, known):
        echo(block(line))
    if decisions != record.decisions:
        echo("These verdicts differ from those of the run: the suite has changed since.")
    judged = build_run(
        (msgspec.structs.replace(record, decisions=decisions),),
        known,
        client=ClientId(client.name, client.version, client.variant),
        follows=client.follows,
        wall_seconds=record.seconds,
    )
    return int(exit_of(judged))


@cloup.command("list", epilog=examples("list clauses", "list coverage"))
@cloup.argument(
    "what",
    type=click.Choice(["clients", "scenarios", "clauses", "editions", "mutants", "coverage"]),
)
def list_things(what: str) -> None:
    """List clients, scenarios, clauses, mutants and more.

    `mutants` come with the clause that each breaks. `coverage` compares the scenarios with the
    tests of gRPC's implementations.
    """
    if what == "clients":
        for name in built_in():
            echo(name)
        return
    if what == "coverage":
        from conformance.spec.catalogue.peer_coverage import coverage_lines  # noqa: PLC0415

        for line in coverage_lines(peer_coverage()):
            echo(line)
        return
    if what == "mutants":
        _list_mutants()
        return
    known = catalogue()
    if what == "editions":
        from conformance.reporting.explain import edition_lines  # noqa: PLC0415

        for line in edition_lines(known):
            echo(line)
        return
    if what == "clauses":
        _list_clauses(known)
        return
    from conformance.runner.collection import scenarios  # noqa: PLC0415

    for name, declared in scenarios().items():
        echo(f"{name:60}  {' '.join(declared.clauses)}")


def _list_mutants() -> None:
    from conformance.mutation.results import declared_mutants  # noqa: PLC0415

    for mutant in declared_mutants():
        echo(f"{mutant.clause:14}  {mutant.id}: {mutant.broken}")


def _list_clauses(known: Catalogue) -> None:
    for clause in known:
        mark = " (not observable)" if clause.unobservable else ""
        mark += " (no scenario yet)" if clause.awaits else ""
        echo(f"{clause.id:14}  {clause.strength.value:11}  {clause.title}{mark}")


@cloup.command(
    epilog=examples("explain A42-PICK-08", "explain picker.states", "explain A42", "explain ring")
)
@cloup.argument("identifiers", metavar="ID...", nargs=-1, required=True)
def explain(identifiers: tuple[str, ...]) -> None:
    """Describe clauses, scenarios or editions.

    ID may be a prefix: `picker.states` describes all of its scenarios, and A42-PICK all of its
    clauses.
    """
    from conformance.cli.explanations import explained  # noqa: PLC0415

    for number, identifier in enumerate(identifiers):
        if number:
            echo("")
        for text in explained(identifier, catalogue()):
            echo(text)


def _also_called(command: click.Command, name: str) -> click.Command:
    """Return a command under a former name, which help does not list."""
    former = copy.copy(command)
    former.name, former.hidden = name, True
    return former


main.section("Run", run, explore, gate, serve)
main.section("Look up", list_things, explain)
main.section("Adapters", doctor, new_client)
main.section(
    "Reports",
    reports.diff,
    history,
    reports.site,
    reports.summary,
    reports.badge,
    reports.merge,
    reports.baseline_group,
)
main.section("Failures", reports.show, rejudge, reports.bundle, reports.replay)
main.section("Development", test, mutants)
main.add_command(_also_called(rejudge, "judge"))
