from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from client_under_test.contract.messages import Hello
from client_under_test.environments import prepare
from client_under_test.launching.hello_check import contradiction
from client_under_test.manifests.clients import find

MUTE = prepare(find(str(Path(__file__).parents[2] / "adapters" / "mute")))
ABLE = MUTE.client.manifest.capabilities
HELLO = Hello(id=0, contract=1, name="n", version="0", capabilities=ABLE, at=0)


@pytest.mark.parametrize(
    ("stated", "told"),
    [
        ("0", "0"),
        ("1.70.0", "1.70"),
        ("0.1.0-alpha.4", "0.1.0a4"),
        ("1.86.0rc1", "1.86.0-rc1"),
        ("of today", "of today"),
        ("1.69.0", "1.69.0-dev"),  # grpc-go, as it was released
        ("1.69.0", "1.69.0.dev0"),
        ("1.69.0", "1.69.0-SNAPSHOT"),
        ("2.3.0+incompatible", "2.3.0"),
        ("1.69.0-dev", "1.69.0"),
    ],
)
def test_one_version_in_two_spellings(stated: str, told: str) -> None:
    prepared = msgspec.structs.replace(MUTE, version=stated)
    assert contradiction(msgspec.structs.replace(HELLO, version=told), prepared) is None


@pytest.mark.parametrize(
    ("prepared", "told", "words"),
    [
        ("0", "0.1", "hello has version 0.1, and client.toml says 0"),
        ("0", "", "hello has version , and client.toml says 0"),
        ("2", "2-of-mine", "hello has version 2-of-mine, and 2 was prepared"),
        ("1.69.1", "1.69.0-dev", "hello has version 1.69.0-dev, and 1.69.1 was prepared"),
        ("1.69.0", "1.69.0-rc1", "hello has version 1.69.0-rc1, and 1.69.0 was prepared"),
    ],
)
def test_another_version(prepared: str, told: str, words: str) -> None:
    made = msgspec.structs.replace(MUTE, version=prepared)
    assert contradiction(msgspec.structs.replace(HELLO, version=told), made) == (
        f"{words}: let the adapter and its manifest name the same version"
    )


def test_capabilities_are_told_in_any_order_and_all_of_them() -> None:
    backwards = msgspec.structs.replace(HELLO, capabilities=tuple(reversed(ABLE)))
    assert contradiction(backwards, MUTE) is None
    for fewer in ((), ABLE[1:]):
        why = contradiction(msgspec.structs.replace(HELLO, capabilities=fewer), MUTE)
        lost = ", ".join(f"`{able}`" for able in sorted(set(ABLE) - set(fewer)))
        assert why == (
            f"client.toml declares {lost}, and hello does not: make both lists of capabilities "
            "equal"
        )


def test_old_versions_may_lack_a_bootstrap_per_channel() -> None:
    sharer = prepare(find(str(Path(__file__).parents[2] / "adapters" / "sharer")))
    able = sharer.client.manifest.capabilities
    own = "bootstrap_per_channel"
    without = tuple(capability for capability in able if capability != own)
    for capabilities in (able, without):
        told = msgspec.structs.replace(HELLO, contract=2, capabilities=capabilities)
        assert contradiction(told, sharer) is None
    more = msgspec.structs.replace(HELLO, contract=2, capabilities=(*ABLE, own))
    why = contradiction(more, MUTE)
    assert why == (
        f"hello reports `{own}`, and client.toml does not: make both lists of capabilities equal"
    )
