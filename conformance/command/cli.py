"""The ``xdspec`` command: options in, exit code out; the work is done elsewhere."""

from __future__ import annotations

import math
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import click
import msgspec
from rich.console import Console

from client_under_test import Client, built_in, find, prepare
from client_under_test.environments import kept
from client_under_test.exceptions import BuildFailed, ClientTrouble
from client_under_test.toolchain import look
from conformance.catalogue import BROUGHT, Catalogue, CatalogueError, UnknownClause, load
from conformance.report import Exit
from conformance.settings import LEAST
from conformance.stated import EDITIONS_ARE, check
from conformance.workers import forked

OUT = Path("xdspec-out")


class Failure(click.ClickException):
    """One sentence for the user, and the exit code."""

    def __init__(self, message: str, code: Exit = Exit.BAD_INPUT) -> None:
        super().__init__(message)
        self.code = code

    def show(self, file: Any = None) -> None:
        """Say it."""
        click.echo(f"xdspec: {self.message}", file=file or sys.stderr)


@contextmanager
def client_trouble() -> Iterator[None]:
    """Turn what can be wrong with a client's name, manifest or build into a sentence."""
    try:
        yield
    except BuildFailed as trouble:
        raise Failure(str(trouble), Exit.ADAPTER_TROUBLE) from None
    except ClientTrouble as trouble:
        raise Failure(str(trouble)) from None


def program() -> str:
    """What the user types to start this command."""
    from_checkout = Path(sys.argv[0]).parts[-2:] == ("conformance", "__main__.py")
    return "./xdspec" if from_checkout else "xdspec"


def found_client(name: str) -> Client:
    """The client of this name, if the suite knows what its manifest states.

    Raises:
        UnknownClient: there is none.
        BadManifest: its client.toml breaks a rule, or states what nobody knows.
    """
    found = find(name)
    check(found)
    return found


class Command(click.Group):
    """The group of all commands; usage errors have this suite's exit code for bad input."""

    def main(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Run, and exit with a code of ours."""
        kwargs["standalone_mode"] = False
        try:
            code = super().main(*args, **kwargs)
        except Failure as failure:
            failure.show()
            sys.exit(failure.code)
        except click.UsageError as error:
            error.show()
            sys.exit(Exit.BAD_INPUT)
        except click.ClickException as error:
            error.show()
            sys.exit(Exit.BAD_INPUT)
        except (click.Abort, KeyboardInterrupt):
            sys.exit(Exit.INTERRUPTED)
        sys.exit(code if isinstance(code, int) else Exit.CONFORMS)


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


def catalogue() -> Catalogue:
    """The clauses."""
    try:
        return load()
    except CatalogueError as error:
        raise Failure(f"the catalogue is broken: {error}", Exit.SUITE_TROUBLE) from None


def pairs(_: click.Context, option: click.Parameter, given: Sequence[str]) -> dict[str, str]:
    """``K=V`` arguments as a mapping."""
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{text!r} is not of the form NAME=VALUE", param=option)
        found[name] = value
    return found


def writable(_: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    """A path in a folder that exists: better known before the run than after it."""
    if path is not None and not path.absolute().parent.is_dir():
        raise click.BadParameter(f"the folder of {path} does not exist", param=option)
    if path is not None and path.is_dir():
        raise click.BadParameter(f"{path} is a folder, and a file is wanted", param=option)
    return path


def folder(_: click.Context, option: click.Parameter, path: Path) -> Path:
    """A folder that is there, or can be made."""
    there = next(place for place in (path.absolute(), *path.absolute().parents) if place.exists())
    if not there.is_dir():
        raise click.BadParameter(f"{there} is no folder", param=option)
    try:
        tempfile.TemporaryDirectory(dir=there).cleanup()
    except OSError:
        message = f"nothing can be written in {there}"
        raise click.BadParameter(message, param=option) from None
    return path


def clauses_of(_: click.Context, option: click.Parameter, grfc: str | None) -> tuple[str, ...]:
    """The clauses of a gRFC, and those that amend it."""
    if grfc is None:
        return ()
    known = catalogue()
    clauses = tuple(clause.id for clause in known.only(grfc))
    if not clauses:
        there = ", ".join(dict.fromkeys(clause.document.lower() for clause in known))
        raise click.BadParameter(f"no clause is of {grfc}: there are {there}", param=option)
    return clauses


OUT_OPTION = click.option(
    "--out", type=Path, callback=folder, default=OUT, show_default=True, help="Folder for evidence."
)
JOBS_OPTION = click.option(
    "--jobs", type=click.IntRange(1), help="Scenarios at once. [default: by cores]"
)


def run_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of ``run``."""
    for option in reversed(
        (
            click.option(
                "--all",
                "every_client",
                is_flag=True,
                help="Every real client that can be had here.",
            ),
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
            click.option("--seed", type=int, help="Repeat the random choices of another run."),
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
                "--json", "json_path", type=Path, callback=writable, help="Write the report here."
            ),
            click.option(
                "--junit", "junit_path", type=Path, callback=writable, help="Write JUnit XML here."
            ),
            OUT_OPTION,
            click.option(
                "--keep-evidence", is_flag=True, help="Keep that of scenarios that pass, too."
            ),
            click.option(
                "--fast",
                is_flag=True,
                help="Shorten the client's failover timer where it has a knob for that; clauses on "
                "its length are skipped. Leave out scenarios that decide only what the client does "
                "not state, and end the soak after one storm of faults.",
            ),
            click.option("--no-baseline", is_flag=True, help="Let expected failures count."),
            click.option("--strict", is_flag=True, help="Let SHOULD clauses fail the run, too."),
            click.option(
                "--hold",
                is_flag=True,
                help="Keep the world of one scenario up at its end until a key or signal.",
            ),
        )
    ):
        function = option(function)
    return function


