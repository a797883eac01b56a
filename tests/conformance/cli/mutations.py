"""Files with something wrong in them, the same ones each time: by a seed."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from typing import Any

ALL = 300
"""Mutations of a kind of file, if XDSPEC_TEST_MUTATIONS=all asks for them; else a tenth of them."""

SEEDS = range(ALL if os.environ.get("XDSPEC_TEST_MUTATIONS") == "all" else ALL // 10)

ODD: tuple[Any, ...] = (
    *(None, True, 0, -1, 3, 1 << 70, 10**400, 1e308, -1e-320, float("nan"), float("inf")),
    *("", "A", "\x1b[31m", "\x00", "\ud800", "\u202e", "A42", "A42-RING-13", "A42-RING-99"),
    *("x" * 100_000, "../../etc", "{", "}", "{x!r:>9}", "1.0.0", "9" * 20, "9" * 5000),
    *([], {}, [None], {"": ""}, {"A=B": "c"}, [[[[]]]]),
)
PIECES = (
    *(b"\xff", b"\xc3", b"\x00", b"\x1b[2J", b"\r", b"\n", b'"', b"'", b"[", b"]", b"{", b"}"),
    *(b"=", b",", b"{{", b"\\", b"\\u0000", b"\\ud800", b"1e-320", b"nan", b"9" * 5000, b"#"),
    *(b"[" * 100_000, b'{"a":' * 100_000, b"a = [" + b"[" * 5000, b"\xef\xbb\xbf", b"A=B"),
)


def mutated(content: bytes, chance: random.Random) -> bytes:
    """The same with something wrong in its bytes."""
    begin = chance.randrange(len(content) + 1)
    end = min(len(content), begin + chance.choice([0, 1, 1, 4, 40, 400]))
    match chance.randrange(4):
        case 0:
            return content[:begin]
        case 1:
            return content[:begin] + content[end:]
        case 2:
            place = chance.randrange(len(content) + 1)
            return content[:place] + content[begin:end] + content[place:]
        case _:
            return content[:begin] + chance.choice(PIECES) + content[end:]


def mutated_json(content: bytes, chance: random.Random) -> bytes:
    """The same with something wrong in its bytes, or with another value somewhere."""
    if chance.randrange(4) == 0:
        return mutated(content, chance)
    made = json.loads(content)
    places = list(_places(made))
    for _ in range(chance.choice([1, 1, 1, 3])):
        inside, key = chance.choice(places)
        now = _at(inside, key)
        match chance.randrange(6):
            case 0:
                inside.clear()
            case 1 if isinstance(inside, dict):
                inside.pop(key, None)
            case 2:
                _put(inside, key, chance.choice(ODD))
            case _:  # what is of the same kind gets past the first look
                alike = [_at(*place) for place in places if type(_at(*place)) is type(now)]
                alike += [value for value in ODD if type(value) is type(now)]
                _put(inside, key, json.loads(json.dumps(chance.choice(alike))))
    return json.dumps(made).encode()


def _at(inside: Any, key: Any) -> Any:
    """What is there, if it is there still."""
    is_there = key in inside if isinstance(inside, dict) else key < len(inside)
    return inside[key] if is_there else None


def _put(inside: Any, key: Any, value: Any) -> None:
    if isinstance(inside, dict) or key < len(inside):
        inside[key] = value


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every value within, as what it is in and its key there."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield value, key
            yield from _places(inner)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield value, number
            yield from _places(inner)
