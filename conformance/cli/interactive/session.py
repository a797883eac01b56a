"""Show a world to the user, read commands, and request calls.

Either the scenario runs step by step, and the user or the adapter does each step; or the adapter
does all steps, and the world is kept up at the end of the scenario (``--hold``).
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import (
    AsyncIterator,
    Callable,
    Coroutine,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from client_under_test.launching.channels import Call as PlannedCall
from client_under_test.launching.channels import Channel
from conformance.cli.interactive import commands, output, steps
from conformance.cli.interactive.commands import (
    BadCommand,
    Command,
    Done,
    Make,
    Nothing,
    Quit,
    Show,
    Wait,
)
from conformance.cli.interactive.manual_calls import ManualCalls
from conformance.cli.interactive.output import (
    EventFeed,
    InputLines,
    Printer,
    end_tasks,
    signals_handled,
)
from conformance.cli.interactive.steps import BY_HAND, CallSite, RequestedCalls, Step
from conformance.judging.aborts import ScenarioAbandoned, Unsupported
from conformance.judging.evidence import Record
from conformance.runner.interaction import Interaction
from conformance.world import World
from conformance.world.pending_calls import CallDriver, Caller, Started
from conformance.xds_config.bootstrap import VARIABLE
from fake_control_plane import ControlPlaneTrouble

_LEFT: Final = "the user ended the scenario before it decided this"


class _Reply(msgspec.Struct, frozen=True):
    """The user's reply to a requested step: who does it, and the status of its calls."""

    by_hand: bool
    status: str = ""
    step: int = 0
    """The number of the step; 0: the request belongs to an earlier step."""


