"""Host names of one scenario: a name server, and a process of the client that asks it alone."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from client_under_test.contract.exceptions import ConversationFailed
from client_under_test.launching.channels import Call
from conformance import timing
from conformance.judging.aborts import HostNamesIgnored
from conformance.judging.expectations import Expectation, fits
from conformance.judging.observations import Lookup, Lookups
from conformance.world import waits
from conformance.world.calls import UNARY
from conformance.world.channels import Channels
from conformance.world.clock import Clock
from test_servers import Answer, NameServer, NoSuchName

_PROBE: Final = "nobody.xdspec.test"
"""Asked for by a plain channel, to see who is asked; no scenario has it."""

_TARGET: Final = f"dns:///{_PROBE}:9"


class HostNames:
    """Serves host names; starts no name server before `begin`, as most scenarios need none.

    Args:
        channels: the client's channels.
        clock: the scenario's clock.
        notes: where a watch that saw nothing is noted.
    """

    def __init__(self, channels: Channels, clock: Clock, notes: list[str]) -> None:
        self._notes = notes
        self._channels = channels
        self._clock = clock
        self._begun: NameServer | None = None
        self._first = 0

    async def begin(self, names: Mapping[str, Answer]) -> None:
        """Make all further calls from a process whose resolver has only these names.

        First a channel without xDS shows that the process's resolver asks this name server, so
        that a client that cannot see it is not accused. That channel is closed before the one
        that makes the calls is opened.

        Args:
            names: each name with the name server's answer; other names do not exist.

        Raises:
            PortForbidden, NoOwnHosts: this machine does not allow it.
            HostsUnseen: the client asks another name server.
        """
        server = self._begun = await NameServer.start({_PROBE: NoSuchName(), **names})
        process = await self._channels.start_elsewhere(name_server=server.host)
        with suppress(ConversationFailed):  # who cannot do it has not asked, either
            plainly = await process.open_channel(_TARGET, deadline=timing.ADAPTER_REPLY)
            probe = Call(id="probe", path=UNARY, deadline=timing.EVENT)
            await (await plainly.start_calls([probe])).finished(deadline=timing.BATCH)
            await plainly.close(deadline=timing.ADAPTER_REPLY)
        asked = server.asked(lambda query: query.question.name == _PROBE, deadline=timing.QUIET)
        if not await waits.came(asked):
            raise HostNamesIgnored(
                f"the client does not query the private name server of its process: on a channel "
                f"without xDS to {_TARGET}, no query came. Start the client so that it reads the "
                "/etc/resolv.conf of its adapter: copy that file into the client's chroot or "
                "container. `xdspec doctor` checks this alone (name-server)"
            )
        self._first = len(server.queries)
        await self._channels.open_default(process)

    def set(self, name: str, answer: Answer) -> None:
        """Change the answer for a name."""
        self._server.set(name, answer)

    @property
    def mark(self) -> int:
        """The number of queries so far, to pass as `beyond` later."""
        return len(self._server.queries) - self._first

    def asked(self, *, beyond: int = 0) -> Lookups:
        """Return the client's look-ups without the first `beyond`."""
        at = self._clock.at
        return Lookups(
            tuple(
                Lookup(query.question.name, query.question.kind, at(query.at))
                for query in self._server.queries[self._first + beyond :]
                if not query.question.name.endswith(_PROBE)
            )
        )

    async def asked_until(self, expectation: Expectation, *, beyond: int, within: float) -> Lookups:
        """Return the client's look-ups once they fit or `within` seconds have passed.

        Args:
            expectation: what the look-ups must fit.
            beyond: the number of first look-ups that do not count.
            within: the deadline, from timing.py.
        """
        come = self._server.asked(
            lambda _: fits(expectation, self.asked(beyond=beyond)),
            since=self._first + beyond,
            deadline=within,
        )
        await waits.watched(come)
        return self.asked(beyond=beyond)

    async def quiet(self, *, why: str, seconds: float) -> Lookups:
        """Watch for a while; what was asked meanwhile. All of it is waited for in any case.

        Args:
            why: what would have made a wrong client ask by now.
            seconds: how long, from timing.py.
        """
        beyond = self.mark
        none = self._server.asked(lambda _: False, deadline=seconds)
        await waits.watched(none)
        self._notes.append(f"watched for {seconds} s what is looked up: {why}")
        return self.asked(beyond=beyond)

    async def asked_again(self, name: str, *, beyond: int, within: float) -> bool:
        """Wait until the client looks up a name, and return whether it did.

        Args:
            name: the name.
            beyond: the number of first look-ups that do not count.
            within: the deadline, from timing.py.
        """
        asked = self._server.asked(
            lambda query: query.question.name == name, since=self._first + beyond, deadline=within
        )
        return await waits.came(asked)

    async def close(self) -> None:
        """Stop the name server."""
        if self._begun is not None:
            await self._begun.stop()

    @property
    def _server(self) -> NameServer:
        assert self._begun is not None, "begin comes first"
        return self._begun
