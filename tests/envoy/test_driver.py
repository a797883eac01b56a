"""The driver with a real Envoy behind it: its calls, and its life and death."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from client_under_test.contract.exceptions import ClientCrashed, RequestRefused
from client_under_test.environments import Prepared, prepare
from client_under_test.launching.channels import Call
from client_under_test.launching.process import ClientProcess
from client_under_test.manifests.clients import find
from conformance.xds_config import dialect
from conformance.xds_config.bootstrap import VARIABLE, bootstrap
from conformance.xds_config.config import LISTENER, single_locality
from conformance.xds_config.policies import RingHash
from conformance.xds_config.routes import CLUSTER, SESSION
from fake_control_plane import ControlPlane, Kind, LoadResponse
from test_servers import Fleet
from tests.processes import is_gone

UNARY = "/grpc.testing.TestService/UnaryCall"
DEADLINE = 30.0
SOON = 0.5


@pytest.fixture(scope="session")
def envoy() -> Prepared:
    return prepare(find("envoy"))


@pytest.fixture
async def plane() -> AsyncIterator[ControlPlane]:
    made = await ControlPlane.start(translate=dialect.of("envoy"))
    yield made
    await made.close()


@pytest.fixture
async def fleet() -> AsyncIterator[Fleet]:
    made = await Fleet.start()
    yield made
    await made.stop()


@asynccontextmanager
async def started(
    prepared: Prepared, folder: Path, plane: ControlPlane | None
) -> AsyncIterator[ClientProcess]:
    process = await ClientProcess.start(
        prepared,
        stderr_path=folder / "stderr",
        environment={} if plane is None else {VARIABLE: bootstrap(plane.address)},
        deadline=DEADLINE,
    )
    try:
        yield process
    finally:
        await process.close(deadline=0)


def call(name: str, deadline: float = DEADLINE) -> Call:
    return Call(id=name, path=UNARY, metadata=((SESSION, name),), deadline=deadline)


def proxies(driver: int) -> list[int]:
    """The processes that a driver has started."""
    children = Path(f"/proc/{driver}/task/{driver}/children").read_text().split()
    return [int(child) for child in children]


async def test_calls_go_through_envoy_where_its_ring_says(
    envoy: Prepared, plane: ControlPlane, fleet: Fleet, tmp_path: Path
) -> None:
    addresses = {endpoint.address: endpoint.id for endpoint in await fleet.endpoints(4)}
    await plane.set(*single_locality(list(addresses), policy=RingHash()).resources())
    async with started(envoy, tmp_path, plane) as process:
        channel = await process.open_channel(f"xds:///{LISTENER}", deadline=DEADLINE)
        batch = await channel.start_calls([call(f"{address}_0") for address in addresses])
        outcomes = await batch.finished(deadline=DEADLINE)
    # A header value that equals the key of an entry meets that entry.
    assert [outcome.hostname for outcome in outcomes] == list(addresses)
    assert [outcome.status for outcome in outcomes] == ["OK"] * 4
    identities = {event.node for event in plane.transcript.events if event.node}
    assert identities == {"xdspec-client"}


async def test_the_metadata_of_a_call_is_all_that_reaches_the_backend(
    envoy: Prepared, plane: ControlPlane, fleet: Fleet, tmp_path: Path
) -> None:
    """But for what the transport has; no request id, say, that would be another each time."""
    await plane.set(
        *single_locality([endpoint.address for endpoint in await fleet.endpoints(1)]).resources()
    )
    async with started(envoy, tmp_path, plane) as process:
        channel = await process.open_channel(f"xds:///{LISTENER}", deadline=DEADLINE)
        batch = await channel.start_calls([call("a")])
        await batch.finished(deadline=DEADLINE)
    (row,) = fleet.ledger.rpcs
    added = {key for key, _ in row.metadata if key.startswith("x-")} - {"xdspec-call"}
    assert added <= {"x-forwarded-proto"}


async def test_calls_wait_for_the_listener_until_their_deadline(
    envoy: Prepared, plane: ControlPlane, fleet: Fleet, tmp_path: Path
) -> None:
    async with started(envoy, tmp_path, plane) as process:
        channel = await process.open_channel(f"xds:///{LISTENER}", deadline=DEADLINE)
        early = await channel.start_calls([call("early", deadline=SOON), call("patient")])
        given_up = await early.outcome("early", deadline=DEADLINE)
        assert given_up.status == "DEADLINE_EXCEEDED"
        assert SOON * 0.9 < given_up.ended_at - given_up.started_at < DEADLINE
        cancelled = await channel.start_calls([call("cancelled")])
        await cancelled.cancel(deadline=DEADLINE)
        (dropped,) = await cancelled.finished(deadline=DEADLINE)
        assert dropped.status == "CANCELLED"
        await plane.set(
            *single_locality(
                [endpoint.address for endpoint in await fleet.endpoints(1)]
            ).resources()
        )
        assert (await early.outcome("patient", deadline=DEADLINE)).status == "OK"
    assert len(fleet.ledger.rpcs) == 1


async def test_a_changed_cluster_is_acked_as_its_endpoints_come_again(
    envoy: Prepared, plane: ControlPlane, fleet: Fleet, tmp_path: Path
) -> None:
    """Envoy asks for them anew, and ACKs the cluster once it can be used."""
    served = single_locality([endpoint.address for endpoint in await fleet.endpoints(2)])
    await plane.set(*served.resources())
    async with started(envoy, tmp_path, plane) as process:
        channel = await process.open_channel(f"xds:///{LISTENER}", deadline=DEADLINE)
        batch = await channel.start_calls([call("a")])
        await batch.finished(deadline=DEADLINE)
        for minimum in (64, 128):
            changed = served.with_policy(RingHash(minimum=minimum)).cluster()
            push = await plane.set(changed)
            acked = await plane.transcript.acked(push, Kind.CLUSTER, deadline=DEADLINE)
            assert push.versions == {Kind.CLUSTER: acked.answered_version}


async def test_a_listener_that_was_deleted_and_comes_again_is_found(
    envoy: Prepared, plane: ControlPlane, fleet: Fleet, tmp_path: Path
) -> None:
    """Its port is another one; while it is away, calls fail as they do in gRPC."""
    served = single_locality([endpoint.address for endpoint in await fleet.endpoints(1)])
    await plane.set(*served.resources())
    async with started(envoy, tmp_path, plane) as process:
        channel = await process.open_channel(f"xds:///{LISTENER}", deadline=DEADLINE)

        async def until(status: str) -> None:
            async with asyncio.timeout(DEADLINE):
                while True:
                    batch = await channel.start_calls([call(f"{status}-{next(numbers)}")])
                    (outcome,) = await batch.finished(deadline=DEADLINE)
                    if outcome.status == status:
                        return

        numbers = itertools.count()
        await until("OK")
        await plane.delete(Kind.LISTENER, LISTENER)
        await until("UNAVAILABLE")
        await plane.set(served.resources()[0])
        await until("OK")


async def test_load_that_is_asked_for_by_name_is_counted_from_the_beginning(
    envoy: Prepared, plane: ControlPlane, fleet: Fleet, tmp_path: Path
) -> None:
    """Even if the cluster comes only later, and nothing is told of others."""
    served = single_locality([endpoint.address for endpoint in await fleet.endpoints(1)])
    plane.script.loads.ask(clusters=())
    async with started(envoy, tmp_path, plane) as process:
        await plane.transcript.wait(
            lambda event: isinstance(event, LoadResponse), deadline=DEADLINE
        )
        plane.script.loads.ask(clusters=[CLUSTER])
        await plane.set(*served.resources())
        channel = await process.open_channel(f"xds:///{LISTENER}", deadline=DEADLINE)
        for name in "ab":
            batch = await channel.start_calls([call(name)])
            await batch.finished(deadline=DEADLINE)
        told = await plane.reported(
            lambda loads: loads.is_balanced(CLUSTER, issued=2), deadline=DEADLINE
        )
    assert told.clusters() == ((CLUSTER, ""),)


async def test_without_a_bootstrap_there_are_no_xds_channels(
    envoy: Prepared, tmp_path: Path
) -> None:
    async with started(envoy, tmp_path, None) as process:
        with pytest.raises(RequestRefused, match="GRPC_XDS_BOOTSTRAP_CONFIG"):
            await process.open_channel(f"xds:///{LISTENER}", deadline=DEADLINE)
        assert proxies(process.pid) == []


async def test_a_plain_channel_has_a_proxy_of_its_own_that_ends_with_it(
    envoy: Prepared, fleet: Fleet, tmp_path: Path
) -> None:
    (endpoint,) = await fleet.endpoints(1)
    async with started(envoy, tmp_path, None) as process:
        channel = await process.open_channel(f"dns:///{endpoint.address}", deadline=DEADLINE)
        batch = await channel.start_calls([call("a")])
        (outcome,) = await batch.finished(deadline=DEADLINE)
        assert (outcome.status, outcome.hostname) == ("OK", endpoint.address)
        (proxy,) = proxies(process.pid)
        await channel.close(deadline=DEADLINE)
        assert is_gone(proxy)
        assert process.failure is None


@pytest.mark.parametrize("end", ["closed", "killed"])
async def test_envoy_does_not_outlive_its_driver(
    envoy: Prepared, plane: ControlPlane, tmp_path: Path, end: str
) -> None:
    async with started(envoy, tmp_path, plane) as process:
        (proxy,) = proxies(process.pid)
        if end == "killed":
            os.kill(process.pid, signal.SIGKILL)
        else:
            assert (await process.close(deadline=DEADLINE)).code == 0
        assert is_gone(proxy)


async def test_the_death_of_envoy_is_that_of_the_client(
    envoy: Prepared, plane: ControlPlane, tmp_path: Path
) -> None:
    async with started(envoy, tmp_path, plane) as process:
        channel = await process.open_channel(f"xds:///{LISTENER}", deadline=DEADLINE)
        batch = await channel.start_calls([call("a")])
        (proxy,) = proxies(process.pid)
        os.kill(proxy, signal.SIGABRT)
        with pytest.raises(ClientCrashed) as crashed:
            await batch.finished(deadline=DEADLINE)
        assert "SIGABRT" in str(crashed.value)


async def test_envoys_words_about_a_bad_bootstrap_are_kept(envoy: Prepared, tmp_path: Path) -> None:
    """As evidence, with the exit of the process."""
    given = {"xds_servers": [{"server_uri": "127.0.0.1:1"}], "node": {"id": "n", "zone": 1}}
    process = await ClientProcess.launch(
        envoy, stderr_path=tmp_path / "stderr", environment={VARIABLE: json.dumps(given)}
    )
    try:
        assert is_gone(process.pid)
        # Protobuf puts one blank or two into its messages, so that nobody relies on them.
        assert "no such field: 'zone'" in " ".join(process.stderr_tail().split())
    finally:
        await process.close(deadline=0)
