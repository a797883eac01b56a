from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args

import jsonschema
import msgspec
import pytest

import client_under_test
from client_under_test.contract import messages as contract
from client_under_test.contract import schema

FILE = Path(client_under_test.__file__).parent / "contract" / "contract.schema.json"

Message = dict[str, Any]

CALL: Message = {
    "id": "a",
    "path": "/p/m",
    "metadata": [["k", "v"], ["k", "w"], ["x-bin", "AAE="]],
    "deadline": 5,
    "wait_for_ready": False,
    "kept_open": True,
}
HELLO: Message = {
    "id": 0,
    "contract": 1,
    "name": "n",
    "version": "1",
    "capabilities": ["watch"],
    "at": 0,
}
FINISHED: Message = {
    "call": "a",
    "status": "OK",
    "details": "",
    "hostname": None,
    "started_at": 1,
    "ended_at": 2,
}

UPDATE: Message = {
    "policy": 7,
    "instance": 0,
    "config": "{}",
    "endpoints": [["127.0.0.1:1", "127.0.0.1:2"], ["127.0.0.1:3"]],
    "at": 4,
}

GOOD: dict[str, list[Message]] = {
    "Request": [
        {"type": "hello", "id": 0, "contract": 1},
        {"type": "register_policy", "id": 7, "name": "xdspec.TestPolicy"},
        {"type": "open_channel", "id": 1, "target": "xds:///a", "options": {"o": 1, "p": "q"}},
        {"type": "open_channel", "id": 1, "target": "t", "options": {}, "service_config": "{}"},
        {
            "type": "start_calls",
            "id": 2,
            "channel": 1,
            "calls": [CALL, CALL | {"deadline": None}],
            "concurrency": 3,
            "pace": None,
        },
        {"type": "cancel", "id": 3, "calls": ["a"]},
        {"type": "watch", "id": 4, "channel": 1},
        {"type": "connect", "id": 5, "channel": 1},
        {"type": "close", "id": 6, "channel": 1},
    ],
    "Answer": [
        {"type": "hello", **HELLO},
        {"type": "hello", **HELLO, "contract": 2, "capabilities": ["custom_policy"]},
        {"type": "policy_update", **UPDATE},
        {"type": "policy_update", **UPDATE, "endpoints": []},
        {"type": "opened", "call": "a", "hostname": "127.0.0.1:1", "at": 3},
        {"type": "finished", **FINISHED},
        {"type": "state", "channel": 1, "state": "IDLE", "at": 3},
        {"type": "done", "id": 1},
        {"type": "error", "id": None, "message": "m"},
    ],
}

BAD: dict[str, list[Message]] = {
    "Request": [
        {"type": "sing", "id": 0},
        {"id": 0, "contract": 1},
        {"type": "open_channel", "id": 1, "target": "t", "options": {"o": [1]}},
        {
            "type": "start_calls",
            "id": 2,
            "channel": 1,
            "calls": [CALL],
            "concurrency": 0,
            "pace": None,
        },
        {"type": "cancel", "id": -3, "calls": []},
        {"type": "open_channel", "id": 1, "target": "t", "options": {}, "service_config": {}},
        {"type": "register_policy", "id": 7},
    ],
    "Answer": [
        {"type": "hello", **HELLO, "capabilities": ["flying"]},
        {"type": "hello", **HELLO, "more": 1},
        {"type": "finished", **FINISHED, "status": "FINE"},
        {"type": "finished", **FINISHED, "started_at": -1},
        {"type": "finished", **FINISHED, "ended_at": 1.5},
        {"type": "state", "channel": 1, "state": "idle", "at": 3},
        {"type": "done", "id": None},
        {"type": "policy_update", **UPDATE, "config": {}},
        {"type": "policy_update", **UPDATE, "endpoints": ["127.0.0.1:1"]},
    ],
}


def rows(table: dict[str, list[Message]]) -> list[tuple[str, Message]]:
    return [(union, message) for union, messages in table.items() for message in messages]


def fits_schema(union: str, message: Message) -> bool:
    whole = schema.schema()
    part = {"$schema": whole["$schema"], "$defs": whole["$defs"], "$ref": f"#/$defs/{union}"}
    return bool(jsonschema.Draft202012Validator(part).is_valid(message))


def test_the_schema_is_made_from_the_types() -> None:
    assert FILE.read_text() == schema.text()


def test_the_examples_have_every_message() -> None:
    tags = {
        "Request": {kind.__struct_config__.tag for kind in get_args(contract.Request)},
        "Answer": {kind.__struct_config__.tag for kind in get_args(contract.Answer)},
    }
    assert tags == {union: {m["type"] for m in messages} for union, messages in GOOD.items()}


@pytest.mark.parametrize(("union", "message"), rows(GOOD))
def test_types_and_schema_take_what_is_right(union: str, message: Message) -> None:
    kind = getattr(contract, union)
    decoded = msgspec.json.decode(json.dumps(message), type=kind)
    assert json.loads(msgspec.json.encode(decoded)) == message
    assert fits_schema(union, message)


@pytest.mark.parametrize(("union", "message"), rows(BAD))
def test_types_and_schema_refuse_what_is_wrong(union: str, message: Message) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(json.dumps(message), type=getattr(contract, union))
    assert not fits_schema(union, message)


def test_the_session_of_the_page_obeys_the_schema() -> None:
    page = FILE.with_name("contract.md").read_text()
    lines = re.findall(r"^([<>]) (\{.*\})$", page, re.MULTILINE)
    sides = {">": contract.Request, "<": contract.Answer}
    decoded = [msgspec.json.decode(text, type=sides[side]) for side, text in lines]
    assert {type(message).__struct_config__.tag for message in decoded} >= {
        *("hello", "open_channel", "start_calls", "cancel", "watch", "close"),
        *("done", "error", "opened", "finished", "state"),
    }
