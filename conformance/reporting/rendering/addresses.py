"""Which clusters and priorities the endpoints' addresses stand in, as far as resources tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from conformance.reporting.rendering.folder import Event, Resource


def clusters_of(events: Iterable[Event]) -> dict[str, list[str]]:
    """By address, the clusters that have had an endpoint there, as far as resources tell."""
    found: dict[str, list[str]] = {}
    for resource in _changed(events):
        for address in _addresses(resource.contents):
            names = found.setdefault(address, [])
            if resource.name not in names:
                names.append(resource.name)
    return found


def priorities_of(events: Iterable[Event]) -> dict[str, str]:
    """By address, the priorities that it has had, as ``1`` or ``0, 2``, if there were several."""
    found: dict[str, dict[int, None]] = {}
    for resource in _changed(events):
        for at, place in _localities(resource.contents):
            for address in _addresses(place):
                found.setdefault(address, {})[at] = None
    if len({at for several in found.values() for at in several}) == 1:
        return {}
    return {address: ", ".join(map(str, sorted(several))) for address, several in found.items()}


def _changed(events: Iterable[Event]) -> Iterator[Resource]:
    """Each resource of endpoints that differs from the one before of its name."""
    last: dict[str, Resource] = {}
    for event in events:
        for resource in event.resources if event.kind == "endpoints" else ():
            if last.get(resource.name) != resource:
                last[resource.name] = resource
                yield resource


def _localities(contents: object) -> Iterator[tuple[int, object]]:
    """Each locality of a resource of endpoints, with its priority."""
    match contents:
        case {"endpoints": list(places)}:
            for place in places:
                match place:
                    case {"priority": int(priority)}:
                        yield priority, place
                    case _:
                        yield 0, place


def _addresses(value: object) -> Iterator[str]:
    """Each socket address in a resource, wherever it stands."""
    match value:
        case {"address": str(host), "portValue": int(port)}:
            yield f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        case dict():
            for each in value.values():
                yield from _addresses(each)
        case list():
            for each in value:
                yield from _addresses(each)
