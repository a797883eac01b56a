from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fake_control_plane.events import (
    Dropped,
    Event,
    Identity,
    LoadRequest,
    LoadResponse,
    Request,
    Response,
    Service,
    Side,
    StreamClosed,
    StreamOpened,
)
from fake_control_plane.exceptions import DeadlinePassed
from fake_control_plane.export import read_events
from fake_control_plane.kinds import Kind
from fake_control_plane.loads import ClusterLoad, Locality, LocalityLoad
from fake_control_plane.resources import (
    eds_cluster,
    endpoint,
    endpoints,
    listener,
    locality,
    route_configuration,
)
from fake_control_plane.snapshot import Packed, pack
from fake_control_plane.stream import AckOrNack
from fake_control_plane.transcript import Push, Transcript

CDS = Kind.CLUSTER
SOON = 5.0


def request(**fields: Any) -> Request:
    defaults: dict[str, Any] = {
        "at": 1.0, "stream": 1, "node": "n", "kind": CDS, "type_url": CDS.type_url,
        "names": ("c",), "version": "", "nonce": "",
    }  # fmt: skip
    return Request(**(defaults | fields))


def answer(version: str, answer: AckOrNack = AckOrNack.ACK, **fields: Any) -> Request:
    return request(answer=answer, answered_version=version, **fields)


def push(version: str = "2", since: int = 0, node: str | None = None) -> Push:
    return Push(versions={CDS: version}, since=since, node=node)


async def test_a_bounded_transcript_says_what_it_dropped(tmp_path: Path) -> None:
    transcript = Transcript(keep=20_000)
    for number in range(1000):
        transcript.record(answer(str(number), at=float(number)))
    kept = transcript.events
    assert 10 < len(kept) < 100
    assert len(transcript) == 1000
    gone = 1000 - len(kept)
    assert transcript.dropped == Dropped(at=gone - 1.0, stream=0, node="", count=gone)
    for since, first in (
        (0, (gone - 1, transcript.dropped)),
        (gone - 3, (gone - 1, Dropped(at=gone - 1.0, stream=0, node="", count=3))),
        (gone, (gone, kept[0])),
    ):
        follower = transcript.follow(since)
        assert await anext(follower) == first
        assert (await anext(follower))[0] == first[0] + 1
        await follower.aclose()
    # What comes from now on is found, and what was dropped is not.
    with pytest.raises(DeadlinePassed):
        await transcript.acked(push("0"), CDS, deadline=0.01)
    mark = len(transcript)
    transcript.record(answer("new"))
    await transcript.acked(push("new", since=mark), CDS, deadline=SOON)
    transcript.write(tmp_path / "events.jsonl")
    assert read_events(tmp_path / "events.jsonl") == (transcript.dropped, *transcript.events)


async def test_one_event_is_kept_however_large() -> None:
    transcript = Transcript(keep=10)
    for version in ("1", "2"):
        transcript.record(answer(version))
    assert (len(transcript), transcript.events) == (2, (answer("2"),))


async def test_a_wait_looks_at_what_has_happened() -> None:
    transcript = Transcript()
    transcript.record(answer("2"))
    transcript.record(answer("2", at=2.0))
    event = await transcript.acked(push(), CDS, deadline=0)
    assert event.at == 1.0


async def test_a_wait_looks_at_what_happens_next() -> None:
    transcript = Transcript()
    waiting = asyncio.create_task(transcript.acked(push(), CDS, deadline=SOON))
    await asyncio.sleep(0)
    assert not waiting.done()
    transcript.record(answer("1"))
    transcript.record(answer("2", at=2.0))
    transcript.record(answer("2", at=3.0))
    assert (await waiting).at == 2.0


async def test_a_wait_does_not_look_before_since() -> None:
    transcript = Transcript()
    transcript.record(answer("2"))
    with pytest.raises(DeadlinePassed, match="nothing else happened"):
        await transcript.acked(push(since=1), CDS, deadline=0.01)


