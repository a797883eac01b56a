"""What must be so before anything is said of a client, or before a scenario looks."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

from client_under_test.contract.exceptions import ClientTrouble, ConversationFailed
from client_under_test.launching.channels import Channel
from conformance import timing
from conformance.judging.aborts import (
    NEVER_CONNECTED,
    HostNamesIgnored,
    NeverConnected,
    PreconditionTimeout,
    ReportContradicted,
    Unsupported,
)
from conformance.judging.contradictions import Contradiction, contradictions
from conformance.spec.catalogue import ENVOY
from conformance.world import settlement, waits
from conformance.world.calls import CallMaker
from conformance.world.channels import Channels
from conformance.world.clock import Clock
from conformance.world.header_values import HeaderValues
from conformance.xds_config.bootstrap import VARIABLE as BOOTSTRAP_VARIABLE
from fake_control_plane import ControlPlane, StreamOpened
from test_servers import BackendEndpoint, Fleet, Serve, Stall


class Preconditions:
    """Asks for each; what is not so ends the scenario by an exception that says why.

    Args:
        plane: the control plane.
        fleet: the backends.
        channels: the client's.
        calls: what it was asked for.
        values: of headers.
        clock: the scenario's.
        follows: the editions that the client states.
    """

    def __init__(
        self,
        plane: ControlPlane,
        fleet: Fleet,
        channels: Channels,
        calls: CallMaker,
        values: HeaderValues,
        clock: Clock,
        follows: tuple[str, ...],
    ) -> None:
        self._plane = plane
        self._fleet = fleet
        self._channels = channels
        self._calls = calls
        self._values = values
        self._clock = clock
        self._follows = follows

    async def handshakes(self) -> None:
        """Make sure that the client calls no connection READY before the server has said a word.

        Else no gate that closes or is silent can make an endpoint fail, or hold it CONNECTING. It
        is asked of a channel beside, straight to a silent endpoint; a client that cannot be asked
        is trusted.

        Raises:
            ClientUnable: it does.
            PreconditionTimeout: the suite requested a connection and the client did not connect.
        """
        if not {"channels", "watch", "connect"} <= set(self._channels.manifest.capabilities):
            return
        (silent,) = await self._fleet.endpoints(1, mode=Stall())
        process, *_ = self._channels.processes
        beside = await process.open_channel(
            f"dns:///{silent.address}", deadline=timing.ADAPTER_REPLY
        )
        watch = await beside.watch(deadline=timing.ADAPTER_REPLY)
        await beside.connect(deadline=timing.ADAPTER_REPLY)
        has_come = await waits.came(
            self._fleet.ledger.wait_attempts(
                lambda connection: (
                    connection.endpoint == silent.id and connection.first_byte_at is not None
                ),
                deadline=timing.EVENT,
            )
        )
        # Answered after all that the client has told until now.
        await beside.close(deadline=timing.ADAPTER_REPLY)
        if "READY" in {seen.state for seen in watch.states}:
            raise Unsupported(
                "the client calls a connection READY before the server has said a word, "
                "so no gate can hold it CONNECTING"
            )
        if not has_come:
            raise PreconditionTimeout(
                f"a channel to {silent.address} that had to connect sent no byte there within "
                f"{timing.EVENT:g} s"
            )

    async def gates_that_work(self) -> None:
        """Before a client is accused where gates closed or were silent: ask whether they can.

        Raises:
            ClientUnable: they cannot, so what was seen says nothing of the client.
        """
        process, *_ = self._channels.processes
        if process.failure is None and any(
            not isinstance(attempt.mode, Serve) for attempt in self._fleet.ledger.attempts
        ):
            with suppress(ClientTrouble, PreconditionTimeout):  # who cannot be asked is trusted
                await self.handshakes()

    def a_stream(self) -> None:
        """Before anything is said of a client: it must have come to the control plane.

        Raises:
            ClientNeverCame: it did not, though calls were made, none of which it says went well.
        """
        made = (*self._calls.made, *self._calls.unsettled())
        came = any(isinstance(event, StreamOpened) for event in self._plane.transcript.events)
        if made and not came and all(call.status != "OK" for call in made):
            ends = Counter(f"{call.status} ({call.details or 'no details'})" for call in made)
            (end, count), *_ = ends.most_common(1)
            raise NeverConnected(
                f"{NEVER_CONNECTED}: {count} of {len(made)} "
                f"calls ended with {end}. Does the adapter register xDS, if its library wants "
                f"that (Go: import google.golang.org/grpc/xds), and does the library read "
                f"{BOOTSTRAP_VARIABLE}?"
            )

    async def one_story(self) -> None:
        """Compare how calls ended according to the client with what backends and gates saw.

        Calls that the suite cannot distinguish are not compared, nor are calls through a proxy:
        what happens between the proxy and its driver is unknown.

        Raises:
            ClientLied: the two contradict each other.
        """
        if not self._calls.tells_calls_apart or self._channels.manifest.dialect:
            return
        found = self._contradictions(doubt=0)
        if found:  # a connection that breaks now may have been broken before
            connections = {call.row.connection for call in found}
            waited = map(self._channels.starved, self._channels.processes)
            doubt = self._clock.lateness.worst + max(waited)
            await waits.watched(
                self._fleet.ledger.wait_attempts(
                    lambda attempt: (
                        attempt.connection in connections and attempt.closed_at is not None
                    ),
                    count=len(connections),
                    deadline=timing.WHOLE + doubt,
                )
            )
            found = self._contradictions(doubt)
        if found:
            raise ReportContradicted(f"the client reports {found[0]} ({len(found)} such calls)")

    def _contradictions(self, doubt: float) -> tuple[Contradiction, ...]:
        return tuple(
            contradictions(
                self._calls.reported(),
                ((name, row) for row in self._fleet.ledger.rpcs for name in settlement.ids(row)),
                self._fleet.ledger.attempts,
                doubt=doubt,
            )
        )

    async def a_steady_clock(self) -> None:
        """Before times are judged: the clock of each process must stand where it did at its hello.

        Raises:
            ConversationFailed: it does not, or the client has died.
        """
        for process in self._channels.processes:
            await process.look_at_the_clock(deadline=timing.ADAPTER_REPLY)

    def policies_by_list(self) -> None:
        """Before a Cluster with `load_balancing_policy` is served: a text of the client has it.

        Raises:
            ClientUnable: it states neither A52, which brought the field, nor A76, which uses it.
        """
        if not {"A52", "A76"} & set(self._follows):
            raise Unsupported(
                "the client states neither A52 nor A76, so it need not read load_balancing_policy"
            )

    def outlier_detection(self) -> None:
        """Check, before endpoints should be ejected, that the client states A50.

        Raises:
            ClientUnable: it does not.
        """
        if "A50" not in self._follows:
            raise Unsupported("the client does not state A50, so it need not eject endpoints")

    def aggregates(self) -> None:
        """Check, before an aggregate cluster is served, that the client states A37 or is Envoy.

        Raises:
            ClientUnable: it does not, so it has no aggregate clusters.
        """
        if {name.partition("-")[0] for name in self._follows}.isdisjoint({"A37", ENVOY}):
            raise Unsupported("the client does not state A37, so it has no aggregate clusters")

    async def host_names(self, channel: Channel, name: str, *members: BackendEndpoint) -> None:
        """Check that the process of a channel resolves a name, by a channel without xDS.

        A scenario calls this if the client did not use the name over xDS, so that a client whose
        process cannot see the name is not accused. A client with one channel at a time loses it.

        Args:
            channel: a channel of a process that has its own host names.
            name: such a name with the port, "host:port".
            members: the endpoints to which the name resolves.

        Raises:
            HostsUnseen: the client connected to none, or cannot open such a channel.
        """
        process = self._channels.process(channel)
        if "channels" not in self._channels.manifest.capabilities:
            await channel.close(deadline=timing.ADAPTER_REPLY)
        with suppress(ConversationFailed):
            plainly = await self._channels.open(process, f"dns:///{name}")
            await self._calls.make(self._values.sessions(1), channel=plainly, deadline=timing.EVENT)
        if not any(member.attempts for member in members):
            raise HostNamesIgnored(
                f"the client does not read the private hosts file of its process: on a channel "
                f"without xDS to dns:///{name}, it connected to no endpoint. Start the client so "
                "that it reads the /etc/hosts of its adapter: copy that file into the client's "
                "chroot or container. `xdspec doctor` checks this alone (host-names)"
            )
