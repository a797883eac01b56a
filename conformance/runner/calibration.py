"""What is found out once a run, before its first scenario: that the client says hello at all.

And how it names ring entries, if its manifest does not say. That happens in a world of its own, as
what is served and connected here must count in no scenario.
"""

from __future__ import annotations

import asyncio
import random
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

import msgspec

from client_under_test.contract.exceptions import without_last_words
from client_under_test.environments import Prepared
from client_under_test.launching.process import ClientProcess, Patience
from conformance import timing
from conformance.judging import causes, ring_keys
from conformance.judging.ring_keys import RingKeys
from conformance.runner.evidence_files import write_files
from conformance.runner.targets import Target
from conformance.spec.catalogue import Catalogue
from conformance.world import ENOUGH_TO_DIFFER, PLAIN_ENDPOINTS, World, launch
from conformance.xds_config.config import single_locality
from conformance.xds_config.policies import RingHash
from test_servers import Fleet

FOLDER: Final = "calibration"
"""In the folder of a run's evidence: of a calibration that has found nothing."""

SIZE: Final = RingHash(minimum=1024, maximum=1024)
"""Enough entries that a call off by one reaches another endpoint three times in four."""


async def start_and_end(
    client: Prepared, environment: dict[str, str], stderr: Path, say: Callable[[str], None]
) -> None:
    """Start a client once, for its hello.

    Args:
        client: which.
        environment: what its process is given besides the manifest's own.
        stderr: where its last words go.
        say: called with a message if the start takes long.

    Raises:
        ConversationFailed: it says none, or another than its manifest has.
    """
    process = await ClientProcess.start(
        client,
        stderr_path=stderr,
        environment=environment,
        deadline=timing.HELLO,
        patience=Patience(every=timing.STILL_WAITING, say=say),
    )
    await process.close(deadline=timing.EXIT)


def calibrated(
    subject: Target,
    catalogue: Catalogue,
    *,
    seed: int,
    scratch: Path,
    out: Path,
    meanwhile: Callable[[str], AbstractContextManager[None]],
) -> Target:
    """Return the client, with its ring keys calibrated if its manifest omits them; blocks.

    Args:
        subject: the client.
        catalogue: the clauses.
        seed: of the run.
        scratch: a folder for what is gone when the run is over.
        out: the folder of its evidence.
        meanwhile: tells, while that lasts, what is waited for.
    """
    client = subject.prepared
    if ring_keys.stated(client.client.manifest.ring_key_format_of(client.version)):
        return subject
    with meanwhile(f"finding out how {client.name} names the entries of its rings"):
        keys = asyncio.run(calibrate(subject, catalogue, seed=seed, scratch=scratch, out=out))
    judged = msgspec.structs.replace(subject.judged, ring_keys=keys)
    return msgspec.structs.replace(subject, judged=judged)


async def calibrate(
    subject: Target, catalogue: Catalogue, *, seed: int, scratch: Path, out: Path
) -> RingKeys:
    """Find the client's ring keys. The scenarios report a client that dies, rejects or hangs here.

    Args:
        subject: the client.
        catalogue: the clauses.
        seed: of the run.
        scratch: a folder for the client's stderr.
        out: the folder of the run's evidence.
    """
    client, stderr = subject.prepared, scratch / "stderr.log"
    try:
        launched = await launch(client, environment=subject.environment, knobs={}, stderr=stderr)
    except causes.EXPECTED as trouble:
        return _nothing(trouble)
    world = World(
        launched,
        await Fleet.start(),
        catalogue=catalogue,
        client=subject.judged,
        rng=random.Random(f"{seed} calibration"),
    )
    error: BaseException | None = None
    try:
        with world.clock.lateness:
            await launched.process.greet(deadline=timing.HELLO)
            keys = await _ask(world)
    except causes.EXPECTED as trouble:
        error, keys = trouble, _nothing(trouble)
    finally:
        await world.close()
    shutil.rmtree(out / FOLDER, ignore_errors=True)  # an earlier run's
    if keys.known is None:
        out.joinpath(FOLDER).mkdir(parents=True, exist_ok=True)
        write_files(out / FOLDER, world, error)
    return keys


async def _ask(world: World) -> RingKeys:
    """See where calls go on a plain ring.

    A wrong format explains all of them by a chance below 1e-9, as each endpoint owns less than a
    third of the ring: 3 x 3^-24.
    """
    served = single_locality(await world.addresses(PLAIN_ENDPOINTS), policy=SIZE)
    await world.serve(served)
    calls = await world.call(world.sessions(ENOUGH_TO_DIFFER))
    world.preconditions.a_stream()
    return ring_keys.found(served.matches_ring(), calls)


def _nothing(trouble: BaseException) -> RingKeys:
    told = causes.of(trouble)
    first = without_last_words(told.what)
    return RingKeys(
        note=f"the calibration, which finds their format, ended early: {first}", refusal=told.cause
    )
