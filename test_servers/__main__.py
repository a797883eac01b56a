"""``python -m test_servers``: endpoints to be used from any language, until a signal."""

import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import click
import msgspec

from test_servers.exceptions import FleetTrouble
from test_servers.fleet import Fleet
from test_servers.ledger import Ledger, Rpc, as_lines

_BAD_INPUT = 4

_KEPT = 20_000
"""RPCs, and attempts, in memory. An RPC takes up to 16 KiB, as much metadata as gRPC accepts."""


@click.command(name="python -m test_servers")
@click.option(
    "--count", type=click.IntRange(min=1), help="How many endpoints. Default: one a port."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="A loopback address.")
@click.option(
    "--port",
    "ports",
    type=click.IntRange(0, 65535),
    multiple=True,
    help="A fixed port, 0 for a free one; may be repeated. Default: free ones.",
)
@click.option(
    "--ledger",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write every RPC, as JSON lines. The last 20,000 are written at the end.",
)
@click.option(
    "--until-eof",
    is_flag=True,
    help="End when standard input ends, so that no server outlives the program that started it.",
)
def command(
    count: int | None,
    host: str,
    ports: tuple[int, ...],
    ledger: Path | None,
    until_eof: bool,  # noqa: FBT001 - click passes options by keyword
) -> None:
    """Serve grpc.testing.TestService and gRPC health checks at one or more endpoints.

    Print a JSON line for each endpoint, then serve until SIGINT or SIGTERM.
    """
    count = len(ports) or 1 if count is None else count
    if ports and len(ports) != count:
        raise click.UsageError(
            f"--count {count} with {len(ports)} ports: give one --port for each endpoint, or none"
        )
    if ledger is not None:
        try:
            ledger.open("ab").close()
        except OSError as error:
            raise click.UsageError(
                f"cannot write to {ledger} ({error.strerror}): choose another --ledger"
            ) from error
    asyncio.run(_serve(host, ports or (0,) * count, ledger, until_eof=until_eof))


async def _serve(
    host: str, ports: tuple[int, ...], ledger: Path | None, *, until_eof: bool
) -> None:
    over = asyncio.Event()
    if until_eof:
        _call_at_eof(over.set)
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, over.set)
    kept = Ledger(_KEPT, lambda rpcs: _append(rpcs, ledger))
    async with Fleet.running(kept) as fleet:
        endpoints = [await fleet.endpoint(host=host, port=port) for port in ports]
        if ledger is not None:
            ledger.open("wb").close()  # that of an earlier process
        for endpoint in endpoints:
            line = {
                "id": endpoint.id,
                "address": endpoint.address,
                "host": endpoint.host,
                "port": endpoint.port,
            }
            click.echo(msgspec.json.encode(line))
        await over.wait()
    _append(kept.rpcs, ledger)
    for trouble in fleet.troubles:
        click.echo(f"test_servers: {trouble}", err=True)


def _append(rpcs: Sequence[Rpc], ledger: Path | None) -> None:
    """Append RPCs to the file of the ledger, if one is wanted."""
    if ledger is None:
        return
    try:
        with ledger.open("ab") as file:
            file.write(as_lines(rpcs))
    except OSError as error:
        click.echo(
            f"test_servers: {len(rpcs):,} RPCs are not in {ledger}: {error.strerror}", err=True
        )


def _call_at_eof(end: Callable[[], object]) -> None:
    """Call `end` in this event loop when standard input ends."""
    loop = asyncio.get_running_loop()

    def read() -> None:
        while os.read(sys.stdin.fileno(), 65536):
            pass
        with contextlib.suppress(RuntimeError):  # the loop has ended first
            loop.call_soon_threadsafe(end)

    # A thread, as an event loop cannot wait for a regular file. It blocks nothing at exit.
    threading.Thread(target=read, daemon=True).start()


def main() -> int:
    """Run the command; bad input is one sentence and exit code 4."""
    try:
        command.main(standalone_mode=False)
    except click.ClickException as error:
        click.echo(f"test_servers: {error.format_message()}", err=True)
        return _BAD_INPUT
    except FleetTrouble as error:
        click.echo(f"test_servers: {error}", err=True)
        return _BAD_INPUT
    return 0


if __name__ == "__main__":
    sys.exit(main())
