"""One scenario in a terminal: lines of text, each with its style. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conformance.judging.verdicts import BAD
from conformance.reporting.failure_texts import evidence_of
from conformance.reporting.rendering.drawing import Scale, scale_of
from conformance.reporting.rendering.loads import LoadPicture
from conformance.reporting.rendering.phases import in_words
from conformance.reporting.rendering.ring import RingPicture
from conformance.reporting.rendering.scenario import Scene, Shown
from conformance.reporting.rendering.shares import SharesPicture
from conformance.reporting.rendering.timeline import (
    DEADLINES,
    LATENESS,
    SUITE,
    Lane,
    Mark,
    Shape,
    Timeline,
    Tone,
)
from conformance.reporting.stdout import COLOURS

Line = tuple[str, str]
"""Text, and a style of rich's."""

NAMES = 24
"""Columns for the names of lanes."""

LEAST = 40
"""Columns for what is drawn, also in a terminal that has fewer."""

SHOWN = 12
"""Rows of a list."""

PER_ENTRY = 2
"""Calls that are listed at one entry of a ring."""

SIGNS = {Shape.PUSH: "▼", Shape.ACK: "▲", Shape.NACK: "✕", Shape.ASK: "○", Shape.TICK: "│"}

NOT_SERVING = "░"
"""Draws the time in which an endpoint closes, holds or stalls connections, as a label says."""

SPANS = {Tone.GOOD: "━", Tone.BAD: "✗", Tone.SUITE: "▒", Tone.PLAIN: "─", Tone.FAINT: "·"}

LEGEND = {
    "▼": "sent",
    "▲": "accepted",
    "✕": "rejected",
    "○": "requested",
    "│": "event",
    "━": "ok",
    "✗": "failed",
    "░": "endpoint not serving",
    "▒": "suite waiting or late",
    "─": "waiting",
    "·": "idle",
    "┊": "folded",
}
"""What each sign of the timeline means."""

ROWS = {
    DEADLINES: "the suite waited for an event that did not come before the deadline",
    LATENESS: "the suite itself was late; if that can change a verdict, it is error (timing)",
}
"""What each row of the suite means."""


def lines(scene: Scene, width: int) -> Iterator[Line]:
    """Yield the lines of a scenario, for a terminal of this width."""
    yield f"{scene.scenario}, {scene.name}, seed {scene.seed}, {scene.seconds:.2f} s", "bold"
    if scene.trouble:
        yield f"ended early: {scene.trouble}", "red"
    rings: list[RingPicture] = []
    for entry in scene.shown:
        yield from _decision(entry, width, rings)
    yield "", ""
    for words, is_bad in in_words(scene.phases):
        yield words, "red" if is_bad else ""
    yield "", ""
    yield from timeline_lines(scene.timeline, width)
    yield "", ""
    yield from ((f"log       {line}", "") for line in scene.logs)
    yield f"repeat    {scene.repeat}", ""
    if not scene.mutant:
        yield "          A repeat moves this evidence to FOLDER-before", "dim"


def _decision(entry: Shown, width: int, rings: list[RingPicture]) -> Iterator[Line]:
    """Yield a decision; a ring that `rings` has is not drawn again."""
    said = entry.decision
    why = f" ({said.reason.value})" if said.reason else ""
    which = f"  (check {entry.number} of {entry.count})" if entry.count > 1 else ""
    head = f"{said.verdict.value.upper()}{why}  {entry.clause.id}  {entry.clause.title}{which}"
    yield head, COLOURS[said.verdict]
    if said.verdict not in BAD:
        return
    where = f"{entry.clause.document}, {entry.clause.section} [{entry.clause.strength.value}]"
    stated = (("rule", where), ("requires", entry.text), ("basis", entry.clause.paraphrase))
    computed = ("computed", said.oracle and f"from {said.oracle}")
    first, *rest = evidence_of(said) or (("observed", said.saw),)
    shown = (first, computed, *rest)
    for name, text in (*stated, *shown):
        if text:
            yield f"  {name:8}  {text}".replace("\n", f"\n{'':12}"), ""
    if entry.drawn.ring and entry.drawn.ring in rings:
        yield "  ring      as above", ""
    elif entry.drawn.ring:
        rings.append(entry.drawn.ring)
        yield from ring_lines(entry.drawn.ring)
    if entry.drawn.shares:
        yield from share_lines(entry.drawn.shares, width)
    if entry.drawn.loads:
        yield from load_lines(entry.drawn.loads)


