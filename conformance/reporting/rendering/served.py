"""What was served, as YAML: each push with what it changed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import msgspec.yaml

from conformance.reporting.rendering.folder import Event, Resource
from conformance.reporting.rendering.timeline import KINDS

LONGEST = 30_000
"""Letters of one push: a list of thousands of endpoints is cut, and says so."""

MOST = 60
"""Pushes of a scenario, the last ones."""


def type_of(event: Event) -> str:
    """Return the short name of a message's type, such as CDS."""
    return KINDS.get(event.kind or "", event.type_url or "unknown type")


class Sent:
    """The resources sent so far; they show which resources of a response are new."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], Resource] = {}
        self._there: dict[str, frozenset[tuple[str, str]]] = {}

    def new_in(self, event: Event) -> tuple[Resource, ...]:
        """Return the resources of a response that differ from the last time they were sent."""
        new = tuple(
            resource
            for resource in event.resources
            if self._last.get((resource.type_url, resource.name)) != resource
        )
        self._last.update(
            {(resource.type_url, resource.name): resource for resource in event.resources}
        )
        return new

    def gone_with(self, event: Event) -> tuple[str, ...]:
        """Return the names that the previous response had and this one omits."""
        there = frozenset((resource.type_url, resource.name) for resource in event.resources)
        gone = sorted(self._there.get(event.kind or "", frozenset()) - there)
        self._there[event.kind or ""] = there
        for key in gone:
            self._last.pop(key, None)
        return tuple(name for _, name in gone)


class Pushed(msgspec.Struct, frozen=True, kw_only=True):
    """A response of the control plane."""

    at: float
    kind: str
    version: str
    names: tuple[str, ...]
    answer: str
    """``ack``, ``nack``, or nothing if there was none."""
    said: str
    """The error message of a NACK."""
    fault: str
    yaml: str
    """The resources that are new or changed since the last push, as YAML."""


def pushes(events: Iterable[Event], began: float) -> tuple[Pushed, ...]:
    """Return the pushes, oldest first; only the last MOST."""
    events = tuple(events)
    answers = {
        (event.stream, event.kind, event.answered_version): event
        for event in reversed(events)
        if event.event == "Request" and event.answer
    }
    sent = Sent()
    made = []
    responses = [event for event in events if event.event == "Response"]
    for number, event in enumerate(responses, start=1):
        new = sent.new_in(event)
        if len(responses) - number >= MOST:
            continue
        answer = answers.get((event.stream, event.kind, event.version))
        made.append(
            Pushed(
                at=event.at - began,
                kind=type_of(event),
                version=event.version,
                names=tuple(resource.name for resource in event.resources),
                answer=(answer.answer or "") if answer else "",
                said=answer.error_detail if answer else "",
                fault=event.fault,
                yaml=_as_yaml(new),
            )
        )
    return tuple(made)


def _as_yaml(resources: Sequence[Resource]) -> str:
    """Return resources as YAML, up to the length that a page shows."""
    made = ""
    for number, resource in enumerate(resources):
        value = resource.contents or {
            "name": resource.name,
            "type_url": resource.type_url,
            "base64": resource.base64,
        }
        try:
            made += ("---\n" if made else "") + msgspec.yaml.encode(value).decode()
        except RecursionError:
            return "# cannot be written as YAML: it is nested too deeply"
        is_cut, others = len(made) > LONGEST, len(resources) - number - 1
        if is_cut or (len(made) == LONGEST and others):
            left_out = ["the rest of it"] if is_cut else []
            left_out += [f"{others} more resources"] if others else []
            return f"{made[:LONGEST]}\n# and {' and '.join(left_out)}: see transcript.jsonl\n"
    return made
