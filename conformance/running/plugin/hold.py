"""``--hold``: keep a scenario's world up and say how to reach it, until a key or a signal."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import sys
from typing import TYPE_CHECKING

from conformance.judging.evidence import Record
from conformance.running.plain_text import plain
from conformance.served.bootstrap import VARIABLE
from conformance.served.serving import LISTENER

if TYPE_CHECKING:
    from conformance.world import World


def describe(world: World, record: Record) -> str:
    """What somebody with a debugger wants to know of a world that is held."""
    lines = [
        f"{record.scenario} is held.",
        f"  bootstrap   {world.environment[VARIABLE]}",
        f"  target      xds:///{LISTENER}",
        f"  client pid  {world.process.pid}",
        f"  suite pid   {os.getpid()}",
        "  endpoints   " + ", ".join(one.address for one in world.members),
    ]
    lines += [
        f"  {decision.verdict.value:5}       {decision.clause}: {decision.saw}"
        for decision in record.decisions
    ]
    return "\n".join([*lines, "Press Enter, or send SIGINT or SIGTERM, to go on.", ""])


async def hold(world: World, record: Record) -> None:
    """Wait for a line on standard input, or for a signal."""
    loop = asyncio.get_running_loop()
    go_on = asyncio.Event()
    signals = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in signals}
    for number in signals:
        loop.add_signal_handler(number, go_on.set)
    source = _standard_input()
    if source is not None:
        loop.add_reader(source, go_on.set)
    try:
        # Whoever reads it may answer at once, and a signal that nobody waits for ends the command.
        sys.stderr.write(plain(describe(world, record)))
        sys.stderr.flush()
        await go_on.wait()
    finally:
        if source is not None:
            loop.remove_reader(source)
        for number in signals:
            loop.remove_signal_handler(number)
            signal.signal(number, before[number])


def _standard_input() -> int | None:
    """The descriptor of a terminal or pipe; None where there is nobody to press a key."""
    try:
        number = sys.__stdin__.fileno() if sys.__stdin__ else None
    except (OSError, ValueError):
        return None
    return number if number is not None and (os.isatty(number) or _is_pipe(number)) else None


def _is_pipe(number: int) -> bool:
    return stat.S_ISFIFO(os.fstat(number).st_mode)
