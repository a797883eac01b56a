"""The timeline of a scenario."""

from __future__ import annotations

import msgspec
import pytest

from conformance.reporting.rendering.drawing import SINGLE, Piece, Scale, drawn_lane, scale_of
from conformance.reporting.rendering.folder import (
    Accepted,
    EndpointAttempt,
    Event,
    GateAction,
    Mode,
    Resource,
)
from conformance.reporting.rendering.terminal import axis, drawn_row, legend
from conformance.reporting.rendering.timeline import Lane, Mark, Shape, Timeline, Tone, timeline
from tests.conformance.reporting.rendering.sample_folder import (
    WHOLE,
    A,
    at,
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
        ("endpoints", A),
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
        (0.6, "nack", "EDS version 2 rejected: bad"),
    ]
    assert marks_of(found.lanes, A) == [
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


@pytest.mark.parametrize(
    ("mode", "tone"),
    [
        ("SERVE", Tone.GOOD),
        ("HOLD", Tone.PLAIN),
        ("STALL", Tone.PLAIN),
        ("CLOSE", Tone.BAD),
        ("other", Tone.BAD),
    ],
)
def test_a_connection_that_is_held_has_not_failed(mode: str, tone: Tone) -> None:
    attempt = Accepted(endpoint="endpoint-0", mode=Mode(mode), accepted_at=100.4)
    found = timeline(
        msgspec.structs.replace(WHOLE, attempts=(EndpointAttempt(endpoint=A, attempt=attempt),))
    )
    (lane,) = [lane for lane in found.lanes if lane.group == "endpoints"]
    assert [mark.tone for mark in lane.marks if mark.what.startswith("connection")] == [tone]


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


@pytest.mark.parametrize(
    ("ticks", "row"),
    [
        ((), "CLOSE░░░░░░░░░░░"),
        ((3.0,), "░░░│CLOSE░░░░░░░"),
        ((3.0, 8.0, 13.0), "░░░│░░░░│░░░░│░░"),
    ],
)
def test_a_label_covers_no_mark(ticks: tuple[float, ...], row: str) -> None:
    band = Mark(at=0, until=15, shape=Shape.BAND, tone=Tone.SUITE, what="closed", label="CLOSE")
    points = (Mark(at=at, shape=Shape.TICK, what="event") for at in ticks)
    scale = Scale((Piece(0, 40, 0, 100, folded=False),))
    assert drawn_row(Lane(group="endpoints", name="a", marks=(band, *points)), scale, 40) == row


def test_a_call_waits_until_it_fails() -> None:
    scale = Scale((Piece(0, 40, 0, 100, folded=False),))
    failed = Mark(at=0, until=5, shape=Shape.SPAN, tone=Tone.BAD, what="call-0 UNAVAILABLE")
    lane = Lane(group="calls", name="channel-1", marks=(failed,))
    assert drawn_row(lane, scale, 40) == "─────✗"


def test_the_labels_of_the_clock_end_with_the_scenario() -> None:
    scale = Scale((Piece(0, 5.1, 0, 100, folded=False),))
    assert axis(scale, 5.1, 40) == "0 s    1 s     2 s     3 s        5.10 s"
    close = Scale((Piece(0, 0.42, 0, 100, folded=False),))
    labels = axis(close, 0.42, 40)
    assert labels == "0 s      0.1 s     0.2 s    0.3 s 0.42 s"
    assert axis(close, 0.42, 20) == "0 s 0.1 s     0.42 s"


def test_the_meaning_of_signs_fits_the_width() -> None:
    rows = [*legend("▼▲✕│━✗░▒─·┊", 80)]
    assert all(len(row) <= 80 for row in rows)
    assert "  ".join(rows).count("  ") == 10


def test_endpoints_are_in_the_order_of_priorities() -> None:
    lower, higher = "127.0.0.1:1", "127.0.0.1:2"
    localities = ", ".join(
        f'{{"priority": {priority}, "lbEndpoints": [{{"endpoint": {{"address": {{"socketAddress": '
        f'{{"address": "127.0.0.1", "portValue": {port}}}}}}}}}]}}'
        for port, priority in ((1, 1), (2, 0))
    )
    contents = msgspec.Raw(f'{{"endpoints": [{localities}]}}'.encode())
    resource = Resource(name="c", type_url="endpoints", message=contents)
    event = Event(event="Response", at=1, kind="endpoints", resources=(resource,))
    actions = [GateAction(at=1, endpoint=each, mode=Mode("SERVE")) for each in (lower, higher)]
    found = timeline(
        msgspec.structs.replace(WHOLE, events=(event,), actions=tuple(actions), attempts=())
    )
    names = [lane.name for lane in found.lanes if lane.group == "endpoints"]
    assert names == [f"p0 {higher}", f"p1 {lower}"]
