"""The fixtures of scenarios: each gets a world, which is ended when what was seen is recorded.

The next world of a process is launched while a scenario runs.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import AsyncIterator
from contextlib import nullcontext
from pathlib import Path
from typing import Final

import msgspec
import pytest
import pytest_asyncio

from client_under_test.contract.messages import Capability
from client_under_test.launching.process import ClientProcess
from client_under_test.launching.zygotes import ForkServers
from conformance import timing
from conformance.judging.declaration import Bootstrap, declaration_of, scenario_id
from conformance.judging.evidence import Record
from conformance.runner.interaction import interaction_of
from conformance.runner.known_causes import KnownCauses
from conformance.runner.plugin.items import (
    CATALOGUE,
    NEXT,
    SETTINGS,
    asks_nothing,
    is_hurried,
    resolves_soon,
    subject_of,
)
from conformance.runner.plugin.learning import early_end_of
from conformance.runner.plugin.recording import finish, record_of
from conformance.runner.settings import FAILOVER_KNOB
from conformance.runner.targets import RESOLUTIONS_KNOB, Target
from conformance.world import LaunchedClient, World, launch, launch_in
from conformance.xds_config.bootstrap import VARIABLE as BOOTSTRAP_VARIABLE
from conformance.xds_config.bootstrap import VARIABLES
from test_servers import Fleet

MOST_SCENARIOS: Final = 50
"""In one process of a client: what a library leaks stays small, and a start is spread over many."""

SHARING: Final[Capability] = "bootstrap_per_channel"

NOT_SHARED: Final[frozenset[Capability]] = frozenset({"channels", "custom_policy"})
"""What a scenario needs that several channels of a process have in common: their stream to the
control plane, as the client comes, and the registry of policies."""


class Wanted(msgspec.Struct, frozen=True):
    """What a scenario wants its world to be launched with."""

    subject: Target
    knobs: dict[str, int]
    bootstrap: Bootstrap
    shares: bool = False
    """Set if it may use a process of the client that other scenarios use, too."""

    @classmethod
    def by(cls, item: pytest.Item) -> Wanted:
        """Return the requirements of an item."""
        knobs = declaration_of(item).knobs
        if is_hurried(item):
            knobs = {**knobs, FAILOVER_KNOB: round(timing.FAST_FAILOVER.seconds * 1000)}
        if resolves_soon(item):
            knobs = {**knobs, RESOLUTIONS_KNOB: round(timing.SOON_AGAIN.seconds * 1000)}
        claims = declaration_of(item)
        subject, settings = subject_of(item), item.config.stash[SETTINGS]
        shares = (
            not settings.isolated
            and interaction_of(item.config) is None
            and SHARING in subject.prepared.client.manifest.capabilities
            and VARIABLES.isdisjoint(subject.environment)
            and not (knobs or claims.alone)
            and NOT_SHARED.isdisjoint(claims.needs)
        )
        return cls(subject, knobs, claims.bootstrap, shares)

    def missing(self) -> str:
        """Describe what the client lacks for these settings; empty if nothing."""
        offered = self.subject.prepared.client.manifest.knobs
        return ", ".join(knob for knob in self.knobs if knob not in offered)


class Kept(msgspec.Struct, frozen=True):
    """A process of a client that the next scenario can use."""

    subject: Target
    process: ClientProcess
    earlier: tuple[str, ...]
    """The scenarios that have used it, oldest first."""


class Worlds:
    """Launches worlds; the next one is launched while a scenario runs: its client warms up.

    If the client can give a channel a bootstrap of its own, scenarios use one process after one
    another. Each has a control plane and backends of its own all the same.
    """

    def __init__(self, scratch: str) -> None:
        self._scratch = Path(scratch)
        self.known_causes = KnownCauses(self._scratch)
        self._fork_servers = ForkServers(
            self._scratch / f"{os.getpid()}-imports.stderr", deadline=timing.HELLO
        )
        self._warm: tuple[Wanted, LaunchedClient] | None = None
        self._kept: Kept | None = None
        self._count = 0

    async def _launch(self, wanted: Wanted) -> LaunchedClient:
        self._count += 1
        return await launch(
            wanted.subject.prepared,
            environment=wanted.subject.environment,
            knobs=wanted.knobs,
            fork_servers=self._fork_servers,
            wanted=wanted.bootstrap,
            stderr=self._scratch / f"{os.getpid()}-{self._count}.stderr",
        )

    async def take(self, wanted: Wanted, following: Wanted | None) -> LaunchedClient:
        """Return a world with these requirements, whose client has said hello.

        Args:
            wanted: of this scenario.
            following: of the next one in this process, to be launched meanwhile.

        Raises:
            ConversationFailed: the adapter did not come up.
        """
        launched = await self._in_kept(wanted)
        lasts = wanted.shares and (not launched or len(launched.earlier) + 1 < MOST_SCENARIOS)
        is_there = following is not None and following.shares and (lasts or self._kept)
        if launched:
            if following is not None and not is_there and not following.missing():
                await self._warm_up(following)
            return launched
        warm, self._warm = self._warm, None
        if warm and (warm[0] != wanted or warm[1].has_waited() > timing.LEFT_WAITING):
            await warm[1].close()
            warm = None
        taken = warm[1] if warm else await self._launch(wanted)
        if following is not None and not is_there and not following.missing():
            await self._warm_up(following)
        try:
            await taken.process.greet(deadline=timing.HELLO)
        except BaseException:
            await taken.close()
            raise
        if wanted.shares and SHARING in taken.process.hello.capabilities:
            return msgspec.structs.replace(taken, bootstrap=taken.environment[BOOTSTRAP_VARIABLE])
        return taken

    async def _warm_up(self, following: Wanted) -> None:
        """Launch the next world, unless one has been launched."""
        if self._warm is not None:
            if self._warm[0] == following:
                return
            await self._warm[1].close()
        self._warm = (following, await self._launch(following))

    async def _in_kept(self, wanted: Wanted) -> LaunchedClient | None:
        """Return a world in the kept process, if the process fits."""
        if self._kept is None or not wanted.shares:
            return None
        kept, self._kept = self._kept, None
        if kept.subject != wanted.subject:
            await self._end(kept.process)
            return None
        return await launch_in(
            kept.process,
            environment=wanted.subject.environment,
            wanted=wanted.bootstrap,
            earlier=kept.earlier,
            fork_servers=self._fork_servers,
        )

    @staticmethod
    def lasts(launched: LaunchedClient) -> bool:
        """Return whether one more scenario may use this process."""
        return launched.is_shared and len(launched.earlier) + 1 < MOST_SCENARIOS

    def keep(self, subject: Target, launched: LaunchedClient, scenario: str) -> None:
        """Keep the process of a world for the next scenario.

        Args:
            subject: whose process it is.
            launched: the world.
            scenario: the one that used it last.
        """
        self._kept = Kept(subject, launched.process, (*launched.earlier, scenario))

    async def _end(self, process: ClientProcess) -> None:
        await process.close(deadline=timing.EXIT)
        shutil.rmtree(process.folder, ignore_errors=True)

    async def close(self) -> None:
        """End a world that was launched and never taken, and what worlds were made of."""
        if self._kept is not None:
            await self._end(self._kept.process)
        if self._warm is not None:
            await self._warm[1].close()
        await self._fork_servers.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def worlds(request: pytest.FixtureRequest) -> AsyncIterator[Worlds]:
    """Provide the worlds of this process."""
    made = Worlds(request.config.stash[SETTINGS].scratch)
    yield made
    await made.close()


@pytest.fixture
def subject(request: pytest.FixtureRequest) -> Target:
    """Provide the client under test, or the mutant."""
    return subject_of(request.node)


@pytest_asyncio.fixture(loop_scope="session")
async def world(
    request: pytest.FixtureRequest, worlds: Worlds, subject: Target
) -> AsyncIterator[World]:
    """Provide the world of one scenario."""
    item = request.node
    settings = request.config.stash[SETTINGS]
    interaction = interaction_of(request.config)
    driver = interaction.driver if interaction else None
    if asks_nothing(item) and driver is None:
        pytest.skip("nothing that it decides is asked of this client")
    able = subject.prepared.client.manifest.capabilities
    if missing := [need for need in declaration_of(item).needs if need not in able]:
        pytest.skip(f"the adapter cannot do this: {', '.join(missing)}")
    wanted = Wanted.by(item)
    if driver is not None and interaction is not None:
        interaction.wants(wanted.knobs)
        if wanted.missing():
            wanted = msgspec.structs.replace(wanted, knobs={})
    if wanted.missing():
        pytest.skip(f"the client has no knob for this: {wanted.missing()}")
    following = item.stash[NEXT]
    if following is not None and asks_nothing(following):
        following = None
    launched = await worlds.take(wanted, Wanted.by(following) if following else None)
    made = World(
        launched,
        await Fleet.start(),
        catalogue=request.config.stash[CATALOGUE],
        client=subject.judged,
        rng=random.Random(f"{settings.seed} {scenario_id(item)}"),
        failover=timing.FAST_FAILOVER if is_hurried(item) else timing.FAILOVER,
        resolutions=timing.SOON_AGAIN if resolves_soon(item) else timing.RESOLUTIONS,
        soak=timing.FAST_SOAK if settings.fast else timing.SOAK,
        driver=driver,
        early_end=early_end_of(item, worlds.known_causes),
    )

    def so_far() -> Record:
        return record_of(item, checks=tuple(made.checks.checks))

    try:
        async with interaction.at(made, so_far) if interaction else nullcontext():
            with made.clock.lateness:
                yield made
            lasts = item.stash[NEXT] is not None and worlds.lasts(launched)
            if await finish(item, made, settings, interaction, worlds.known_causes, lasts=lasts):
                worlds.keep(subject, launched, scenario_id(item))
    finally:
        await made.close()
        for process in made.channels.ending:
            shutil.rmtree(process.folder, ignore_errors=True)