@main.command()
@click.argument("clients", nargs=-1)
@run_options
def run(clients: tuple[str, ...], **options: Any) -> int:
    """Run the scenarios against CLIENTS: a name, NAME@VERSION, NAME+VARIANT, or a folder.

    Without a name, against the newest grpcio.
    """
    with forked() as worker:  # first, to load what this process loads now while it does
        return _run(clients, worker=worker, **options)


def _run(clients: tuple[str, ...], **options: Any) -> int:
    from conformance.session import Options, run_clients  # noqa: PLC0415  # pytest is slow to load

    known = catalogue()
    for clause in options["clauses"]:
        _known_clause(known, clause)
    seed = options.pop("seed")
    given = Options(seed=random.SystemRandom().getrandbits(32) if seed is None else seed, **options)
    if given.every_client and clients:
        raise Failure("--all means every client: name some, or say --all")
    if given.hold and len(given.scenario_patterns) != 1:
        raise Failure("--hold keeps the world of one scenario: name it with --scenario")
    return int(run_clients(clients or ("python",), given, known, Console()))


def _known_clause(known: Catalogue, name: str) -> Any:
    if re.fullmatch(r"[Aa]\d+(-\d{4})?", name):
        raise Failure(f"{name} is no clause, and no edition that is judged: {EDITIONS_ARE}")
    try:
        return known[name]
    except UnknownClause as error:
        raise Failure(str(error)) from None


@main.command()
@click.argument("folder", type=Path)
def judge(folder: Path) -> int:
    """Judge the evidence in FOLDER again, without a client."""
    from conformance import evidence  # noqa: PLC0415
    from conformance.console import decision_lines  # noqa: PLC0415
    from conformance.report import ClientId, build_run, exit_of  # noqa: PLC0415

    known = catalogue()
    try:
        record, decisions = evidence.judge(folder, known)
    except evidence.BadEvidence as error:
        raise Failure(str(error)) from None
    client = record.client
    click.echo(f"{record.scenario}, {client.name} {client.version}, seed {record.seed}")
    for line in decision_lines(decisions, known):
        click.echo(line)
    if decisions != record.decisions:
        click.echo("These are not the verdicts of the run: the suite has changed since.")
    judged = build_run(
        (msgspec.structs.replace(record, decisions=decisions),),
        known,
        client=ClientId(client.name, client.version, client.variant),
        follows=client.follows,
        wall_seconds=record.seconds,
    )
    return int(exit_of(judged))


@main.command()
@click.argument("reports", nargs=-1, required=True, type=Path, metavar="REPORT…")
def table(reports: tuple[Path, ...]) -> None:
    """Print the table of clients and clauses, as Markdown, from REPORTs that --json has written."""
    from conformance import table as tables  # noqa: PLC0415

    try:
        text = tables.table([tables.read(path) for path in reports], catalogue())
    except tables.BadReport as error:
        raise Failure(str(error)) from None
    click.echo(text, nl=False)


@main.command("list")
@click.argument("what", type=click.Choice(["clients", "scenarios", "clauses", "editions"]))
def list_things(what: str) -> None:
    """List the clients, scenarios, clauses or editions that there are."""
    if what == "clients":
        for name in built_in():
            click.echo(name)
        return
    known = catalogue()
    if what == "editions":
        from conformance.explain import edition_lines  # noqa: PLC0415

        for line in edition_lines(known):
            click.echo(line)
        return
    if what == "clauses":
        for clause in known:
            mark = " (not observable)" if clause.unobservable else ""
            click.echo(f"{clause.id:14}  {clause.strength.value:11}  {clause.title}{mark}")
        return
    from conformance.run import scenarios  # noqa: PLC0415

    for name, declared in scenarios().items():
        click.echo(f"{name:60}  {' '.join(declared.clauses)}")