def ring_lines(it: RingPicture) -> Iterator[Line]:
    """Yield the ring in numbers, and the calls that went elsewhere."""
    yield f"  ring      {it.size} entries, {it.built}", ""
    for owner in it.owners[:SHOWN]:
        entries = "entry,  " if owner.entries == 1 else "entries,"
        numbers = f"{owner.entries:6} {entries} {100 * owner.share:5.2f} % of all hashes,"
        calls = f"{owner.due:5} calls expected {owner.went:5} observed"
        yield f"    {owner.address:22}{numbers}{calls}", "" if owner.due == owner.went else "yellow"
    yield from _more(len(it.owners), "endpoints")
    for stranger in it.strangers:
        yield f"    {stranger or 'none':22}is not on this ring, but received calls", "red"
    if it.wrong:
        yield from entry_lines(it)


def entry_lines(it: RingPicture) -> Iterator[Line]:
    """Yield the entries of the ring, each after the calls that belong to it but went elsewhere."""
    which = "all" if len(it.entries) == it.size else "those next to calls that went elsewhere"
    yield f"  entries   {which}, in ring order; each owns the hashes up to its own", ""
    before = 0
    for entry in it.entries:
        if entry.number > before + 1:
            yield f"    {'…':>6}", "dim"
        before = entry.number
        for call in entry.wrong[:PER_ENTRY]:
            what = f"{call.call} ({call.sent}) reached {call.went} instead of {call.due}"
            yield f"    {'call':>6}  {call.hash:#018x}  {what}", "red"
        if more := len(entry.wrong[PER_ENTRY:]):
            yield f"    {'':6}  and {more} more that went elsewhere", "red"
        failed = "  (failed)" if entry.owner in it.failed else ""
        about = f"{entry.owner:22}key {entry.key}{failed}"
        yield f"    {entry.number:6}  {entry.hash:#018x}  {about}", ""
    at = sum(len(entry.wrong) for entry in it.entries)
    if at < len(it.wrong):
        yield f"    and {len(it.wrong) - at} more that went elsewhere, at other entries", "dim"


