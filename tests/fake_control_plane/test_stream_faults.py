"""Faults of a stream: resent, malformed and wrong responses, and streams that end."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import grpc.aio
import pytest
from google.protobuf.message import DecodeError

from fake_control_plane import (
    BadFault,
    ControlPlane,
    Nonce,
    Response,
    Service,
    Side,
    StreamClosed,
    StreamOpened,
)
from fake_control_plane.faults import NO_RESOURCE_TYPE
from fake_control_plane.resources import (
    eds_cluster,
)
from tests.fake_control_plane.fence import CDS, DEADLINE, EDS, LDS, RDS, Names, fence


@pytest.fixture
async def served(plane: ControlPlane, clients: Any) -> tuple[Any, list[Any]]:
    """A client that has two versions of cluster "c", and these two responses."""
    client = await clients.ads(plane.address, node="n")
    await client.request(CDS, ["c"])
    responses = []
    for _ in range(2):
        push = await plane.set(eds_cluster("c"))
        responses.append(await client.receive())
        await client.request(CDS, ["c"], answer=responses[-1])
        await plane.transcript.acked(push, CDS, deadline=DEADLINE)
    return client, responses


async def test_resend_as_it_was(plane: ControlPlane, served: Any, names_of: Names) -> None:
    client, [_, newest] = served
    push = plane.script.faults.resend(CDS)
    response = await client.receive()
    assert names_of(response) == ["c"]
    assert response.version_info == newest.version_info == push.versions[CDS]
    assert response.nonce != newest.nonce


async def test_resend_with_an_old_version(plane: ControlPlane, served: Any) -> None:
    client, _ = served
    push = plane.script.faults.resend(CDS, version="1")
    response = await client.receive()
    assert response.version_info == "1"
    await client.request(CDS, ["c"], answer=response)
    assert (await plane.transcript.acked(push, CDS, deadline=DEADLINE)).version == "1"


async def test_resend_with_an_old_nonce(plane: ControlPlane, served: Any) -> None:
    client, [older, newest] = served
    push = plane.script.faults.resend(CDS, nonce=Nonce.OLD)
    response = await client.receive()
    assert response.nonce == older.nonce != newest.nonce
    await client.request(CDS, ["c"], answer=response)
    event = await plane.transcript.acked(push, CDS, deadline=DEADLINE)
    assert not event.stale


async def test_resend_with_an_unknown_nonce(plane: ControlPlane, served: Any) -> None:
    client, _ = served
    plane.script.faults.resend(CDS, nonce="never given")
    assert (await client.receive()).nonce == "never given"


@pytest.mark.parametrize("alone", [False, True])
async def test_malformed(plane: ControlPlane, served: Any, *, alone: bool) -> None:
    client, [_, newest] = served
    push = plane.script.faults.send_malformed(CDS, alone=alone)
    response = await client.receive()
    *good, stray = response.resources
    assert good == ([] if alone else list(newest.resources))
    assert stray.type_url == CDS.type_url
    with pytest.raises(DecodeError):
        eds_cluster("x").ParseFromString(stray.value)
    await client.request(
        CDS, ["c"], answer=response, error="what is this", version=newest.version_info
    )
    event = await plane.transcript.nacked(push, CDS, deadline=DEADLINE)
    assert (event.error_detail, event.version) == ("what is this", newest.version_info)
    [sent] = [e for e in plane.transcript.events if isinstance(e, Response) and e.fault]
    assert (sent.fault, sent.version) == ("malformed", push.versions[CDS])


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("type_url", [NO_RESOURCE_TYPE, EDS.type_url])
async def test_wrong_type(plane: ControlPlane, served: Any, *, type_url: str, alone: bool) -> None:
    client, [_, newest] = served
    push = plane.script.faults.send_wrong_type(CDS, type_url=type_url, alone=alone)
    response = await client.receive()
    *good, stray = response.resources
    assert good == ([] if alone else list(newest.resources))
    assert (response.type_url, stray.type_url) == (CDS.type_url, type_url)
    assert response.version_info == push.versions[CDS] not in ("1", "2")


async def test_faults_reach_only_who_asked(plane: ControlPlane, served: Any) -> None:
    client, _ = served
    plane.script.faults.send_malformed(LDS)
    plane.script.faults.send_wrong_type(EDS)
    plane.script.faults.resend(RDS)
    plane.script.faults.resend(CDS, node="somebody else")
    await fence(client, plane)


@pytest.mark.parametrize(
    ("code", "details"), [(grpc.StatusCode.ABORTED, "enough"), (grpc.StatusCode.OK, "")]
)
async def test_a_stream_is_ended(
    plane: ControlPlane, served: Any, code: grpc.StatusCode, details: str
) -> None:
    client, _ = served
    plane.script.end_streams(grpc.StatusCode.ABORTED, "not for you", node="somebody else")
    plane.script.end_streams(code, details)
    assert await client.status() == (code, details)
    closed = await plane.transcript.wait(lambda e: isinstance(e, StreamClosed), deadline=DEADLINE)
    assert isinstance(closed, StreamClosed)
    assert (closed.by, closed.code, closed.details) == (Side.SCRIPT, code.name, details)


@pytest.mark.parametrize("service", list(Service))
async def test_streams_are_refused_and_taken_again(
    plane: ControlPlane, clients: Any, service: Service
) -> None:
    plane.script.refuse_streams(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many", service=service)
    open_stream = clients.ads if service is Service.ADS else clients.lrs
    refused = await open_stream(plane.address)
    assert await refused.status() == (grpc.StatusCode.RESOURCE_EXHAUSTED, "too many")
    plane.script.accept_streams(service)
    await open_stream(plane.address)
    event = await plane.transcript.wait(
        lambda e: isinstance(e, StreamOpened) and e.stream == 2, deadline=DEADLINE
    )
    assert isinstance(event, StreamOpened)
    assert event.service is service
    with pytest.raises(BadFault, match="OK"):
        plane.script.refuse_streams(grpc.StatusCode.OK)


async def test_a_client_that_leaves(plane: ControlPlane, clients: Any) -> None:
    for leave in ("cancel", "done_writing"):
        client = await clients.ads(plane.address)
        since = len(plane.transcript)
        await client.request(CDS, ["c"])
        await plane.transcript.subscribed(CDS, "c", since=since, deadline=DEADLINE)
        if leave == "cancel":
            client.call.cancel()
        else:
            await client.call.done_writing()
        closed = await plane.transcript.wait(
            lambda e: isinstance(e, StreamClosed), since=since, deadline=DEADLINE
        )
        assert isinstance(closed, StreamClosed)
        assert (closed.by, closed.code) == (Side.CLIENT, "")


async def test_stop_and_resume_on_the_same_port(plane: ControlPlane, clients: Any) -> None:
    await plane.set(eds_cluster("c"))
    address = plane.address
    client = await clients.ads(address)
    await client.request(CDS, ["c"])
    await client.receive()
    for _ in range(2):
        await plane.stop()
        await plane.stop()
        closed = plane.transcript.events[-1]
        assert isinstance(closed, StreamClosed)
        assert closed.by is Side.STOP
        assert (await client.status())[0] is grpc.StatusCode.UNAVAILABLE
        host, _, port = address.rpartition(":")
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(host, int(port))
        with socket.socket() as thief, pytest.raises(OSError, match="in use"):
            thief.bind((host, int(port)))
        await plane.resume()
        await plane.resume()
        assert plane.address == address
        client = await clients.ads(address)
        await client.request(CDS, ["c"])
        assert (await client.receive()).version_info == "1"
