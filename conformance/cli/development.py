"""Commands about this machine, adapters and the suite itself: doctor, new-client, mutants, test."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click
import cloup

from client_under_test.environments import kept, prepare
from client_under_test.environments.toolchain import look
from client_under_test.manifests.clients import Client, built_in
from conformance.cli.failures import Failure, client_trouble, require_machine
from conformance.cli.invocation import program
from conformance.cli.lookup import catalogue, found_client, from_source, known_clause
from conformance.cli.options import (
    DOCTOR,
    MUTANTS,
    OUT,
    examples,
    with_options,
)
from conformance.reporting.report import Exit
from conformance.reporting.stdout import Screen, echo
from conformance.runner.terminal_escape import LONGEST
from conformance.runner.workers import forked


@cloup.command(
    epilog=examples("doctor", "doctor ./my-adapter", "doctor ./my-adapter --source ../my-library")
)
@cloup.argument("client", required=False)
@with_options(DOCTOR)
def doctor(client: str | None, source: Path | None) -> int:
    """Check toolchains, or an adapter against the contract.

    Without CLIENT, print what this machine supports, which scenarios it skips, and the toolchains
    of all clients. With CLIENT, a name or a folder, check its adapter without any xDS.

    \b
    Exit codes:
      0  the adapter is healthy, or the toolchains are there
      6  the adapter breaks a rule, or cannot be built
      4  bad input, such as a wrong client.toml, or a toolchain is missing
      3  an error of the suite or the machine
    """  # noqa: D301 - click takes these lines as they are
    import asyncio  # noqa: PLC0415

    from client_under_test.doctor import BackendFailed, examine, is_healthy  # noqa: PLC0415
    from conformance.reporting.live import patience  # noqa: PLC0415
    from conformance.runner.files import scratch  # noqa: PLC0415

    if client is None:
        if source is not None:
            raise Failure("--source needs a client: name its folder")
        return _survey()
    with client_trouble():
        found = from_source(found_client(client), source, None)
        lacks = _lacks_tools(found)
        with patience(Screen(), found.preparation):
            prepared = prepare(found)
        for line in _notes(found, lacks=lacks):
            echo(line)
        if found.manifest.python is not None:
            echo(f"    uses      {found.manifest.python.distribution} {prepared.version}")
        require_machine(jobs=1)
        with scratch() as folder:
            try:
                healthy = is_healthy(asyncio.run(examine(prepared, folder=folder, say=echo)))
            except BackendFailed as failed:
                raise Failure(str(failed), Exit.SUITE_TROUBLE) from None
    if healthy:
        words = [client, *(() if source is None else ("--source", str(source)))]
        echo(f"next: {program()} run {shlex.join(words)} --scenario 'ring.size*'")
    return int(Exit.CONFORMS if healthy else Exit.ADAPTER_TROUBLE)


def _survey() -> int:
    """Print what this machine supports, and the toolchains of all clients."""
    from conformance.cli import machine_report  # noqa: PLC0415

    for line in machine_report.lines(machine_report.survey()):
        echo(line)
    echo("Clients:")
    with client_trouble():
        lacking = [_lacks_tools(client) for client in map(found_client, built_in())]
    return int(Exit.BAD_INPUT if any(lacking) else Exit.CONFORMS)


def _lacks_tools(client: Client) -> bool:
    """Print the toolchain of a client, and return whether a program is missing or too old."""
    from conformance.reporting.toolchains import toolchain_lines  # noqa: PLC0415

    tools = [look(tool) for tool in client.manifest.tools]
    for line in toolchain_lines(client, tools, kept(client)):
        echo(line)
    return any(tool.is_missing for tool in tools)


def _notes(found: Client, *, lacks: bool) -> Iterator[str]:
    """Yield notes about a client that can start.

    Args:
        found: the client.
        lacks: whether a program of its toolchain is missing or too old.
    """
    if lacks:
        yield "    uses      the build in the cache, which needs no toolchain"
    if found.name in built_in() and not found.is_shipped:
        yield (
            f"    note      {found.name} is the name of an adapter that comes with xdspec, and "
            "both write evidence to one folder: set another `name` in client.toml"
        )


OTHER_NAMES: Final = {
    **dict.fromkeys(("golang", "grpc-go"), "go"),
    **dict.fromkeys(("py", "python3", "grpcio"), "python"),
    **dict.fromkeys(("js", "javascript", "ts", "typescript", "nodejs", "node.js"), "node"),
    **dict.fromkeys(("rs", "tonic"), "rust"),
    **dict.fromkeys(("jvm", "grpc-java"), "java"),
}
"""Names by which people call languages that have a skeleton."""


@cloup.command("new-client", epilog=examples("new-client", "new-client go ./my-adapter"))
@cloup.argument("language", metavar="[LANG]", required=False)
@cloup.argument("folder", metavar="[DIR]", type=Path, required=False)
def new_client(language: str | None, folder: Path | None) -> None:
    """Create an adapter skeleton.

    Writes an adapter in LANG, which may be any language, into DIR. Without LANG, list the languages
    whose skeleton has a program that starts.
    """
    from client_under_test import scaffold  # noqa: PLC0415

    *with_program, _ = scaffold.languages()
    if language is None:
        echo("\n".join(with_program))
        echo("For any other language, the skeleton has a manifest, the contract and a README.")
        return
    if folder is None:
        raise click.UsageError("Missing argument 'DIR': the folder for the skeleton")
    language = language.lower()
    if language in OTHER_NAMES:
        raise Failure(f"there is no skeleton for {language}: did you mean {OTHER_NAMES[language]}?")
    if len(language) > LONGEST:
        raise click.UsageError(f"{language} is not the name of a language")
    with client_trouble():
        files = scaffold.write(language, folder)
    echo(f"{folder} has {', '.join(map(str, files))}")
    if language not in with_program:
        named = ", ".join(with_program)
        echo(f"It has no program: only the skeletons for {named} have one.")
    first = "" if language in with_program else "write `adapter` as README.md says, then "
    place = f"./{folder}" if str(folder) in built_in() else str(folder)
    echo(f"Next: {first}{program()} doctor {shlex.quote(place)}")


@cloup.command(epilog=examples("mutants --clause A42-RING-13", "mutants --area ring_hash/ring"))
@with_options(MUTANTS)
def mutants(**options: Any) -> int:
    """Break the reference client; scenarios must notice.

    Each mutant is the reference client with one rule replaced. A mutant that no scenario of its
    clause notices runs nine more times. If it passes one of these too, it has survived, and the
    command exits with 1.
    """
    with forked() as worker:
        from conformance.cli.run_mutants import MutantOptions, run_mutants  # noqa: PLC0415

        known = catalogue()
        for clause in options["clauses"]:
            known_clause(known, clause)
        return int(run_mutants(MutantOptions(worker=worker, **options), known, Screen()))


@cloup.command(
    context_settings={"ignore_unknown_options": True},
    epilog=examples("test", "test tests/conformance/spec/oracles -k census", "test --slow"),
)
@cloup.option(
    "--slow",
    is_flag=True,
    help="Also run slow tests, and try more examples of each property.",
)
@cloup.option("--mutants", "with_mutants", is_flag=True, help="Run `xdspec mutants` afterwards.")
@cloup.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def test(
    context: click.Context, arguments: tuple[str, ...], *, slow: bool, with_mutants: bool
) -> int:
    """Run the project's own tests.

    ARGUMENTS go to pytest. Slow tests run with --slow, with -m slow, or if you name them or their
    file.
    """
    from conformance.runner.jobs import default_jobs  # noqa: PLC0415

    root = Path(__file__).resolve().parents[2]
    folder = next(
        (root / name for name in ("tests", "xdspec_tests") if (root / name).is_dir()), None
    )
    if folder is None:
        raise Failure("the tests are not installed: use a checkout, or the wheel")
    named = [Path.cwd() / argument.partition("::")[0] for argument in arguments]
    # Workers would run no test of such a file, and not say why.
    if missing := [path for path in named if path.suffix == ".py" and not path.exists()]:
        raise Failure(f"there is no file {missing[0]}")
    is_named = any(path.exists() for path in named)
    places = () if is_named else (str(folder),)
    # Named tests run in a single process.
    at_once = () if is_named else ("-n", str(default_jobs()), "--dist", "loadgroup")
    options = (*at_once, "--slow") if slow else at_once
    command = [sys.executable, "-m", "pytest", *options, *arguments, *places]
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
