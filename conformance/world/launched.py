"""Launch a control plane and a client process whose bootstrap names it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from client_under_test.environments import Prepared
from client_under_test.launching.process import ClientProcess
from client_under_test.launching.zygotes import ForkServers
from conformance.judging.declaration import AS_ALWAYS, Bootstrap
from conformance.world.starvation import waited
from conformance.xds_config import dialect
from conformance.xds_config.bootstrap import VARIABLE as BOOTSTRAP_VARIABLE
from conformance.xds_config.bootstrap import bootstrap
from fake_control_plane import ControlPlane


class LaunchedClient(msgspec.Struct, frozen=True):
    """A control plane and a client process whose bootstrap names it, before its hello."""

    plane: ControlPlane
    process: ClientProcess
    environment: Mapping[str, str]
    """The process's environment variables in addition to the manifest's."""
    knobs: Mapping[str, int] = {}
    """The client's knobs."""
    fork_servers: ForkServers | None = None
    """Fork servers from which more such processes may come."""
    bootstrap: str | None = None
    """The bootstrap of each channel if the process is shared; else the environment has it."""
    earlier: tuple[str, ...] = ()
    """The scenarios that ran in this process before, oldest first."""
    waited: Mapping[str, int] = {}
    """How long its threads had waited for a processor by then: see `starvation.waited`."""

    @property
    def is_shared(self) -> bool:
        """Return whether other scenarios can use this process before or after this one."""
        return self.bootstrap is not None

    def has_waited(self) -> float:
        """For how many seconds it has been connected to a control plane that serves nothing.

        Most connect for a channel only, so 0 of them.
        """
        events = self.plane.transcript.events
        return time.monotonic() - events[0].at if events else 0.0

    async def close(self) -> None:
        """End both, unused."""
        await self.process.close(deadline=0)
        await self.plane.close()


async def launch(
    prepared: Prepared,
    *,
    environment: Mapping[str, str],
    knobs: Mapping[str, int],
    stderr: Path,
    fork_servers: ForkServers | None = None,
    wanted: Bootstrap = AS_ALWAYS,
) -> LaunchedClient:
    """Bind the control plane's port, then start the process that will know it.

    Args:
        prepared: the client.
        environment: environment variables in addition to the manifest's.
        knobs: the client's knobs.
        stderr: the file for the process's stderr.
        fork_servers: fork servers from which the process may come.
        wanted: what its bootstrap configuration must contain.

    Raises:
        ConversationFailed: there is no such program.
    """
    plane = await _control_plane(prepared)
    given = {BOOTSTRAP_VARIABLE: bootstrap(plane.address, wanted), **environment}
    try:
        process = await ClientProcess.launch(
            prepared, environment=given, knobs=knobs, stderr_path=stderr, fork_servers=fork_servers
        )
    except BaseException:
        await plane.close()
        raise
    return LaunchedClient(plane, process, given, knobs, fork_servers)


async def launch_in(
    process: ClientProcess,
    *,
    environment: Mapping[str, str],
    wanted: Bootstrap,
    earlier: tuple[str, ...],
    fork_servers: ForkServers | None = None,
) -> LaunchedClient:
    """Start a control plane for a process that other scenarios have used.

    Args:
        process: it has the capability `bootstrap_per_channel`, and no channel is open.
        environment: what it was given, besides the manifest's own and a bootstrap.
        wanted: the content of the bootstrap of new channels.
        earlier: the scenarios that have used it.
        fork_servers: where more processes of the client may be forked from.
    """
    plane = await _control_plane(process.prepared)
    own = bootstrap(plane.address, wanted)
    process.begin_use()
    return LaunchedClient(
        plane,
        process,
        {BOOTSTRAP_VARIABLE: own, **environment},
        fork_servers=fork_servers,
        bootstrap=own,
        earlier=earlier,
        waited=waited(process.pid),
    )


async def _control_plane(prepared: Prepared) -> ControlPlane:
    """Start the control plane of one world."""
    spoken = prepared.client.manifest.dialect
    plane = await ControlPlane.start(translate=dialect.of(spoken))
    if dialect.asks_by_name(spoken):
        plane.script.loads.ask(clusters=())
    return plane
