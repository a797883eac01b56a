"""A timeline in the Trace Event Format, which Perfetto and others open. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from conformance.reporting.rendering.scenario import Scene
from conformance.reporting.rendering.timeline import Tone

MICROSECONDS = 1_000_000

COLOURS = {Tone.GOOD: "good", Tone.BAD: "terrible", Tone.SUITE: "rail_idle"}
"""Names that viewers of the format know; of any other tone they choose one."""


def trace(scene: Scene) -> bytes:
    """Return the trace as JSON: a process for each group of lanes, a thread for each lane."""
    document = {
        "displayTimeUnit": "ms",
        "otherData": {"scenario": scene.scenario, "client": scene.name, "seed": scene.seed},
        "traceEvents": [*_events(scene)],
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


def _events(scene: Scene) -> Iterator[dict[str, Any]]:
    timeline = scene.timeline
    groups = list(dict.fromkeys(lane.group for lane in timeline.lanes))
    for number, group in enumerate(groups, start=1):
        yield _named("process_name", number, 0, group)
    for thread, lane in enumerate(timeline.lanes, start=1):
        process = groups.index(lane.group) + 1
        yield _named("thread_name", process, thread, lane.name)
        for place, mark in enumerate(lane.marks):
            event: dict[str, Any] = {
                "name": mark.label or mark.what.partition(":")[0],
                "cat": lane.group,
                "pid": process,
                "tid": thread,
                # No viewer likes what was before the beginning.
                "ts": round((mark.at - timeline.begin) * MICROSECONDS),
                "args": {"what": mark.what},
            }
            if mark.tone in COLOURS:
                event["cname"] = COLOURS[mark.tone]
            if mark.until is None:
                yield event | {"ph": "i", "s": "t"}
            else:
                length = round((mark.until - mark.at) * MICROSECONDS)
                # Spans of a thread must nest, and calls do not: each is one of its own.
                event |= {"id": f"{thread}.{place}", "cat": f"{lane.group}, {lane.name}"}
                yield event | {"ph": "b"}
                yield event | {"ph": "e", "ts": event["ts"] + max(length, 0)}


def _named(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}
