"""The ``xdspec`` command: options in, exit code out; the work is done elsewhere."""

from __future__ import annotations

import io
import math
import os
import random
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
import msgspec

from client_under_test import built_in, prepare
from client_under_test.environments import kept
from client_under_test.environments.toolchain import look
from conformance.catalogue import ground
from conformance.command import reports
from conformance.command.failures import Failure, client_trouble, demand_machine
from conformance.command.invocation import program
from conformance.command.named import catalogue, found_client, known_clause
from conformance.command.options import (
    HISTORY,
    JOBS_OPTION,
    OUT,
    OUT_OPTION,
    RUN,
    SERVE,
    TIME_SCALE,
    WRAPPED_SCALE,
    two_files,
    with_options,
    writable,
)
from conformance.command.trouble import settle_output, tell
from conformance.reporting.report import Exit
from conformance.reporting.screen import OutputLost, Screen, echo, in_utf_8
from conformance.running.interruption import end_is_decided
from conformance.running.plain_text import LONGEST, block, short
from conformance.running.settings import LEAST
from conformance.running.workers import forked

if TYPE_CHECKING:
    from conformance.command.versions import Commits


class Command(click.Group):
    """The group of all commands; usage errors have this suite's exit code for bad input."""

    def main(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Run, and exit with a code of ours."""
        kwargs["standalone_mode"] = False
        in_utf_8()
        try:
            sys.exit(self._said(lambda: super(Command, self).main(*args, **kwargs)))
        finally:
            end_is_decided()

    def _said(self, do: Callable[[], Any]) -> int:
        """Do it; what ends it is told, and is an exit code: 1 is said of a client alone."""
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
        except SystemExit:  # click's, with 1, where nobody reads the help that it prints
            settle_output()
            tell(OutputLost("nobody reads standard output any more"))
            return Exit.SUITE_TROUBLE
        except Exception as error:  # noqa: BLE001 - whatever it is
            settle_output()
            tell(error)
            return Exit.SUITE_TROUBLE
        return code if isinstance(code, int) else Exit.CONFORMS


@click.group(cls=Command, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="xdspec")
def main() -> None:
    """Conformance tests for the load balancing of gRPC's xDS clients.

    Exit codes: 0 conforms, 1 does not conform, 2 interrupted, 3 trouble of the suite, 4 bad input,
    5 nothing was judged, 6 trouble of an adapter.
    """
    for variable, least in LEAST.items():
        number = os.environ.get(variable, f"{least}")
        try:
            good = least <= float(number) < math.inf
        except ValueError:
            good = False
        if not good:
            raise Failure(f"{variable} is {number!r}: a number from {least:g} on is wanted")


@main.command()
@click.argument("clients", nargs=-1)
@with_options(RUN)
def run(clients: tuple[str, ...], **options: Any) -> int:
    """Run the scenarios against CLIENTS: a name, NAME@VERSION, NAME+VARIANT, or a folder.

    Without a name, against the newest grpcio.
    """
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
            raise Failure("--durations says what shards are dealt out by: it needs --shard")
        return
    if options["seed"] is None:
        raise Failure("the shards of a run draw the same numbers: --shard needs --seed")
    if not options["json_path"]:
        raise Failure("of a shard `xdspec merge` needs the report: --shard needs --json")
    if options["hold"]:
        raise Failure("--hold keeps the world of one scenario, of which there are no shards")


def _run(clients: tuple[str, ...], **options: Any) -> int:
    from conformance.command.run_clients import run_clients  # noqa: PLC0415  # pytest is slow to load
    from conformance.command.session import Options  # noqa: PLC0415
    from conformance.command.sharding import read_durations  # noqa: PLC0415

    known = catalogue()
    for clause in options["clauses"]:
        known_clause(known, clause)
    options["durations"] = read_durations(options["durations"])
    seed = options.pop("seed")
    given = Options(seed=random.SystemRandom().getrandbits(32) if seed is None else seed, **options)
    two_files(given.json_path, given.junit_path, "--json and --junit")
    if given.every_client and clients:
        raise Failure("--all means every client: name some, or say --all")
    if given.baseline and given.no_baseline:
        raise Failure("--baseline has failures that are expected, and with --no-baseline none is")
    if given.source and len(clients) != 1:
        raise Failure("--source has the sources of one client: name that client, and no other")
    if given.commit and not given.source:
        raise Failure("--commit is one of a checkout: name the checkout with --source")
    if given.hold and len(given.scenario_patterns) != 1:
        raise Failure("--hold keeps the world of one scenario: name it with --scenario")
    return int(run_clients(clients or ("python",), given, known, Screen()))


@main.command()
@click.argument("scenario")
@with_options(SERVE)
def serve(scenario: str, **options: Any) -> int:
    """Keep the world of SCENARIO up for a client that you start by hand, in a debugger say.

    It tells bootstrap and target, and what happens. Where the scenario wants calls you are told
    which: say `done`, or `make` to have the client of --with make them; `help` lists what can be
    done to endpoints and the control plane. Deadlines of what your client does of itself are
    ten times as long as in a run, unless XDSPEC_TIME_SCALE is set.
    """
    os.environ.setdefault(TIME_SCALE, WRAPPED_SCALE)
    _hush_servers()
    from conformance.command.serve import Options, serve  # noqa: PLC0415 - times are read after that

    seed = options.pop("seed")
    given = Options(seed=random.SystemRandom().getrandbits(32) if seed is None else seed, **options)
    return int(serve(scenario, given, catalogue(), Screen()))


@main.command()
@click.argument("client")
@click.argument("versions", nargs=-1, metavar="VERSION…")
@with_options(HISTORY)
def history(client: str, versions: tuple[str, ...], **options: Any) -> int:
    """Hold versions of CLIENT side by side: what each does otherwise than the one before it.

    A VERSION is a number, NUMBER+VARIANT, +VARIANT, a folder with the client in a further version,
    or a report that --json has written, whose runs are read and not made again. With --bisect it
    exits with 1 if the clause has not changed.

    With --source and --commits the versions are commits of a checkout; those that cannot be
    built are left out.
    """
    if not versions and not options["commits"]:
        raise click.UsageError("Missing argument 'VERSION…', or --source with --commits")
    all_recorded = bool(versions) and all(Path(one).is_file() for one in versions)
    with nullcontext() if all_recorded else forked() as worker:
        return _history(client, versions, worker=worker, **options)


def _history(client: str, versions: tuple[str, ...], **given: Any) -> int:
    from conformance.command.history import Wish, history  # noqa: PLC0415
    from conformance.command.session import Options  # noqa: PLC0415

    known = catalogue()
    bisect, markdown = given.pop("bisect"), given.pop("markdown")
    if bisect:
        if given["clauses"] or given["only"]:
            raise Failure(
                "--bisect runs the scenarios of its clause: leave --clause and --only out"
            )
        given["clauses"] = (bisect := known_clause(known, bisect).id,)
    for clause in given["clauses"]:
        known_clause(known, clause)
    wish = Wish(bisect=bisect, json_path=given.pop("json_path"), markdown=markdown)
    report, seed = given.pop("report_path"), given.pop("seed")
    two_files(wish.json_path, report, "--json and --report")
    commits = _commits_of(given.pop("source"), given.pop("commits"), versions)
    options = Options(
        **given,
        every_client=True,
        seed=random.SystemRandom().getrandbits(32) if seed is None else seed,
        json_path=report,
        junit_path=None,
        keep_evidence=False,
        no_baseline=False,
        baseline=None,
        strict=False,
        hold=False,
    )
    screen = Screen(stderr=markdown)  # of what is printed only the result is for a program
    return int(history(client, commits or versions, options, wish, known, screen))


def _commits_of(source: Path | None, given: str | None, versions: Sequence[str]) -> Commits | None:
    """What --source and --commits name together."""
    if not source and not given:
        return None
    if not (source and given):
        raise Failure("--commits are those of the checkout that --source names: give both, or none")
    if versions:
        raise Failure(f"the versions are those of --commits: leave {versions[0]} out")
    from conformance.command.versions import Commits  # noqa: PLC0415

    good, dots, bad = given.partition("..")
    if not (good and dots) or bad.startswith("."):
        raise Failure(f"--commits are named as GOOD..BAD, such as v1.85.0..HEAD, and not {given}")
    return Commits(source=source, good=good, bad=bad or "HEAD")


@main.command()
@click.argument("folder", type=Path)
def judge(folder: Path) -> int:
    """Judge the evidence in FOLDER again, without a client."""
    from conformance.judging import evidence  # noqa: PLC0415
    from conformance.reporting.failure_texts import decision_lines  # noqa: PLC0415
    from conformance.reporting.report import ClientId, build_run, exit_of  # noqa: PLC0415

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
        echo("These are not the verdicts of the run: the suite has changed since.")
    judged = build_run(
        (msgspec.structs.replace(record, decisions=decisions),),
        known,
        client=ClientId(client.name, client.version, client.variant),
        follows=client.follows,
        wall_seconds=record.seconds,
    )
    return int(exit_of(judged))


for command in (
    reports.show,
    reports.site,
    reports.bundle,
    reports.replay,
    reports.summary,
    reports.badge,
    reports.table,
    reports.diff,
    reports.merge,
    reports.baseline_group,
):
    main.add_command(command)


@main.command("list")
@click.argument(
    "what", type=click.Choice(["clients", "scenarios", "clauses", "editions", "coverage"])
)
def list_things(what: str) -> None:
    """List the clients, scenarios, clauses or editions that there are.

    Or the coverage: what gRPC's implementations test themselves, and which scenarios see it here.
    """
    if what == "clients":
        for name in built_in():
            echo(name)
        return
    if what == "coverage":
        from conformance.reporting.coverage import coverage_lines  # noqa: PLC0415

        for line in coverage_lines(ground()):
            echo(line)
        return
    known = catalogue()
    if what == "editions":
        from conformance.reporting.explain import edition_lines  # noqa: PLC0415

        for line in edition_lines(known):
            echo(line)
        return
    if what == "clauses":
        for clause in known:
            mark = " (not observable)" if clause.unobservable else ""
            mark += " (not judged yet)" if clause.awaits else ""
            echo(f"{clause.id:14}  {clause.strength.value:11}  {clause.title}{mark}")
        return
    from conformance.running.collecting import scenarios  # noqa: PLC0415

    for name, declared in scenarios().items():
        echo(f"{name:60}  {' '.join(declared.clauses)}")


@main.command()
@click.argument("identifier", metavar="ID")
def explain(identifier: str) -> None:
    """Explain a clause, a scenario or an edition."""
    from conformance.reporting.explain import (  # noqa: PLC0415
        explain_clause,
        explain_edition,
        explain_scenario,
    )
    from conformance.running.collecting import scenarios  # noqa: PLC0415

    known = catalogue()
    for edition in known.editions.ids:
        if identifier.upper() == edition.upper():
            echo(explain_edition(edition, known))
            return
    declared = scenarios()
    if identifier in declared:
        echo(explain_scenario(identifier, declared, known))
        return
    clause = known_clause(known, identifier)
    echo(explain_clause(clause, declared))


@main.command()
@click.argument("client", required=False)
def doctor(client: str | None) -> int:
    """Check the adapter of CLIENT against the contract, without any xDS.

    Without CLIENT, print what this machine can do, what is skipped because of what it cannot, and
    which toolchains are here; and how to get what is missing.
    """
    import asyncio  # noqa: PLC0415

    from client_under_test.doctor import examine, is_healthy  # noqa: PLC0415
    from conformance.reporting.live import patience  # noqa: PLC0415
    from conformance.reporting.toolchains import toolchain_lines  # noqa: PLC0415
    from conformance.running.scratch import scratch  # noqa: PLC0415

    if client is None:
        from conformance.command import survey  # noqa: PLC0415

        for line in survey.lines(survey.survey()):
            echo(line)
        echo("Clients:")
    with client_trouble():
        there = [found_client(name) for name in (built_in() if client is None else [client])]
        lacks = False
        for one in there:
            tools = [look(tool) for tool in one.manifest.tools]
            lacks |= any(tool.is_missing for tool in tools)
            for line in toolchain_lines(one, tools, kept(one)):
                echo(line)
        if client is None:
            return int(Exit.BAD_INPUT if lacks else Exit.CONFORMS)
        (found,) = there
        with patience(Screen(), f"making what {found} needs"):
            prepared = prepare(found)
        demand_machine(jobs=1)
        with scratch() as folder:
            healthy = is_healthy(asyncio.run(examine(prepared, folder=folder, say=echo)))
    if healthy:
        echo(f"next: {program()} run {shlex.quote(client)} --scenario 'ring.*'")
    return int(Exit.CONFORMS if healthy else Exit.ADAPTER_TROUBLE)


@main.command("new-client")
@click.argument("language", metavar="LANG", required=False)
@click.argument("folder", metavar="DIR", type=Path, required=False)
def new_client(language: str | None, folder: Path | None) -> None:
    """Write the scaffold of an adapter in LANG into DIR; any language will do.

    Without LANG, list the languages for which that has a program that starts and says hello.
    """
    from client_under_test import scaffold  # noqa: PLC0415

    *with_program, _ = scaffold.languages()
    if language is None:
        echo("\n".join(with_program))
        echo("For any other language: a manifest, the contract, and what to write first.")
        return
    if folder is None:
        raise click.UsageError("Missing argument 'DIR': the folder that is written")
    if len(language) > LONGEST:
        raise click.UsageError(f"{language} is the name of no language")
    with client_trouble():
        files = scaffold.write(language, folder)
    echo(f"{folder} has {', '.join(map(str, files))}")
    if language not in with_program:
        named = ", ".join(with_program)
        echo(f"It has no program: for {language} there is none yet, but for {named}.")
    echo(f"Next: {program()} doctor {shlex.quote(str(folder))}")


@main.command()
@click.option(
    "--clause", "clauses", multiple=True, metavar="ID", help="Only mutants of this clause."
)
@click.option(
    "--area",
    "areas",
    multiple=True,
    metavar="AREA",
    help="Only mutants of a base text, as a42, or of one of its files, as a42/ring.",
)
@click.option("--mutant", "names", multiple=True, metavar="ID", help="Only this mutant.")
@JOBS_OPTION
@click.option("--json", "json_path", type=Path, callback=writable, help="Write the matrix here.")
@OUT_OPTION
def mutants(**options: Any) -> int:
    """Break the reference client in one place after another: a scenario must notice each time."""
    with forked() as worker:
        from conformance.command.run_mutants import Options, run_mutants  # noqa: PLC0415

        known = catalogue()
        for clause in options["clauses"]:
            known_clause(known, clause)
        return int(run_mutants(Options(worker=worker, **options), known, Screen()))


@main.command(context_settings={"ignore_unknown_options": True})
@click.option("--mutants", "with_mutants", is_flag=True, help="Then run `xdspec mutants`, too.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def test(context: click.Context, arguments: tuple[str, ...], *, with_mutants: bool) -> int:
    """Run the project's own tests; ARGUMENTS go to pytest."""
    from conformance.running.jobs import default_jobs  # noqa: PLC0415

    root = Path(__file__).resolve().parents[2]
    folder = next(
        (root / name for name in ("tests", "xdspec_tests") if (root / name).is_dir()), None
    )
    if folder is None:
        raise Failure("the tests are not installed: use a checkout, or the wheel")
    is_named = any((Path.cwd() / one.partition("::")[0]).exists() for one in arguments)
    places = () if is_named else (str(folder),)
    # What is named is looked at in one process.
    at_once = () if is_named else ("-n", str(default_jobs()), "--dist", "loadgroup")
    command = [sys.executable, "-m", "pytest", *at_once, *arguments, *places]
    if folder.name != "tests":  # a wheel has no pyproject.toml beside the tests
        command += ["--import-mode=importlib", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto"]
        for scope in ("fixture", "test"):
            command += ["-o", f"asyncio_default_{scope}_loop_scope=session"]
    code = subprocess.run(command, check=False, cwd=folder.parent).returncode
    if code == 0 and with_mutants:
        code = int(
            context.invoke(
                mutants, clauses=(), areas=(), names=(), jobs=None, json_path=None, out=OUT
            )
        )
    return code
