"""Plain values as YAML: read back, they are the same."""

from __future__ import annotations

import random
from typing import Any

import pytest
import yaml

from conformance.reporting.rendering.yaml_text import as_yaml

WORDS = (
    *("", " ", "a", "no", "NULL", "y", "127.0.0.1", "1.5", "0x10", "12", "1e3", "- a", "a: b", "#"),
    *(
        "@type",
        "'",
        '"',
        "\\",
        "line\nline",
        "\t",
        "\x00\x1b",
        "\u2028",
        "é",
        "{",
        "[a]",
        "&a",
        "*a",
    ),
    *("type.googleapis.com/a.B", "~", "?", "=", "<<", "2021-02-03", "12:30:00", "a b", "a#b", "%"),
)
OTHERS: tuple[Any, ...] = (None, True, False, 0, -7, 1 << 63, 0.5, -1e-9, 1e30, {}, [])


def value(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.randrange(4) if depth < 5 else 0
    if kind == 0:
        return chance.choice(OTHERS)
    if kind == 1:
        return chance.choice(WORDS)
    several = [value(chance, depth + 1) for _ in range(chance.randrange(4))]
    if kind == 2:
        return several
    return {f"{chance.choice(WORDS)}{number}": item for number, item in enumerate(several)}


@pytest.mark.parametrize("seed", range(300))
def test_read_back_it_is_the_same(seed: int) -> None:
    made = value(random.Random(seed))
    text, is_whole = as_yaml(made, 100_000)
    assert is_whole
    assert yaml.safe_load(text) == made, text


@pytest.mark.parametrize("word", WORDS)
def test_words(word: str) -> None:
    assert yaml.safe_load(as_yaml({word: [word]}, 1000)[0]) == {word: [word]}


def test_as_a_person_would_write_it() -> None:
    made = {"name": "c", "endpoints": [{"address": {"port": 1}, "weight": "12"}, [1, [2]]]}
    assert as_yaml(made, 1000)[0].splitlines() == [
        "name: c",
        "endpoints:",
        "- address:",
        "    port: 1",
        '  weight: "12"',
        "- - 1",
        "  - - 2",
    ]


def test_no_more_is_written_than_is_read() -> None:
    text, is_whole = as_yaml({f"key{number}": number for number in range(1000)}, 100)
    assert not is_whole
    assert len(text) <= 101
    assert text.startswith("key0: 0\nkey1: 1\n")
