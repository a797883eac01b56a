"""The client's processes, its channels, and the states that channels tell."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from client_under_test.contract.exceptions import last_words, signal_name
from client_under_test.contract.messages import StateName
from client_under_test.launching.channels import Channel, StateWatch
from client_under_test.launching.private_names import with_private_names, write_private_names
from client_under_test.launching.process import ClientProcess, Exit
from client_under_test.manifests.manifest import Manifest
from conformance import timing
from conformance.judging.aborts import PreconditionTimeout
from conformance.judging.observations import Reported, States
from conformance.world import waits
from conformance.world.clock import Clock
from conformance.world.launched import LaunchedClient
from conformance.world.pending_calls import CallDriver
from conformance.world.starvation import starved
from conformance.xds_config.config import LISTENER


class Channels:
    """Opens channels, in the scenario's first process of the client or in more of them.

    Args:
        launched: the first process, which has said hello.
        hands: a person's driver, which is notified of channels and asked to let the adapter do
            what only an adapter can do.
    """

    def __init__(self, launched: LaunchedClient, driver: CallDriver | None = None) -> None:
        self._launched = launched
        self._hands = driver
        self._given: dict[ClientProcess, Mapping[str, str | None]] = {}
        self._others: list[ClientProcess] = []
        self._ended: dict[ClientProcess, Exit] = {}
        self._default: Channel | None = None
        self._names: dict[Channel, str] = {}
        self._processes: dict[Channel, ClientProcess] = {}
        self._is_released = False

    @property
    def launched(self) -> LaunchedClient:
        """The first process, and how it was started."""
        return self._launched

    @property
    def manifest(self) -> Manifest:
        """What the client's maintainers state of it."""
        return self._launched.process.prepared.client.manifest

    @property
    def processes(self) -> tuple[ClientProcess, ...]:
        """The client's processes, which are the leaders of their groups."""
        return (self._launched.process, *self._others)

    def given(self, variable: str) -> tuple[str, ...]:
        """Return the values that the scenario gave an environment variable in its own processes."""
        values = (environment.get(variable) for environment in self._given.values())
        return tuple(value for value in values if value)

    def name(self, channel: Channel) -> str:
        """Return the name of a channel in evidence."""
        return self._names[channel]

    def process(self, channel: Channel) -> ClientProcess:
        """In which process a channel is."""
        return self._processes[channel]

    async def default(self) -> Channel:
        """Return the channel that calls use by default."""
        if self._default is None:
            self._default = await self.open()
        return self._default

    async def open_default(self, process: ClientProcess) -> Channel:
        """Open a channel in this process, and make it the default for calls."""
        self._default = await self.open(process)
        return self._default

    async def open(
        self, process: ClientProcess | None = None, target: str = f"xds:///{LISTENER}"
    ) -> Channel:
        """One more channel to the target, in the first process or in this one."""
        process = process or self._launched.process
        is_own = process is self._launched.process and target.startswith("xds:")
        opened = await process.open_channel(
            target,
            deadline=timing.ADAPTER_REPLY,
            bootstrap=self._launched.bootstrap if is_own else None,
        )
        self._names[opened] = f"channel-{len(self._names) + 1}"
        self._processes[opened] = process
        if self._hands is not None:
            self._hands.opened(self._names[opened], target, self._given.get(process, {}))
        return opened

    async def open_in_new_process(
        self, hosts: Mapping[str, Sequence[str]] | None = None, /, **environment: str | None
    ) -> Channel:
        """Open a channel to the same target in another process of the client.

        Args and exceptions are those of `start_elsewhere`.
        """
        return await self.open(await self.start_elsewhere(hosts, **environment))

    async def start_elsewhere(
        self,
        hosts: Mapping[str, Sequence[str]] | None = None,
        /,
        *,
        name_server: str | None = None,
        **environment: str | None,
    ) -> ClientProcess:
        """One more process of the client, which has said hello.

        One that only is given a guard may be forked. Any other starts from nothing: what is forked
        from one origin may have more in common than other processes, such as the seed of the
        language's own hash.

        Args:
            hosts: the only host names that this process knows, with their addresses.
            name_server: the address of a name server, which it asks for all others. Such a process
                takes the first one's place, and has its knobs; any other is as shipped.
            environment: what this process is given besides, such as a guard; None takes away what
                the manifest, its variant or the user gave.

        Raises:
            NoOwnHosts: the process needs host names of its own, and this machine cannot provide
                them.
        """
        first = self._launched.process
        beside = first.stderr_path
        number = len(self._others) + 2
        if self._hands is not None and (hosts is not None or name_server is not None):
            await self._hands.leave_to_adapter("a process that knows host names of its own")
        within: Sequence[str] = ()
        if hosts is not None or name_server is not None:
            folder = beside.with_suffix(f".{number}.names")
            names = write_private_names(folder, hosts or {}, server=name_server)
            within = await asyncio.to_thread(with_private_names, names)
        elsewhere = await ClientProcess.launch(
            first.prepared,
            environment={**self._launched.environment, **environment},
            knobs=self._launched.knobs if name_server else {},
            stderr_path=beside.with_suffix(f".{number}.stderr"),
            within=within,
            fork_servers=self._launched.fork_servers if environment else None,
        )
        self._others.append(elsewhere)
        self._given[elsewhere] = environment
        await elsewhere.greet(deadline=timing.HELLO)
        return elsewhere

    async def open_by(self, guard: str, *values: str | None) -> dict[str, Channel]:
        """Open a channel in a new process for each value of a guard, by name; None: unset."""
        return {
            f"when {'unset' if value is None else value}": await self.open_in_new_process(
                **{guard: value}
            )
            for value in values
        }

    def starved(self, process: ClientProcess) -> float:
        """Seconds that a thread of a process waited for a processor in this scenario, at most."""
        is_first = process is self._launched.process
        return starved(process.pid, since=self._launched.waited if is_first else {})

    async def release(self) -> None:
        """Close the channels of the first process, which is not ended by `close` from now on.

        Raises:
            ConversationFailed: it cannot be used again.
        """
        await self._launched.process.release(deadline=timing.ADAPTER_REPLY)
        self._is_released = True

    @property
    def ending(self) -> tuple[ClientProcess, ...]:
        """The processes that end with the scenario: all but one that was released."""
        return self.processes[1:] if self._is_released else self.processes

    def take_back(self) -> None:
        """Have the first process end with the scenario after all."""
        self._is_released = False

    async def close(self) -> None:
        """End the client."""
        for process in self.ending:
            if process not in self._ended:
                self._ended[process] = await process.close(deadline=timing.EXIT)

    async def close_by_contract(self) -> str:
        """End the client and describe how it broke the contract's rule for its exit, or return "".

        A process that had failed before does not count, as that failure is reported elsewhere. Nor
        does a process that the suite had to kill: a busy machine may be the reason.
        """
        asked = [process for process in self.ending if process.failure is None]
        await self.close()
        return next(filter(None, (_broken(self._ended[process]) for process in asked)), "")


