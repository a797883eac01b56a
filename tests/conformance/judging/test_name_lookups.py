"""What a client asks its name server: the addresses of just these names, and nothing else."""

from __future__ import annotations

import pytest

from conformance.judging.expectations import NeverResolves, Resolves, WrongKind
from conformance.judging.observations import Calls, Lookup, Lookups


def asked(*several: str) -> Lookups:
    """Each such as "A one"."""
    split = (text.split() for text in several)
    return Lookups(tuple(Lookup(name, kind, 0.0) for kind, name in split))


@pytest.mark.parametrize(
    ("seen", "holds"),
    [
        (asked("A one", "AAAA one"), True),
        (asked("AAAA one", "TXT _grpc_config.one"), True),
        (asked("A one", "A other"), False),
        (asked("A other"), False),
        (asked("TXT one"), False),
        (asked(), False),
    ],
)
def test_looks_up(seen: Lookups, *, holds: bool) -> None:
    assert Resolves(("one",)).finding(seen).holds == holds


@pytest.mark.parametrize(
    ("seen", "holds"),
    [
        (asked("A one", "SRV _grpclb._tcp.one"), True),
        (asked("A one", "TXT _grpc_config.one"), False),
        (asked("SRV one"), False),
        (asked(), False),
    ],
)
def test_never_looks_up(seen: Lookups, *, holds: bool) -> None:
    """Who asks nothing at all was not looked at."""
    assert NeverResolves("TXT").finding(seen).holds == holds


def test_what_is_told() -> None:
    found = Resolves(("one",)).finding(asked("A one", "A one", "AAAA two"))
    assert found.saw == "asked for A of one, AAAA of two"


@pytest.mark.parametrize("expected", [Resolves(("one",)), NeverResolves("TXT")])
def test_what_is_no_look_up(expected: Resolves | NeverResolves) -> None:
    with pytest.raises(WrongKind):
        expected.finding(Calls(()))
