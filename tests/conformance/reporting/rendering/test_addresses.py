"""Which priorities the addresses of a timeline have."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from conformance.reporting.rendering.addresses import priorities_of
from conformance.reporting.rendering.folder import Event, Resource


def place(port: int, priority: int | None = None) -> dict[str, Any]:
    address = {"endpoint": {"address": {"address": "127.0.0.1", "portValue": port}}}
    ranked = {} if priority is None else {"priority": priority}
    return {"lbEndpoints": [address], **ranked}


def served(*places: dict[str, Any]) -> Event:
    message = json.dumps({"clusterName": "leaf", "endpoints": places}).encode()
    resource = Resource(name="leaf", type_url="eds", message=msgspec.Raw(message))
    return Event(event="Response", at=1.0, kind="endpoints", resources=(resource,))


def test_priorities_are_named_if_there_are_several() -> None:
    assert priorities_of([served(place(1), place(2))]) == {}
    assert priorities_of([served(place(1), place(2, 1))]) == {
        "127.0.0.1:1": "0",
        "127.0.0.1:2": "1",
    }


def test_an_address_that_changes_its_priority_has_both() -> None:
    moved = [served(place(1), place(2, 1)), served(place(2), place(1, 1))]
    assert priorities_of(moved) == {"127.0.0.1:1": "0, 1", "127.0.0.1:2": "0, 1"}


def test_a_resource_of_any_other_form_has_none() -> None:
    assert priorities_of([served({"lbEndpoints": 3, "priority": "high"})]) == {}