class InteractiveSession(Interaction):
    """A session with a user, for one world after another.

    Args:
        say: prints to the user.
        adapter: the name of the client that does the steps which the user leaves to it.
        folder: for files whose paths are printed; it exists until the command ends.
        is_for_steps: whether the user does steps; if not, the user gets the world at its end only.
    """

    def __init__(self, say: Printer, *, adapter: str, folder: Path, is_for_steps: bool) -> None:
        self._say = say
        self._adapter = adapter
        self._folder = folder
        self._is_for_steps = is_for_steps
        self._world: World | None = None
        self._decide: Callable[[], Record] | None = None
        self._control = ""
        self._knobs: Mapping[str, int] = {}
        self._lines: InputLines | None = None
        self._places: dict[str, CallSite] = {}
        self._turn = asyncio.Lock()
        self._pending: tuple[RequestedCalls, asyncio.Future[_Reply]] | None = None
        self._under_way: ManualCalls | None = None
        self._is_asking = asyncio.Event()  # or has nothing more to ask
        self._go_on = asyncio.Event()
        self._has_left = False
        self._always = False
        self._table: list[str] = []
        self._files = 0
        self.steps: list[Step] = []
        """The steps so far, with who did each, in order."""

    # The interface to a world and its scenario.

    @property
    def driver(self) -> CallDriver | None:
        """The driver of calls in place of the adapter; None: the adapter makes all calls."""
        return self if self._is_for_steps else None

    @property
    def has_had_a_world(self) -> bool:
        """Return whether a world came up."""
        return self._world is not None

    def wants(self, knobs: Mapping[str, int]) -> None:
        """Note the settings that the scenario requests of a client."""
        self._knobs = knobs

    @asynccontextmanager
    async def at(self, world: World, decide: Callable[[], Record]) -> AsyncIterator[None]:
        """Give the user a world for the length of a block.

        Args:
            world: the world of the scenario.
            decide: returns the record of what is decided so far.
        """
        # Slow to load, and no other run needs it.
        from fake_control_plane.control import ControlServer  # noqa: PLC0415

        self._world, self._decide = world, decide
        self._has_left, self._table = False, []
        self._go_on.clear()
        async with ControlServer.running(world.plane) as steering:
            self._control = steering.address
            if not self._is_for_steps:
                yield
                return
            self._tell_places()
            live = EventFeed(world, self._say, since_the_beginning=True)
            async with self._meanwhile(live.follow(), self._hear()):
                yield

    async def keep_up(self, record: Record) -> None:
        """Print the decisions, and keep the world up until the user is done.

        SIGINT and SIGTERM end only this wait, not the command.
        """
        with signals_handled(self._go_on.set):
            # A reader may answer as soon as the text is printed.
            self._tell_end(record)
            self._is_asking.set()
            if self._is_for_steps:
                await self._go_on.wait()
                return
            live = EventFeed(self._there, self._say, since_the_beginning=False)
            async with self._meanwhile(live.follow(), self._hear()):
                await self._go_on.wait()

    def signed(self, record: Record) -> Record:
        """Return the record with the name of the client that made the calls."""
        return steps.signed(record, self.steps, self._adapter)

    def so_far(self) -> list[tuple[str, str]]:
        """Return what is decided so far, as lines with their styles."""
        if self._decide is None:
            return []
        return steps.summary(self._decide(), self.steps, self._adapter)

    # Steps of the scenario.

    def opened(self, channel: str, target: str, environment: Mapping[str, str | None]) -> None:
        """Note the target of a channel, and the extra environment of its process."""
        self._places[channel] = CallSite(channel, target, environment)

    def caller(self, channel: Channel, name: str, *, beside: bool) -> Caller:
        """Return a caller that asks the user who makes the next calls on a channel."""
        return _Caller(self, channel, self._places[name], beside=beside)

    async def leave_to_adapter(self, what: str) -> None:
        """Ask whether the adapter may do a step that the user's own client cannot do.

        Raises:
            ClientUnable: the user declined.
        """
        until = "you leave it open: then the clauses that depend on it are not decided"
        if (
            await self._choose(RequestedCalls(what=what, until=until, is_for_adapter=True))
        ).by_hand:
            raise Unsupported(f"only an adapter can provide {what}, and the user left it open")

    async def ask(self, asked: RequestedCalls) -> str:
        """Ask for a step that only the user can do now; return the status that they name.

        Raises:
            ScenarioLeft: the user quits.
        """
        while not (reply := await self._ask(asked)).by_hand:
            self._say(f"{self._adapter} cannot do that: your client started it.", "yellow")
        return reply.status

    async def calls(
        self,
        planned: Sequence[PlannedCall],
        place: CallSite,
        *,
        concurrency: int | None,
        pace: float | None,
        beside: bool,
    ) -> ManualCalls | None:
        """Ask who makes calls; return the user's calls, or None if the adapter must make them.

        Raises:
            ClientRefused: the user's client NACKed the first configuration.
            ScenarioLeft: the user quits.
        """
        world = self._there
        self._files += 1
        file = self._folder / f"calls-{self._files}.json"
        file.write_bytes(steps.as_rows(planned))
        asked = steps.calls(
            planned, place, concurrency=concurrency, pace=pace, file=str(file), beside=beside
        )
        self._places[place.channel] = msgspec.structs.replace(place, is_known=True)
        made = ManualCalls(
            self,
            world,
            planned,
            since=len(world.fleet.ledger),
            began=time.monotonic(),
        )
        self._under_way = made
        async with self._meanwhile(self._tell_complete(made)):
            reply = await world.control.unless_refused(self._choose(asked))
        if not reply.by_hand:
            return None
        made.step = reply.step
        if not beside:
            made.are_over(reply.status)
        elif all(call.kept_open for call in planned):
            made.are_open(reply.status)
        if strays := made.strays:
            self._say(f"Backends received {strays} requests too many: they are ignored.")
        return made

    async def _choose(self, asked: RequestedCalls) -> _Reply:
        """Ask who does a step, unless the adapter does all, and note the reply."""
        if self._always:
            self._say(f"step {len(self.steps) + 1}, {self._adapter}: {asked.what}", "bold")
            reply = _Reply(by_hand=False)
        else:
            reply = await self._ask(asked)
        self.steps.append(Step(asked.what, BY_HAND if reply.by_hand else self._adapter))
        return msgspec.structs.replace(reply, step=len(self.steps))

    async def _ask(self, asked: RequestedCalls) -> _Reply:
        async with self._turn:
            if self._has_left:
                raise ScenarioAbandoned(_LEFT)
            future: asyncio.Future[_Reply] = asyncio.get_running_loop().create_future()
            self._pending = (asked, future)
            self._tell_ask(asked)
            self._is_asking.set()
            try:
                return await future
            finally:
                self._pending = None
                self._is_asking.clear()

    # Commands of the user.

    async def _hear(self) -> None:
        """Execute the user's commands, line by line, until the input ends."""
        self._lines = InputLines()
        async for line in self._lines:
            try:
                await self._obey(commands.parse(line))
            except (BadCommand, LookupError, ControlPlaneTrouble) as why:
                self._say(f"{why.args[0]}", "yellow")
        self._leave()

    async def _obey(self, command: Command) -> None:
        match command:
            case Nothing():
                if not self._is_for_steps:
                    self._leave()
            case Quit():
                self._leave()
            case Show("help"):
                self._say(commands.HELP)
            case Show("ask"):
                self._tell_pending()
            case Show():
                self._tell_places()
                self._tell_endpoints(anew=True)
            case Done() | Make() | Wait():
                await self._answer(command)
            case _:
                await commands.execute(command, self._there, self._say)

    async def _answer(self, command: Done | Make | Wait) -> None:
        """Answer the requested step; an answer from a script waits for the next step."""
        assert self._lines is not None, "heard"
        if self._pending is None and not self._lines.is_terminal:
            await self._is_asking.wait()
        if isinstance(command, Wait):
            return
        self._always = isinstance(command, Make) and command.always
        if self._pending is not None:
            _, future = self._pending
            self._pending = None
            self._is_asking.clear()
            if isinstance(command, Done):
                future.set_result(_Reply(by_hand=True, status=command.status))
            else:
                future.set_result(_Reply(by_hand=False))
        elif not self._always:
            self._say("No step waits for you now: `world` shows the servers.", "yellow")

    def _leave(self) -> None:
        """End the session at the next step, or at the end of the scenario."""
        self._has_left = True
        self._go_on.set()
        if self._pending is not None and not self._pending[1].done():
            self._pending[1].set_exception(ScenarioAbandoned(_LEFT))

    # Output.

    @property
    def _there(self) -> World:
        assert self._world is not None, "a world is up"
        return self._world

    def _tell_places(self) -> None:
        world, file = self._there, self._folder / "bootstrap.json"
        file.write_text(world.environment[VARIABLE], "utf-8")
        control, adapter = self._control, self._adapter
        for line in output.places(
            world, control=control, bootstrap=file, adapter=adapter, knobs=self._knobs
        ):
            self._say(line)

    def _tell_endpoints(self, *, anew: bool = False) -> None:
        table = output.endpoints(self._there)
        if anew or table != self._table:
            for line in table:
                self._say(line)
        self._table = table

    def _tell_pending(self) -> None:
        if self._pending is None:
            self._say("No step waits for you now.")
            return
        self._tell_ask(self._pending[0])
        if self._under_way is not None:
            self._say(f"  so far     backends received {self._under_way.received}")

    def _tell_ask(self, asked: RequestedCalls) -> None:
        self._tell_endpoints()
        head = f"step {len(self.steps) + 1}" if asked.is_step else "also"
        self._say(f"{head}: {asked.what}", "bold")
        for head, text in asked.details:
            self._say(f"  {head:<10} {text}")
        self._say(f"  done when  {asked.until}")
        self._say(f"  {asked.keys(self._adapter)}", "cyan")

    async def _tell_complete(self, made: ManualCalls) -> None:
        await made.complete(deadline=math.inf)
        self._say("Backends received all of them: type `done` to continue.", "cyan")

    def _tell_end(self, record: Record) -> None:
        ways = "`quit` or Ctrl-C ends the session."
        if self._is_for_steps:
            for line, style in steps.summary(record, self.steps, self._adapter):
                self._say(line, style)
        else:
            ways = "Press Enter, or send SIGINT or SIGTERM, to continue."
            self._say(f"{record.scenario}: the servers stay up.")
            self._tell_places()
            for decision in record.decisions:
                self._say(f"  {decision.verdict.value:<11} {decision.clause}: {decision.saw}")
        self._tell_endpoints(anew=not self._is_for_steps)
        if not self._has_left:
            self._say(f"The servers are up: `help` lists the commands. {ways}")

    @asynccontextmanager
    async def _meanwhile(self, *doings: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
        """Run tasks for the length of a block; if a task fails, end the session."""

        async def done(doing: Coroutine[Any, Any, None]) -> None:
            try:
                await doing
            except Exception:
                self._leave()
                raise

        tasks = [asyncio.create_task(done(event)) for event in doings]
        try:
            yield
        finally:
            await end_tasks(tasks)


class _Caller:
    """Makes calls on a channel, by the user's client or by the adapter."""

    def __init__(
        self, interactive: InteractiveSession, channel: Channel, place: CallSite, *, beside: bool
    ) -> None:
        self._interactive_session = interactive
        self._channel = channel
        self._place = place
        self._beside = beside

    @property
    def is_closed(self) -> bool:
        """Return whether the channel is closed."""
        return self._channel.is_closed

    async def start_calls(
        self,
        calls: Sequence[PlannedCall],
        *,
        concurrency: int | None = None,
        pace: float | None = None,
    ) -> Started:
        """Ask who makes the calls, and start them."""
        made = await self._interactive_session.calls(
            calls, self._place, concurrency=concurrency, pace=pace, beside=self._beside
        )
        if made is not None:
            return made
        return await self._channel.start_calls(calls, concurrency=concurrency, pace=pace)
