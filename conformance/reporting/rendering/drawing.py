"""Where on a page the marks of pictures go: per cent of a width, angles of a circle. Pure."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from conformance.reporting.rendering.ring import SLOTS, Arc
from conformance.reporting.rendering.timeline import Lane, Mark, Shape, Timeline, Tone

FOLDED_FROM: Final = 0.12
"""The part of all time from which on a time in which nothing happens is folded."""

LEAST_LINEAR: Final = 0.001
"""The part of all time that must be left, or nothing is folded: there would be no clock."""

FOLD_WIDTH: Final = 5.0
"""Per cent that a fold takes."""

NICE: Final = (1, 2, 5)
TICKS: Final = 8
"""The approximate number of labels on the axis."""

SINGLE: Final = 48
"""Spans of a lane that are drawn one by one, in rows; of more it is drawn how many began when."""

ROWS: Final = 10
COLUMNS: Final = 120


class Piece(msgspec.Struct, frozen=True):
    """A part of the axis: linear, or folded."""

    since: float
    until: float
    left: float
    right: float
    folded: bool


class Scale(msgspec.Struct, frozen=True):
    """Seconds to per cent of the width."""

    pieces: tuple[Piece, ...]

    def x(self, at: float) -> float:
        """Where a moment is."""
        for piece in self.pieces:
            if at <= piece.until:
                length = piece.until - piece.since
                part = (at - piece.since) / length if length > 0 else 0.0
                return round(piece.left + max(0.0, part) * (piece.right - piece.left), 3)
        return 100.0

    @property
    def folds(self) -> tuple[Piece, ...]:
        """The parts in which nothing happens."""
        return tuple(piece for piece in self.pieces if piece.folded)

    @property
    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Where figures stand, and which."""
        linear = [piece for piece in self.pieces if not piece.folded]
        length = sum(piece.until - piece.since for piece in linear)
        if length <= 0:
            return ((0.0, "0 s"),)
        step = _nice(length / TICKS)
        found = []
        for piece in linear:
            count = math.floor(piece.until / step) - math.ceil(piece.since / step) + 1
            first = math.ceil(piece.since / step)
            found += [
                (self.x(number * step), f"{number * step:g} s")
                for number in range(first, first + min(count, 4 * TICKS))
            ]
        spaced: list[tuple[float, str]] = []
        for at, label in found:
            if not spaced or at - spaced[-1][0] >= FOLD_WIDTH:
                spaced.append((at, label))
        return tuple(spaced)