@pytest.mark.parametrize(
    ("event", "acked", "nacked", "answered"),
    [
        (answer("2"), True, False, True),
        (answer("2", AckOrNack.NACK), False, True, True),
        (answer("1"), False, False, False),
        (answer("2", kind=Kind.LISTENER), False, False, False),
        (request(), False, False, False),
        (answer("2", node="m"), False, False, False),
    ],
)
async def test_answers(*, event: Request, acked: bool, nacked: bool, answered: bool) -> None:
    transcript = Transcript()
    transcript.record(event)
    waits = (transcript.acked, transcript.nacked, transcript.answered)
    for wait, expected in zip(waits, (acked, nacked, answered), strict=True):
        outcome = contextlib.nullcontext() if expected else pytest.raises(DeadlinePassed)
        with outcome:
            assert await wait(push(node="n"), CDS, deadline=0) is event


async def test_any_type_of_a_push_may_be_rejected() -> None:
    transcript = Transcript()
    rejection = answer("7", AckOrNack.NACK, kind=Kind.LISTENER)
    for event in (answer("1", AckOrNack.NACK), answer("2"), answer("7"), rejection):
        transcript.record(event)
    both = msgspec.structs.replace(push(), versions={CDS: "2", Kind.LISTENER: "7"})
    assert await transcript.nacked(both, None, deadline=0) is rejection


async def test_a_push_of_another_type_is_a_mistake() -> None:
    with pytest.raises(KeyError):
        await Transcript().acked(push(), Kind.LISTENER, deadline=0)


async def test_subscriptions() -> None:
    transcript = Transcript()
    first = request(subscribed=("a", "b"))
    second = request(unsubscribed=("a",))
    for event in (first, second):
        transcript.record(event)
    assert await transcript.subscribed(CDS, "b", deadline=0) is first
    assert await transcript.unsubscribed(CDS, "a", deadline=0) is second
    with pytest.raises(DeadlinePassed, match="end of the subscription to cluster 'b'"):
        await transcript.unsubscribed(CDS, "b", deadline=0)
    with pytest.raises(DeadlinePassed, match="subscription to cluster 'b'"):
        await transcript.subscribed(CDS, "b", since=1, deadline=0)


async def test_a_passed_deadline_tells_what_was_seen() -> None:
    transcript = Transcript()
    for number in range(20):
        transcript.record(answer(f"old-{number}", AckOrNack.NACK, error_detail="no such thing"))
    with pytest.raises(DeadlinePassed) as caught:
        await transcript.acked(push(), CDS, deadline=0)
    message = str(caught.value)
    assert message.startswith("No ACK of cluster version 2 within 0 s; seen instead:\n")
    assert "(8 earlier ones)" in message
    assert "NACK of version old-19: no such thing" in message


async def test_a_mistake_in_a_predicate_is_raised_where_it_waits() -> None:
    transcript = Transcript()
    waiting = asyncio.create_task(transcript.wait(lambda event: event.at / 0 > 1, deadline=SOON))
    await asyncio.sleep(0)
    transcript.record(request())
    with pytest.raises(ZeroDivisionError):
        await waiting
    transcript.record(request())


async def test_follow_gives_what_was_and_what_comes() -> None:
    transcript = Transcript()
    for stream in (0, 1, 2):
        transcript.record(request(stream=stream))
    seen = []
    async with contextlib.aclosing(transcript.follow(since=1)) as following:
        async for index, event in following:
            seen.append((index, event.stream))
            if index == 2:
                asyncio.get_running_loop().call_soon(transcript.record, request(stream=3))
            if index == 3:
                break
    assert seen == [(1, 1), (2, 2), (3, 3)]


def packed(*resources: Any) -> tuple[Packed, ...]:
    return tuple(pack(resource)[1] for resource in resources)


