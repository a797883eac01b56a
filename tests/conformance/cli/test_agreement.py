"""The oracle, the reference client and a real client agree on where keys go.

They share no code: each maps the keys of random clusters by its own ring.
"""

import random
from functools import partial
from pathlib import Path

import pytest

from client_under_test.environments import prepare
from client_under_test.manifests.clients import find
from conformance import timing
from conformance.judging.evidence import JudgedClient
from conformance.judging.ring_keys import RingKeys
from conformance.spec.catalogue import load
from conformance.world import World, launch
from conformance.xds_config.config import XdsConfig, one_cluster
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import RingHash
from test_servers import Fleet

KEYS = 200
ENDPOINTS = 12


def random_cluster(rng: random.Random, addresses: list[str]) -> XdsConfig:
    """Up to three localities with up to four endpoints each, all weights and sizes random."""
    chosen = rng.sample(addresses, rng.randint(2, len(addresses)))
    groups = [chosen[start::3] for start in range(rng.randint(1, 3))]
    localities = tuple(
        Locality(
            tuple(Endpoint(address, rng.choice((None, 1, 2, 3, 7))) for address in group),
            name=f"locality-{number}",
            weight=rng.randint(1, 5),
        )
        for number, group in enumerate(groups)
        if group
    )
    minimum = rng.choice((1, 10, 100, 1024, 2000, 5000))
    return one_cluster(localities, policy=RingHash(minimum=minimum))


@pytest.mark.parametrize("clusters", [5, pytest.param(50, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("client", "weights"), [("python", "raw"), ("reference", "A113")])
async def test_all_keys(client: str, weights: str, clusters: int, tmp_path: Path) -> None:
    prepared = prepare(find(client))
    launched = await launch(prepared, environment={}, knobs={}, stderr=tmp_path / "stderr")
    judged = JudgedClient(
        name=client,
        version=prepared.version,
        variant=None,
        follows=prepared.editions,
        ring_keys=RingKeys(format="ip:port_i"),  # else a call by the ring before fits by its arc
    )
    rng = random.Random(20)
    world = World(launched, await Fleet.start(), catalogue=load(), client=judged, rng=rng)
    try:
        await launched.process.greet(deadline=timing.HELLO)
        addresses = list(await world.addresses(ENDPOINTS))
        for number in range(clusters):
            served = random_cluster(rng, addresses)
            await world.serve(served)
            expected = served.matches_ring(weights=weights)  # type: ignore[arg-type]
            headers = world.sessions(KEYS)
            calls = await world.eventually(expected, partial(world.call, headers))
            finding = expected.finding(calls)
            assert finding.holds, f"cluster {number}, {served}: {finding.saw}"
    finally:
        await world.close()
