"""What was served, as YAML: each push with what it changed. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import yaml

from conformance.reporting.pictures.folder import Event, Resource
from conformance.reporting.pictures.timeline import KINDS

DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
"""libyaml's is ten times as fast, where it is there."""

LONGEST = 30_000
"""Letters of one push: a list of thousands of endpoints is cut, and says so."""

MOST = 60
"""Pushes of a scenario, the last ones."""


class Pushed(msgspec.Struct, frozen=True, kw_only=True):
    """A response of the control plane."""

    at: float
    kind: str
    version: str
    names: tuple[str, ...]
    answer: str
    """``ack``, ``nack``, or nothing if there was none."""
    said: str
    """The words of a NACK."""
    fault: str
    yaml: str
    """Of the resources that are not as they were sent before."""


def pushes(events: Iterable[Event], began: float) -> tuple[Pushed, ...]:
    """What was pushed, oldest first; of more than MOST the last."""
    events = tuple(events)
    answers = {
        (one.stream, one.kind, one.answered_version): one
        for one in reversed(events)
        if one.event == "Request" and one.answer
    }
    sent: dict[tuple[str, str], Resource] = {}
    made = []
    for event in events:
        if event.event != "Response":
            continue
        new = [one for one in event.resources if sent.get((one.type_url, one.name)) != one]
        sent.update({(one.type_url, one.name): one for one in event.resources})
        answer = answers.get((event.stream, event.kind, event.version))
        made.append(
            Pushed(
                at=event.at - began,
                kind=KINDS.get(event.kind or "", event.type_url or "unknown type"),
                version=event.version,
                names=tuple(one.name for one in event.resources),
                answer=(answer.answer or "") if answer else "",
                said=answer.error_detail if answer else "",
                fault=event.fault,
                yaml=as_yaml(new),
            )
        )
    return tuple(made[-MOST:])


def as_yaml(resources: Iterable[Resource]) -> str:
    """Resources as a person would write them."""
    plain = [
        one.message or {"name": one.name, "type_url": one.type_url, "base64": one.base64}
        for one in resources
    ]
    if not plain:
        return ""
    try:
        text = yaml.dump_all(plain, Dumper=DUMPER, sort_keys=False, allow_unicode=True, width=100)
    except (RecursionError, yaml.YAMLError) as error:
        return f"# cannot be written as YAML: {type(error).__name__}"
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}\n# and {len(text) - LONGEST} more letters: see transcript.jsonl\n"
    return str(text)