def share_lines(it: SharesPicture, width: int) -> Iterator[Line]:
    """Yield each count on a line from none to all, with its bounds."""
    columns = max(LEAST, width - NAMES - 30)
    yield f"  shares    of {it.total} {it.of}, bounds: {it.bounded_by}", ""
    for bar in it.bars[:SHOWN]:
        low, high, at = (
            min(columns - 1, columns * count // max(1, it.total))
            for count in (bar.low, bar.high, bar.count)
        )
        drawn = [("░" if low <= column <= high else "·") for column in range(columns)]
        drawn[at] = "●" if bar.fits else "✕"
        words = f"{bar.count} of {bar.low} to {bar.high}"
        yield f"    {bar.name:{NAMES}}{''.join(drawn)}  {words}", "" if bar.fits else "red"
    yield from _more(len(it.bars), "more")


def load_lines(it: LoadPicture) -> Iterator[Line]:
    """Both counts of each place."""
    for row in it.rows[:SHOWN]:
        yield f"  load      {row.place}", ""
        for name, load in (("counted", row.counted), ("reported", row.reported)):
            yield f"    {name:8}  {load}", "" if row.is_alike else "red"
    yield from _more(len(it.rows), "places")
    if it.strangers:
        yield f"  strangers {', '.join(it.strangers)}: reported, but must not be", "red"


def _more(count: int, what: str) -> Iterator[Line]:
    if count > SHOWN:
        yield f"    and {count - SHOWN} {what}", "dim"


def timeline_lines(it: Timeline, width: int) -> Iterator[Line]:
    """Lanes of signs on one clock."""
    columns = max(LEAST, width - NAMES - 1)
    scale = scale_of(it)
    yield f"{'':{NAMES}}{axis(scale, it.end, columns)}", "dim"
    group, used = "", ""
    for lane in it.lanes:
        if lane.group != group:
            group = lane.group
            yield group, "bold"
        drawn = drawn_row(lane, scale, columns)
        used += drawn
        yield f"  {_shortened(lane.name):{NAMES - 2}}{drawn}", ""
    for words in it.left_out:
        yield f"  not drawn: {words}", "dim"
    yield from ((row, "dim") for row in legend(used, width))
    names = {lane.name for lane in it.lanes if lane.group == SUITE}
    for name, meaning in ROWS.items():
        if name in names:
            yield f"{name}: {meaning}", "dim"


def legend(used: str, width: int) -> Iterator[str]:
    """Yield what the used signs mean, in rows that fit the width."""
    row = ""
    for each in (f"{sign} {what}" for sign, what in LEGEND.items() if sign in used):
        if row and len(row) + len(each) + 2 > width:
            yield row
            row = ""
        row += f"  {each}" if row else each
    yield row


def axis(scale: Scale, end: float, columns: int) -> str:
    """Return the labels of a clock, apart from each other; the last one is the end."""
    last = f"{end:.2f} s"
    row = [*last.rjust(columns)]
    room = columns - len(last)
    free = 0
    for at, label in scale.ticks:
        place = int(at * columns / 100)
        if free <= place < room - len(label):
            row[place : place + len(label)] = label
            free = place + len(label) + 1
    return "".join(row)


def _shortened(name: str) -> str:
    """Return the name of a lane as far as it fits, with a sign that it was cut."""
    longest = NAMES - 3
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def drawn_row(lane: Lane, scale: Scale, columns: int) -> str:
    """Return a lane's characters: bands below spans, spans below points."""
    row = [" "] * columns
    for fold in scale.folds:
        for column in range(int(fold.left * columns / 100), int(fold.right * columns / 100)):
            row[column] = "┊"
    owners: list[Mark | None] = [None] * columns
    order = {Shape.BAND: 0, Shape.SPAN: 1}
    for mark in sorted(lane.marks, key=lambda mark: order.get(mark.shape, 2)):
        first = min(columns - 1, max(0, int(scale.x(mark.at) * columns / 100)))
        last = first
        if mark.until is not None:
            last = min(columns - 1, int(scale.x(mark.until) * columns / 100))
        row[first : last + 1] = _signs(mark, last + 1 - first)
        owners[first : last + 1] = [mark] * (last + 1 - first)
    for mark in lane.marks:
        if mark.label and mark.until is not None:
            _label(row, [owner is mark for owner in owners], mark.label)
    return "".join(row).rstrip()


def _label(row: list[str], is_free: Sequence[bool], label: str) -> None:
    """Write a label at the first place where it covers no other mark, if there is one."""
    room = len(label) + 1
    for first in range(len(row) - room + 1):
        if all(is_free[first : first + room]):
            row[first : first + len(label)] = label
            return


def _signs(mark: Mark, columns: int) -> str:
    """Return the characters of a mark; one that failed was waiting until its end."""
    if mark.until is None:
        return SIGNS.get(mark.shape, "│") * columns
    if mark.shape is Shape.BAND and mark.tone is Tone.SUITE:
        return NOT_SERVING * columns
    if mark.shape is Shape.SPAN and mark.tone is Tone.BAD:
        return SPANS[Tone.PLAIN] * (columns - 1) + SPANS[Tone.BAD]
    return SPANS[mark.tone] * columns
