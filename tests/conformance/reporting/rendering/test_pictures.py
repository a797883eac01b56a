"""Pictures of a scenario: what is drawn, computed from rows of files; nothing runs here."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import html5lib
import msgspec
import pytest

from conformance.judging import evidence
from conformance.judging.evidence import BadEvidence, JudgedClient, Record
from conformance.judging.expectations import (
    AllServedBy,
    DropProportions,
    DropRate,
    EqualShares,
    Expectation,
    LoadMatches,
    MatchesRing,
    Proportions,
)
from conformance.judging.observations import Call, Calls, Loads, Observation, ReportedLoad
from conformance.judging.verdicts import Check
from conformance.reporting.pages import template_loader
from conformance.reporting.rendering import terminal, trace
from conformance.reporting.rendering.comparison import compared
from conformance.reporting.rendering.drawing import SINGLE, drawn_lane, scale_of
from conformance.reporting.rendering.folder import (
    Accepted,
    EndpointAttempt,
    Event,
    Folder,
    GateAction,
    Mode,
    Resource,
    Rpc,
    State,
    Trouble,
    read_folder,
)
from conformance.reporting.rendering.folder import Call as Told
from conformance.reporting.rendering.loads import load_picture
from conformance.reporting.rendering.ring import LARGEST, SLOTS, RingPicture, ring_picture
from conformance.reporting.rendering.scenario import scene, scene_of
from conformance.reporting.rendering.served import pushes
from conformance.reporting.rendering.shares import shares_picture
from conformance.reporting.rendering.timeline import Lane, Mark, Shape, Timeline, Tone, timeline
from conformance.spec.catalogue import load
from conformance.spec.oracles.load import Dropped, Load, LoadKey, Received
from conformance.spec.oracles.request_hash import HeaderPolicy
from conformance.spec.oracles.ring.sizes import RingConfig
from conformance.spec.oracles.ring.weights import RingEndpoint, RingLocality
from regular_files import UntrustedFolder

CATALOGUE = load()
CLAUSE = "A42-RING-01"
A, B = "127.0.0.1:34101", "127.0.0.1:34102"
JUDGED = JudgedClient(name="go", version="1.2", variant=None, follows=("A42",))
NASTY = "</script><img src=x onerror=alert(1)>\x1b[31m\u202e'\""


def record(*checks: Check, **more: Any) -> Record:
    given: dict[str, Any] = {"seed": 7, "seconds": 2.0, "began": 100.0, "clauses": (CLAUSE,)} | more
    made = Record(scenario="ring.search", client=JUDGED, checks=checks, **given)
    return msgspec.structs.replace(made, decisions=evidence.decisions_of(made, CATALOGUE))


def call(number: int, endpoint: str | None, status: str = "OK") -> Call:
    metadata = (("session", f"value-{number}"),)
    name, channel = f"call-{number}", "channel-1"
    return Call(
        id=name, channel=channel, path="/s/m", metadata=metadata, status=status, endpoint=endpoint
    )


def calls(*where: str | None) -> Calls:
    return Calls(
        tuple(
            call(n, address, "OK" if address else "UNAVAILABLE") for n, address in enumerate(where)
        )
    )


RING = MatchesRing(
    localities=(RingLocality("l", (RingEndpoint(A), RingEndpoint(B))),),
    config=RingConfig(minimum=64),
    policies=(HeaderPolicy(name="session"),),
    key_format="{address}_{i}",
)


def right(count: int) -> Calls:
    """Calls that go where their hash falls."""
    picked = ring_picture(RING, calls(*[A] * count))
    assert isinstance(picked, RingPicture)
    return calls(*(row.due for row in picked.calls))


# The ring.


def test_a_right_client_has_every_call_on_its_arc() -> None:
    found = ring_picture(RING, right(40))
    assert isinstance(found, RingPicture)
    assert (found.size, found.wrong, found.strangers) == (64, (), ())
    assert [owner.entries for owner in found.owners] == [32, 32]
    assert sum(owner.share for owner in found.owners) == pytest.approx(1)
    assert all(owner.due == owner.went for owner in found.owners)
    assert (found.arcs[0].first, found.arcs[-1].after) == (0, SLOTS)
    assert all(arc.after == other.first for arc, other in itertools.pairwise(found.arcs))


def test_calls_that_went_elsewhere_are_told() -> None:
    good = [row.endpoint for row in right(40)]
    found = ring_picture(RING, calls(*good[:-2], "127.0.0.1:1", B if good[-1] == A else A))
    assert isinstance(found, RingPicture)
    assert [row.call for row in found.wrong] == ["call-38", "call-39"]
    assert found.strangers == ("127.0.0.1:1",)


def test_a_call_that_went_elsewhere_is_told_however_late_it_came() -> None:
    good = [row.endpoint for row in right(150)]
    found = ring_picture(RING, calls(*good[:-1], B if good[-1] == A else A))
    assert isinstance(found, RingPicture)
    assert [row.call for row in found.told] == [*(f"call-{n}" for n in range(40)), "call-149"]


@pytest.mark.parametrize(
    ("expected", "seen", "words"),
    [
        (RING, calls(None), "no call with a hash"),
        (msgspec.structs.replace(RING, policies=()), calls(A), "no call with a hash"),
        (
            msgspec.structs.replace(RING, config=RingConfig(minimum=LARGEST + 2, cap=2 * LARGEST)),
            calls(A),
            "too large to be drawn",
        ),
    ],
)
def test_why_there_is_no_ring(expected: MatchesRing, seen: Observation, words: str) -> None:
    found = ring_picture(expected, seen)
    assert isinstance(found, str)
    assert words in found


# Shares and load.


@pytest.mark.parametrize(
    ("expected", "seen", "bars"),
    [
        (
            Proportions({A: (1, 2), B: (1, 2)}),
            calls(*[A] * 100),
            {A: (100, False), B: (0, False)},
        ),
        (
            Proportions({A: (1, 2), B: (1, 2)}),
            calls(*[A, B] * 50),
            {A: (50, True), B: (50, True)},
        ),
        (EqualShares((A, B)), calls(A, B, A), {A: (2, True), B: (1, True)}),
        (EqualShares((A, B)), calls(A, A, A), {A: (3, False), B: (0, False)}),
        (EqualShares((A,)), calls(A, B), {A: (1, False), B: (1, False)}),
        (
            DropRate(share=(1, 2)),
            calls(*[A, None] * 50),
            {"UNAVAILABLE": (50, True), "OK": (50, True)},
        ),
        (
            DropRate(share=(1, 2)),
            calls(*[A] * 100),
            {"UNAVAILABLE": (0, False), "OK": (100, False)},
        ),
        (
            DropProportions(cluster="c", shares={"one": (1, 2), "other": (1, 2)}),
            Loads(
                received=(),
                reported=(),
                clusters=(),
                lost=100,
                dropped=(Dropped(cluster="c", total=100, by_category={"one": 50, "other": 50}),),
            ),
            {"one": (50, True), "other": (50, True)},
        ),
    ],
)
def test_bars(expected: Expectation, seen: Observation, bars: dict[str, tuple[int, bool]]) -> None:
    found = shares_picture(expected, seen)
    assert found is not None
    assert {bar.name: (bar.count, bar.fits) for bar in found.bars} == bars
    assert all(bar.fits for bar in found.bars) is expected.finding(seen).holds


def test_what_has_no_bounds_has_no_bars() -> None:
    assert shares_picture(AllServedBy((A,)), calls(A)) is None
    assert shares_picture(EqualShares((A,)), Loads(received=(), reported=(), clusters=())) is None


def test_both_counts_of_load() -> None:
    here, there = LoadKey("c", "s", "l"), LoadKey("other")
    expected = LoadMatches(places={A: here, B: there})
    seen = Loads(
        received=(Received(address=A, succeeded=3),),
        reported=(ReportedLoad(here, Load(issued=2, succeeded=2)), ReportedLoad(there, Load())),
        clusters=("c", "strange"),
    )
    found = load_picture(expected, seen)
    assert found is not None
    assert [(row.counted.issued, row.reported.issued, row.is_alike) for row in found.rows] == [
        (3, 2, False),
        (0, 0, True),
    ]
    assert found.strangers == ("strange",)
    assert load_picture(expected, calls(A)) is None


# The timeline.

EDS = {
    "clusterName": "c",
    "endpoints": [{"address": {"socketAddress": {"address": "127.0.0.1", "portValue": 34101}}}],
}
SENT = Resource(name="c", type_url="eds", message=msgspec.Raw(json.dumps(EDS).encode()))
WHOLE = Folder(
    record=record(
        Check(clause=CLAUSE, seen=calls(A), expected={"A42": AllServedBy((B,))}), lateness=0.2
    ),
    events=(
        Event(event="StreamOpened", at=100.1, stream=1, service="ads"),
        Event(event="Request", at=100.2, kind="endpoints", subscribed=("c",)),
        Event(event="Response", at=100.3, kind="endpoints", version="1", resources=(SENT,)),
        Event(event="Request", at=100.4, kind="endpoints", answer="ack", answered_version="1"),
        Event(event="Response", at=100.5, kind="endpoints", version="2", fault="odd"),
        Event(
            event="Request",
            at=100.6,
            kind="endpoints",
            answer="nack",
            answered_version="2",
            error_detail="bad",
        ),
        Event(event="Response", at=100.7, type_url="a.Strange", version="1"),
        Event(event="LoadRequest", at=101.0, stream=2),
        Event(event="StreamClosed", at=101.5, stream=1, service="ads", by="script", code="OK"),
        Event(event="Dropped", at=101.6),
    ),
    calls=(
        Told(id="call-0", channel="channel-1", status="OK", started_at=100.5, ended_at=100.6),
        Told(id="call-1", channel="channel-1", status="WAITING", started_at=100.5),
        Told(id="call-2", channel="channel-1", status="OK"),
    ),
    states=(
        State(at=100.1, channel="channel-1", state="CONNECTING"),
        State(at=100.2, channel="channel-1", state="READY"),
    ),
    attempts=(
        EndpointAttempt(
            endpoint=A,
            attempt=Accepted(endpoint="endpoint-0", mode=Mode("SERVE"), accepted_at=100.4),
        ),
    ),
    rpcs=(
        Rpc(at=100.55, endpoint="endpoint-0", status="OK"),
        Rpc(at=100.55, endpoint="endpoint-9"),
    ),
    deeds=(
        GateAction(at=99.9, endpoint=A, mode=Mode("SERVE")),
        GateAction(at=101.0, endpoint=A, mode=Mode("STALL")),
        GateAction(at=101.1, endpoint=A, what="kill"),
    ),
    troubles=(
        Trouble(at=100.5, until=100.7, kind="late"),
        Trouble(at=101.0, until=101.9, kind="deadline", what="an attempt"),
    ),
)


def marks_of(lanes: tuple[Lane, ...], name: str) -> list[tuple[float, str, str]]:
    (lane,) = [row for row in lanes if row.name == name]
    return [(round(mark.at, 3), mark.shape.value, mark.what) for mark in lane.marks]


def test_all_of_a_scenario_is_on_one_clock() -> None:
    found = timeline(WHOLE)
    assert [(lane.group, lane.name) for lane in found.lanes] == [
        ("control plane", "streams"),
        ("control plane", "EDS"),
        ("control plane", "unknown type"),
        ("control plane", "load"),
        ("endpoints", f"{A} c"),
        ("calls", "channel-1"),
        ("channels", "channel-1"),
        ("suite", "deadlines"),
        ("suite", "lateness"),
    ]
    assert marks_of(found.lanes, "EDS") == [
        (0.2, "ask", "EDS: subscribes to c"),
        (0.3, "push", "EDS version 1 sent: c"),
        (0.4, "ack", "EDS version 1 accepted"),
        (0.5, "push", "EDS version 2 sent: nothing (odd)"),
        (0.6, "nack", "EDS version 2 refused: bad"),
    ]
    assert marks_of(found.lanes, f"{A} c") == [
        (0.0, "band", "its gate: SERVE"),
        (1.0, "band", "its gate: STALL"),
        (1.1, "tick", "kill: all live connections"),
        (0.4, "span", "connection, met by SERVE"),
        (0.55, "tick", "request received, OK"),
    ]
    assert marks_of(found.lanes, "deadlines") == [
        (1.0, "span", "waited without result: an attempt")
    ]
    waiting = found.lanes[5].marks[1]
    assert (waiting.until, waiting.tone) == (2.0, Tone.PLAIN)
    assert (found.begin, found.end) == (0.0, 2.0)


def test_the_marks_in_words_have_an_order_and_an_end() -> None:
    found = timeline(WHOLE)
    rows = found.in_order(1000)
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    assert len(rows) == sum(len(lane.marks) for lane in found.lanes)
    shortened = found.in_order(6)
    assert [row[3] for row in shortened][3] == f"… {len(rows) - 6} more …"
    assert (shortened[:3], shortened[4:]) == (rows[:3], rows[-3:])


def one_lane(*marks: Mark) -> Timeline:
    lane = Lane(group="calls", name="channel-1", marks=marks)
    return Timeline(begin=0, end=max((m.until or m.at for m in marks), default=0), lanes=(lane,))


def at(moment: float, until: float | None = None) -> Mark:
    shape = Shape.TICK if until is None else Shape.SPAN
    return Mark(at=moment, until=until, shape=shape, what="x")


@pytest.mark.parametrize(
    ("moments", "folds"),
    [
        ([], 0),
        ([0.0], 0),
        ([0.0, 1.0], 0),
        ([0.0, 0.1, 0.2, 15.0, 15.1], 1),
        ([n / 10 for n in range(50)], 0),
        ([0.0, 0.1, 0.2, 5.0, 5.1, 5.2, 10.0, 10.1, 10.2], 2),
    ],
)
def test_a_long_time_in_which_nothing_happens_is_folded(moments: list[float], folds: int) -> None:
    scale = scale_of(one_lane(*map(at, moments)))
    assert len(scale.folds) == folds
    places = [scale.x(moment) for moment in sorted(moments)]
    assert places == sorted(places)
    assert all(0 <= place <= 100 for place in places)
    assert scale.ticks


def test_many_calls_are_drawn_as_how_many_began_when() -> None:
    few = one_lane(*(at(n, n + 1.5) for n in range(SINGLE)))
    many = one_lane(*(at(n / 100, n / 100 + 1) for n in range(1000)))
    assert len(drawn_lane(few.lanes[0], scale_of(few)).marks) == SINGLE
    crowd = drawn_lane(many.lanes[0], scale_of(many))
    assert len(crowd.marks) < 200
    assert sum(int(mark.what.split()[0]) for mark in crowd.marks) == 1000


# What was served.


def test_what_was_pushed_is_yaml_that_tells_what_changed() -> None:
    again = Event(event="Response", at=100.9, kind="endpoints", version="3", resources=(SENT,))
    first, second, strange, third = pushes((*WHOLE.events, again), 100.0)
    assert first.yaml.startswith("clusterName: c\nendpoints:\n- address:")
    assert (first.answer, second.answer, second.said) == ("ack", "nack", "bad")
    assert strange.kind == "a.Strange"
    assert third.yaml == ""
    assert third.names == ("c",)


@pytest.mark.parametrize(
    ("wanted", "saw", "marked"),
    [
        ("calls: 3 at a", "calls: 4 at a", (["3"], ["4"])),
        ("nothing alike", "every call somewhere else entirely", ([], [])),
        ("", "b", ([], [])),
        ("the same", "the same", ([], [])),
    ],
)
def test_what_differs_is_marked(wanted: str, saw: str, marked: tuple[list[str], list[str]]) -> None:
    found = compared(wanted, saw)
    assert "".join(piece.text for piece in found.wanted) == wanted
    assert "".join(piece.text for piece in found.saw) == saw
    both = (found.wanted, found.saw)
    assert tuple([piece.text for piece in pieces if piece.differs] for pieces in both) == marked


# The page, the terminal, the trace.


def nasty() -> Folder:
    """A folder whose every word is hostile."""

    def spoil(value: Any) -> Any:
        match value:
            case dict():
                return {key: spoil(item) for key, item in value.items()}
            case list():
                return [spoil(item) for item in value]
            case str() if value in {"go", "c", "x", "bad", "channel-1", "call-0", "ring.search"}:
                return NASTY
            case _:
                return value

    spoiled = spoil(msgspec.json.decode(msgspec.json.encode(WHOLE)))
    return msgspec.json.decode(msgspec.json.encode(spoiled), type=Folder)


@pytest.mark.parametrize("folder", [WHOLE, nasty(), Folder(record=record())])
def test_a_page_is_html_without_a_script(folder: Folder) -> None:
    decisions = evidence.decisions_of(folder.record, CATALOGUE)
    text = template_loader.page(scene_of(folder, decisions, CATALOGUE))
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    tree = parser.parse(text)
    tags = {element.tag for element in tree.iter() if isinstance(element.tag, str)}
    assert not tags & {"script", "img", "iframe", "link"}
    assert "<img" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_a_terminal_shows_the_lanes() -> None:
    decisions = evidence.decisions_of(WHOLE.record, CATALOGUE)
    told = [text for text, _ in terminal.lines(scene_of(WHOLE, decisions, CATALOGUE), 100)]
    assert told[0] == "ring.search, go 1.2, seed 7, 2.00 s"
    assert f"  wanted    every call served by {B}" in told
    (eds,) = [line for line in told if line.startswith("  EDS")]
    assert "○" in eds
    assert "✕" in eds
    assert told[-1] == "repeat    xdspec run go@1.2 --seed 7 --scenario ring.search"
    command = "xdspec run /src/go --seed 7 --fast --scenario ring.search"
    scene = scene_of(WHOLE, decisions, CATALOGUE)
    told = [
        text for text, _ in terminal.lines(msgspec.structs.replace(scene, told_repeat=command), 100)
    ]
    assert told[-1] == f"repeat    {command}"


def test_a_trace_is_what_perfetto_reads() -> None:
    decisions = evidence.decisions_of(WHOLE.record, CATALOGUE)
    told = json.loads(trace.trace(scene_of(WHOLE, decisions, CATALOGUE)))
    events = told["traceEvents"]
    assert {event["ph"] for event in events} == {"M", "i", "b", "e"}
    assert all(event["ts"] >= 0 for event in events if event["ph"] != "M")
    begun = [(event["cat"], event["id"]) for event in events if event["ph"] == "b"]
    ended = [(event["cat"], event["id"]) for event in events if event["ph"] == "e"]
    assert sorted(begun) == sorted(ended)
    assert len(begun) == len(set(begun))


# Files.


def write(folder: Path, **files: str) -> Path:
    evidence.write(folder, WHOLE.record)
    for name, text in files.items():
        (folder / f"{name}.jsonl").write_text(text)
    return folder


def test_evidence_of_an_older_suite_is_drawn(tmp_path: Path) -> None:
    found = scene(write(tmp_path), CATALOGUE)
    assert [entry.decision.clause for entry in found.shown] == [CLAUSE]
    assert [lane.name for lane in found.timeline.lanes] == []


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"calls": "{"}, r"calls\.jsonl is broken in line 1"),
        ({"states": "{}\n"}, r"states\.jsonl is broken in line 1"),
        (
            {"suite": '{"at": 1, "until": 2, "kind": "late"}\n{"at": -5}'},
            r"suite\.jsonl is broken in line 2",
        ),
        ({"transcript": '{"event": "Response", "at": 1e999}'}, r"transcript\.jsonl is broken"),
        ({"gates": '{"at": 1, "endpoint": [[[[[[[]]]]]]]}'}, r"gates\.jsonl is broken"),
        ({"rpcs": "\udcff".encode("utf-8", "surrogatepass").decode("latin-1")}, "broken"),
    ],
)
def test_a_broken_file_is_told_of(tmp_path: Path, files: dict[str, str], words: str) -> None:
    with (
        UntrustedFolder(write(tmp_path, **files)) as folder,
        pytest.raises(BadEvidence, match=words),
    ):
        read_folder(folder, WHOLE.record)


def test_a_file_that_is_none_is_told_of(tmp_path: Path) -> None:
    (write(tmp_path) / "calls.jsonl").mkdir()
    with UntrustedFolder(tmp_path) as folder, pytest.raises(BadEvidence, match="Is a directory"):
        read_folder(folder, WHOLE.record)