ENDLESS = b"\x08" + b"\xff" * 8 + b"\x01"
"""A Duration of more seconds than there may be: JSON has no word for it."""

EVENTS: tuple[Event, ...] = (
    StreamOpened(at=1.5, stream=1, node="", service=Service.ADS, peer="ipv4:127.0.0.1:1"),
    request(
        identity=Identity(id="n", locality=Locality("r"), client_features=("f",)),
        subscribed=("c",),
    ),
    Response(
        at=2.0,
        stream=1,
        node="n",
        kind=CDS,
        type_url=CDS.type_url,
        version="1",
        nonce="1.1",
        resources=packed(
            listener("l", route_config=route_configuration("r", cluster="c")),
            endpoints("c", locality("x", endpoint("[::1]:1", weight=0, hash_key="k"))),
            eds_cluster("c"),
        ),
    ),
    Response(
        at=2.0,
        stream=1,
        node="n",
        kind=CDS,
        type_url=CDS.type_url,
        version="1",
        nonce="1.1",
        fault="malformed",
        resources=(
            Packed("", CDS.type_url, b"\x0f"),
            Packed("lost", "type.googleapis.com/google.protobuf.Empty", b"\x0a\x01a"),
            Packed("unknown", "type.googleapis.com/no.such.Type", b"\x00\xff"),
            Packed("elsewhere", "type.googleapis.com/os.path", b""),
            Packed("endless", "type.googleapis.com/google.protobuf.Duration", ENDLESS),
        ),
    ),
    answer("1", AckOrNack.NACK, error_code=3, error_detail="bad\nvery"),
    LoadRequest(
        at=3.0,
        stream=2,
        node="n",
        clusters=(
            ClusterLoad(
                cluster="c",
                localities=(LocalityLoad(locality=Locality("r"), issued=1),),
                dropped_by_category={"lb": 1},
            ),
        ),
    ),
    LoadResponse(
        at=3.0,
        stream=2,
        node="n",
        interval=1.0,
        clusters=("c",),
        send_all_clusters=False,
        endpoint_granularity=True,
    ),
    StreamClosed(
        at=4.0, stream=1, node="n", service=Service.ADS, by=Side.SCRIPT, code="ABORTED", details="x"
    ),
)


def test_the_export_is_one_line_an_event_and_loses_nothing(tmp_path: Path) -> None:
    transcript = Transcript()
    for event in EVENTS:
        transcript.record(event)
    transcript.write(tmp_path / "transcript.jsonl")
    assert len((tmp_path / "transcript.jsonl").read_text().splitlines()) == len(EVENTS)
    assert read_events(tmp_path / "transcript.jsonl") == EVENTS


def test_resources_are_exported_readably(tmp_path: Path) -> None:
    transcript = Transcript()
    transcript.record(EVENTS[2])
    transcript.write(tmp_path / "transcript.jsonl")
    text = (tmp_path / "transcript.jsonl").read_text()
    assert '"hash_key":"k"' in text
    assert "envoy.filters.http.router" in text
    assert "base64" not in text


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (EVENTS[2], "cluster version 1 [l, c, c] sent on stream 1"),
        (
            EVENTS[3],
            "cluster version 1 [, lost, unknown, elsewhere, endless] sent on stream 1 (malformed)",
        ),
        (EVENTS[-1], "stream 1 ended by script with ABORTED 'x'"),
        (EVENTS[0], "stream 1 (ads) opened by ipv4:127.0.0.1:1"),
        (EVENTS[6], "load reports of [c] every 1 s asked for on stream 2"),
        (EVENTS[5], "load report of [c] on stream 2"),
        (
            request(names=tuple("abcdefgh"), kind=None, type_url="t"),
            "request for 't' [a, b, c, d, e and 3 more] on stream 1",
        ),
    ],
)
def test_events_as_text(event: Event, text: str) -> None:
    assert str(event) == text