@main.command()
@click.argument("identifier", metavar="ID")
def explain(identifier: str) -> None:
    """Explain a clause, a scenario or an edition."""
    from conformance.explain import (  # noqa: PLC0415
        explain_clause,
        explain_edition,
        explain_scenario,
    )
    from conformance.run import scenarios  # noqa: PLC0415

    known = catalogue()
    for edition in BROUGHT:
        if identifier.upper() == edition.upper():
            click.echo(explain_edition(edition, known))
            return
    declared = scenarios()
    if identifier in declared:
        click.echo(explain_scenario(identifier, declared, known))
        return
    clause = _known_clause(known, identifier)
    click.echo(explain_clause(clause, declared))


@main.command()
@click.argument("client", required=False)
def doctor(client: str | None) -> int:
    """Check the adapter of CLIENT against the contract, without any xDS.

    Without CLIENT, tell which toolchains are here, and how to get what is missing.
    """
    import asyncio  # noqa: PLC0415

    from client_under_test.doctor import examine, is_healthy  # noqa: PLC0415
    from conformance.console import patience, toolchain_lines  # noqa: PLC0415

    with client_trouble():
        there = [found_client(name) for name in (built_in() if client is None else [client])]
        lacks = False
        for one in there:
            tools = [look(tool) for tool in one.manifest.tools]
            lacks |= any(tool.is_missing for tool in tools)
            for line in toolchain_lines(one, tools, kept(one)):
                click.echo(line)
        if client is None:
            return int(Exit.BAD_INPUT if lacks else Exit.CONFORMS)
        (found,) = there
        with patience(Console(), f"making what {found} needs"):
            prepared = prepare(found)
        healthy = is_healthy(asyncio.run(examine(prepared, say=click.echo)))
    if healthy:
        click.echo(f"next: {program()} run {shlex.quote(client)} --scenario 'ring.*'")
    return int(Exit.CONFORMS if healthy else Exit.ADAPTER_TROUBLE)


@main.command("new-client")
@click.argument("language", metavar="LANG")
@click.argument("folder", metavar="DIR", type=Path)
def new_client(language: str, folder: Path) -> None:
    """Write the scaffold of an adapter in LANG into DIR; `other` stands for every language."""
    from client_under_test import scaffold  # noqa: PLC0415

    with client_trouble():
        files = scaffold.write(language, folder)
    click.echo(f"{folder} has {', '.join(map(str, files))}")
    click.echo(f"Next: {program()} doctor {shlex.quote(str(folder))}")


@main.command()
@click.option(
    "--clause", "clauses", multiple=True, metavar="ID", help="Only mutants of this clause."
)
@click.option("--mutant", "names", multiple=True, metavar="ID", help="Only this mutant.")
@JOBS_OPTION
@click.option("--json", "json_path", type=Path, callback=writable, help="Write the matrix here.")
@OUT_OPTION
def mutants(**options: Any) -> int:
    """Break the reference client in one place after another: a scenario must notice each time."""
    with forked() as worker:
        from conformance.mutants import Options, run_mutants  # noqa: PLC0415

        known = catalogue()
        for clause in options["clauses"]:
            _known_clause(known, clause)
        return int(run_mutants(Options(worker=worker, **options), known, Console()))


@main.command(context_settings={"ignore_unknown_options": True})
@click.option("--mutants", "with_mutants", is_flag=True, help="Then run `xdspec mutants`, too.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def test(context: click.Context, arguments: tuple[str, ...], *, with_mutants: bool) -> int:
    """Run the project's own tests; ARGUMENTS go to pytest."""
    from conformance.run import default_jobs  # noqa: PLC0415

    root = Path(__file__).resolve().parent.parent
    folder = next(
        (root / name for name in ("tests", "xdspec_tests") if (root / name).is_dir()), None
    )
    if folder is None:
        raise Failure("the tests are not installed: use a checkout, or the wheel")
    places = () if any((Path.cwd() / one).exists() for one in arguments) else (str(folder),)
    # What is named is looked at in one process.
    at_once = ("-n", str(default_jobs())) if places else ()
    command = [sys.executable, "-m", "pytest", *at_once, *arguments, *places]
    if folder.name != "tests":  # a wheel has no pyproject.toml beside the tests
        command += ["--import-mode=importlib", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto"]
        for scope in ("fixture", "test"):
            command += ["-o", f"asyncio_default_{scope}_loop_scope=session"]
    code = subprocess.run(command, check=False, cwd=folder.parent).returncode
    if code == 0 and with_mutants:
        code = int(
            context.invoke(mutants, clauses=(), names=(), jobs=None, json_path=None, out=OUT)
        )
    return code