def _nice(least: float) -> float:
    """Return the least of 1, 2, 5, 10, … and their fractions that is not below `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next((n * power for n in NICE if n * power >= least), 10 * power)


def scale_of(timeline: Timeline) -> Scale:
    """Return a scale that folds long times without events."""
    moments = {timeline.begin, timeline.end}
    for lane in timeline.lanes:
        for mark in lane.marks:
            moments |= {mark.at} | ({mark.until} if mark.until is not None else set())
    times = sorted(moments)
    total = times[-1] - times[0]
    gaps = [(time, other) for time, other in itertools.pairwise(times) if other > time]
    folds = {gap for gap in gaps if gap[1] - gap[0] > max(FOLDED_FROM * total, 1e-6)}
    rest = total - sum(other - start for start, other in folds)
    if rest <= LEAST_LINEAR * total:
        folds, rest = set(), total
    width = 100.0 - FOLD_WIDTH * len(folds)
    pieces: list[Piece] = []
    left, since = 0.0, times[0]
    for gap in [*sorted(folds), (times[-1], times[-1])]:
        right = left + (width * (gap[0] - since) / rest if rest > 0 else 0.0)
        if gap[0] > since or not pieces:
            pieces.append(Piece(since, gap[0], left, right, folded=False))
        if gap[1] > gap[0]:
            pieces.append(Piece(*gap, right, right + FOLD_WIDTH, folded=True))
            right += FOLD_WIDTH
        left, since = right, gap[1]
    return Scale(tuple(pieces))


class Drawn(msgspec.Struct, frozen=True, kw_only=True):
    """A mark in its lane: per cent from the left, pixels from the top."""

    shape: Shape
    tone: Tone
    x: float
    width: float
    y: float
    height: float
    what: str
    label: str


class DrawnLane(msgspec.Struct, frozen=True, kw_only=True):
    """A lane, with its height."""

    group: str
    name: str
    height: int
    marks: tuple[Drawn, ...]


LANE: Final = 20
ROW: Final = 5
LETTER: Final = 0.75
"""Per cent of the width that a letter of a label takes, about."""


def drawn_lane(lane: Lane, scale: Scale) -> DrawnLane:
    """Return a lane with its marks placed."""
    bands = [_band(mark, scale) for mark in lane.marks if mark.shape is Shape.BAND]
    spans = [mark for mark in lane.marks if mark.shape is Shape.SPAN]
    points = [mark for mark in lane.marks if mark.shape not in {Shape.BAND, Shape.SPAN}]
    rows = _rows(spans) if len(spans) <= SINGLE else None
    top = 11 if any(band.label for band in bands) else 3
    if rows is None or max(rows, default=0) >= ROWS:
        drawn, height = _crowd(spans, scale), 2 * LANE
    else:
        height = max(LANE, ROW * (max(rows, default=0) + 1) + top + 3)
        drawn = [
            _placed(mark, scale, y=top + ROW * row, height=ROW - 1)
            for mark, row in zip(spans, rows, strict=True)
        ]
    bands = [msgspec.structs.replace(band, height=height) for band in bands]
    ticks = [_placed(mark, scale, y=0, height=height) for mark in _sparse(points, scale)]
    marks = (*bands, *drawn, *ticks)
    return DrawnLane(group=lane.group, name=lane.name, height=height, marks=marks)


def _placed(mark: Mark, scale: Scale, *, y: float, height: float) -> Drawn:
    left = scale.x(mark.at)
    right = left if mark.until is None else scale.x(mark.until)
    return Drawn(
        shape=mark.shape,
        tone=mark.tone,
        x=left,
        width=round(max(right - left, 0.15), 3),
        y=y,
        height=height,
        what=f"{mark.at:.3f} s: {mark.what}",
        label=mark.label,
    )


def _band(mark: Mark, scale: Scale) -> Drawn:
    placed = _placed(mark, scale, y=0, height=LANE)
    has_room = placed.width > LETTER * (len(mark.label) + 1)
    return placed if has_room else msgspec.structs.replace(placed, label="")


def _rows(spans: Sequence[Mark]) -> list[int]:
    """Return for each span the first row with room for it."""
    ends: list[float] = []
    rows = []
    for mark in spans:
        end = mark.at if mark.until is None else mark.until
        row = next((at for at, last in enumerate(ends) if last <= mark.at), len(ends))
        ends[row:] = [end, *ends[row + 1 :]]
        rows.append(row)
    return rows


def _crowd(spans: Iterable[Mark], scale: Scale) -> list[Drawn]:
    """How many began in each column, those that went wrong at the foot."""
    counts: dict[int, dict[Tone, int]] = {}
    for mark in spans:
        column = min(COLUMNS - 1, int(scale.x(mark.at) * COLUMNS / 100))
        of = counts.setdefault(column, {})
        of[mark.tone] = of.get(mark.tone, 0) + 1
    most = max((sum(of.values()) for of in counts.values()), default=1)
    drawn = []
    for column, of in sorted(counts.items()):
        foot = 2.0 * LANE
        for tone in sorted(of, key=lambda tone: tone is not Tone.BAD):
            height = max(1.5, (2 * LANE - 2) * of[tone] / most)
            foot -= height
            drawn.append(
                Drawn(
                    shape=Shape.SPAN,
                    tone=tone,
                    x=round(column * 100 / COLUMNS, 3),
                    width=round(100 / COLUMNS, 3),
                    y=round(max(foot, 0), 2),
                    height=round(height, 2),
                    what=f"{of[tone]} began about here ({_said(tone)})",
                    label="",
                )
            )
    return drawn


def _said(tone: Tone) -> str:
    return {Tone.GOOD: "went well", Tone.BAD: "went wrong"}.get(tone, "not over, or neither")


def _sparse(points: Iterable[Mark], scale: Scale) -> list[Mark]:
    """Return the marks, without those that would cover an equal mark."""
    seen: set[tuple[int, Shape, Tone, str]] = set()
    kept = []
    for mark in points:
        is_plain = mark.shape is Shape.TICK and mark.tone is Tone.PLAIN
        column = int(scale.x(mark.at) * (4 if is_plain else 10))
        key = (column, mark.shape, mark.tone, "" if is_plain else mark.what)
        if key not in seen:
            seen.add(key)
            kept.append(mark)
    return kept


# The ring.


def arc_path(arc: Arc, inner: float, outer: float) -> str:
    """Return the outline of a piece of a ring, clockwise from the top."""
    first, after = arc.first / SLOTS, arc.after / SLOTS
    if arc.after - arc.first >= SLOTS:  # a whole circle has no corners
        after -= 1e-4
    large = int(after - first > 0.5)  # noqa: PLR2004 - half a turn
    begin, end = point(first, outer), point(after, outer)
    back, home = point(after, inner), point(first, inner)
    return (
        f"M{begin[0]} {begin[1]}A{outer} {outer} 0 {large} 1 {end[0]} {end[1]}"
        f"L{back[0]} {back[1]}A{inner} {inner} 0 {large} 0 {home[0]} {home[1]}Z"
    )


def point(turn: float, radius: float) -> tuple[float, float]:
    """Return a point on a circle around the origin; 0 is at the top, clockwise."""
    angle = 2 * math.pi * turn
    return round(radius * math.sin(angle), 2), round(-radius * math.cos(angle), 2)
