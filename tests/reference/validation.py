"""Read resources as the reference client does, with one change each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.protobuf.any_pb2 import Any as Packed

from client_under_test.reference.xds.resources.kinds import Kind
from client_under_test.reference.xds.resources.reading import Bad, Good, read_resources
from client_under_test.reference.xds.rules import XdsRules
from fake_control_plane import resources as made

LARGEST = 8 * 1024 * 1024
Change = Callable[[Any], object]


RULES = XdsRules(certificate_providers=frozenset({"known"}))


def read(kind: Kind, message: Any, rules: XdsRules = RULES) -> Good | Bad:
    packed = Packed()
    packed.Pack(message)
    (resource,) = read_resources(kind, [packed], rules)
    return resource


def value(kind: Kind, message: Any) -> Any:
    resource = read(kind, message)
    assert isinstance(resource, Good), resource.words
    return resource.value


def refused(kind: Kind, message: Any, name: str, *words: str) -> None:
    resource = read(kind, message)
    assert isinstance(resource, Bad)
    assert resource.name == name
    for word in (name, *words):
        assert word in resource.words


def changed(message: Any, change: Change) -> Any:
    change(message)
    return message


def set_value(wrapper: Any, number: int) -> None:
    wrapper.value = number


def endpoints(*localities: Any, **of: Any) -> Any:
    return made.endpoints("e", *localities, **of)
