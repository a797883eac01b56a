"""What instances of a registered policy are given: compared as JSON values, by groups."""

from __future__ import annotations

import pytest

from conformance.judging.expectations import ConfigReceived, WrongKind
from conformance.judging.observations import Calls, PolicyUpdate, PolicyUpdates

ONE, TWO, THREE = "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"


def given(*updates: tuple[int, str, tuple[str, ...]]) -> PolicyUpdates:
    """Each by the instance, the config, and endpoints of one address."""
    return PolicyUpdates(
        tuple(
            PolicyUpdate(instance, config, tuple((address,) for address in addresses))
            for instance, config, addresses in updates
        )
    )


@pytest.mark.parametrize(
    ("config", "holds"),
    [
        ('{"a": 1, "b": [null, true]}', True),
        ('{ "b":[null,true],"a":1.0 }', True),
        ('{"a": 1e0, "b": [null, true]}', True),
        ('{"a": 1, "b": [null, 1]}', False),
        ('{"a": true, "b": [null, true]}', False),
        ('{"a": "1", "b": [null, true]}', False),
        ('{"a": 1, "b": [true, null]}', False),
        ('{"a": 1, "b": [null, true], "c": null}', False),
        ('{"a": 1}', False),
        ("no JSON", False),
    ],
)
def test_configs(config: str, *, holds: bool) -> None:
    expected = ConfigReceived('{"a": 1, "b": [null, true]}', ((ONE, TWO),))
    assert expected.finding(given((1, config, (TWO, ONE)))).holds == holds
    assert expected.is_config(config) == holds


@pytest.mark.parametrize(
    ("seen", "holds"),
    [
        (given((1, "{}", (ONE,)), (2, "{}", (TWO, THREE))), True),
        (given((9, "[]", (THREE,)), (2, "{}", (THREE, TWO)), (1, "{}", (ONE,))), True),
        (given((1, "{}", (ONE, TWO, THREE))), False),
        (given((1, "{}", (ONE,)), (1, "{}", (TWO, THREE))), False),
        (given((1, "{}", (ONE,)), (2, "{}", (TWO, THREE)), (2, "[]", (TWO, THREE))), False),
        (given((1, "{}", (ONE,)), (2, "{}", (TWO,)), (3, "{}", (THREE,))), False),
        (given(), False),
    ],
)
def test_groups(seen: PolicyUpdates, *, holds: bool) -> None:
    """What counts is what each instance was given last."""
    assert ConfigReceived("{}", ((ONE,), (TWO, THREE))).finding(seen).holds == holds


def test_words() -> None:
    found = ConfigReceived("{}", ((ONE,),)).finding(given((7, "[]", (ONE, TWO))))
    assert found.wanted == f"an instance with {{}} for {ONE}"
    assert found.saw == f"instance 7 with [] for {ONE}, {TWO}"
    assert ConfigReceived("{}", ()).finding(given()).saw == "no update"


def test_what_is_no_update() -> None:
    with pytest.raises(WrongKind):
        ConfigReceived("{}", ()).finding(Calls(()))
