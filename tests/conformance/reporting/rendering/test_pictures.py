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
from conformance.judging.evidence import BadEvidence
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
from conformance.judging.observations import Calls, Loads, Observation, ReportedLoad
from conformance.reporting.pages import template_loader
from conformance.reporting.rendering import terminal, trace
from conformance.reporting.rendering.comparison import compared
from conformance.reporting.rendering.folder import (
    Event,
    Folder,
    read_folder,
)
from conformance.reporting.rendering.loads import load_picture
from conformance.reporting.rendering.ring import (
    FEW_ENTRIES,
    LARGEST,
    SLOTS,
    RingPicture,
    ring_picture,
)
from conformance.reporting.rendering.scenario import scene, scene_of
from conformance.reporting.rendering.served import pushes
from conformance.reporting.rendering.shares import shares_picture
from conformance.spec.oracles.load import Dropped, Load, LoadKey, Received
from conformance.spec.oracles.ring.sizes import RingConfig
from regular_files import UntrustedFolder
from tests.conformance.reporting.rendering.sample_folder import (
    CATALOGUE,
    CLAUSE,
    RING,
    SENT,
    WHOLE,
    A,
    B,
    calls,
    record,
)

NASTY = "</script><img src=x onerror=alert(1)>\x1b[31m\u202e'\""


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


@pytest.mark.parametrize("size", [32, 4096])
def test_the_entries_of_a_ring_name_the_calls_that_went_elsewhere(size: int) -> None:
    ring = msgspec.structs.replace(RING, config=RingConfig(minimum=size))
    picked = ring_picture(ring, calls(*[A] * 40))
    assert isinstance(picked, RingPicture)
    good = [row.due for row in picked.calls]
    found = ring_picture(ring, calls(*good[:-1], B if good[-1] == A else A))
    assert isinstance(found, RingPicture)
    assert len(found.entries) == (size if size <= FEW_ENTRIES else 3)
    (at,) = (entry for entry in found.entries if entry.wrong)
    assert [call.call for call in at.wrong] == ["call-39"]
    assert (at.owner, at.key.rpartition("_")[0]) == (good[-1], good[-1])
    assert at.wrong[0].hash <= at.hash or at.number == 1
    text = [line for line, _ in terminal.ring_lines(found)]
    place = next(number for number, line in enumerate(text) if "call-39" in line)
    assert f"{at.hash:#018x}" in text[place + 1], "the entry is below its call"


def test_a_call_that_went_elsewhere_is_told_however_late_it_came() -> None:
    good = [row.endpoint for row in right(150)]
    found = ring_picture(RING, calls(*good[:-1], B if good[-1] == A else A))
    assert isinstance(found, RingPicture)
    assert [row.call for row in found.listed] == [*(f"call-{n}" for n in range(40)), "call-149"]


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
    assert f"  expected  every call served by {B}" in told
    (eds,) = [line for line in told if line.startswith("  EDS")]
    assert "○" in eds
    assert "✕" in eds
    assert told[-2] == "repeat    xdspec run go@1.2 --seed 7 --scenario ring.search"
    command = "xdspec run /src/go --seed 7 --fast --scenario ring.search"
    scene = scene_of(WHOLE, decisions, CATALOGUE)
    told = [
        text for text, _ in terminal.lines(msgspec.structs.replace(scene, told_repeat=command), 100)
    ]
    assert told[-2] == f"repeat    {command}"


@pytest.mark.parametrize(
    ("kinds", "rows"),
    [((), []), (("late",), ["lateness"]), (("deadline", "late"), ["deadlines", "lateness"])],
)
def test_a_terminal_says_what_the_rows_of_the_suite_mean(
    kinds: tuple[str, ...], rows: list[str]
) -> None:
    troubles = tuple(trouble for trouble in WHOLE.troubles if trouble.kind in kinds)
    folder = Folder(record=record(), troubles=troubles)
    decisions = evidence.decisions_of(folder.record, CATALOGUE)
    told = [text for text, _ in terminal.lines(scene_of(folder, decisions, CATALOGUE), 100)]
    named = [
        text.partition(":")[0] for text in told if text.startswith(("deadlines:", "lateness:"))
    ]
    assert named == rows


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