def _broken(ended: Exit) -> str:
    if ended.killed or ended.code == 0:
        return ""
    how = f"exited with code {ended.code}" if ended.signal is None else "died by "
    how += signal_name(ended.signal) if ended.signal is not None else ""
    lines = last_words(ended.stderr_tail)
    quoted = "\n".join(["; its stderr ends:", *lines]) if lines else ""
    return f"the adapter {how} after the end of stdin: the contract requires code 0{quoted}"


class ChannelStates:
    """The states that channels tell; scenarios that use it need the capability `watch`."""

    def __init__(self, channels: Channels, clock: Clock, driver: CallDriver | None = None) -> None:
        self._channels = channels
        self._clock = clock
        self._hands = driver
        self.watched: list[tuple[str, StateWatch]] = []
        """Each watch that was begun, with what its channel is called in evidence."""

    async def watch(self, channel: Channel | None = None) -> StateWatch:
        """Watch the states that the channel reports from now on.

        Raises:
            ConversationFailed: the client died, hung or babbled.
        """
        used = channel or await self._channels.default()
        if self._hands is not None:
            await self._hands.leave_to_adapter(f"the states of {self._channels.name(used)}")
        watched = await used.watch(deadline=timing.ADAPTER_REPLY)
        self.watched.append((self._channels.name(used), watched))
        return watched

    async def until(self, watched: StateWatch, *states: StateName, since: int = 0) -> States:
        """Return the reported states of a channel once it is in one of these, or EVENT has passed.

        Args:
            watched: the channel's states.
            states: the states to wait for.
            since: the number of first states that are left out.
        """
        await waits.watched(watched.reached(*states, deadline=timing.EVENT, since=since))
        return self.reported(watched, since=since)

    async def require(
        self, watched: StateWatch, *states: StateName, why: str, since: int = 0
    ) -> None:
        """Go on only when the channel is in one of these states.

        Args:
            watched: the channel's states.
            states: which.
            why: what brings a right client's channel there.
            since: how many of the first states are left out.

        Raises:
            PreconditionTimeout: it was not in time.
        """
        reached = watched.reached(*states, deadline=timing.EVENT, since=since)
        if not await waits.came(reached):
            reported = ", ".join(state.state for state in watched.states[since:]) or "nothing"
            raise PreconditionTimeout(
                f"expected the channel to be {' or '.join(states)} within {timing.EVENT:g} s, "
                f"saw {reported}, though {why}"
            )

    def reported(self, watched: StateWatch, *, since: int = 0) -> States:
        """Return the states of a channel reported so far, without the first `since`."""
        return States(
            tuple(
                Reported(state.state, self._clock.at(state.at)) for state in watched.states[since:]
            )
        )
