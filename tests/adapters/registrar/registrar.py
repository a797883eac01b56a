"""The real Python adapter in version 2 of the contract, which pretends to register policies."""

from __future__ import annotations

import asyncio
import itertools
import json
import runpy
from importlib.util import find_spec
from pathlib import Path
from typing import Any

PACKAGE = find_spec("client_under_test")
assert PACKAGE is not None
assert PACKAGE.origin is not None
REAL = runpy.run_path(str(Path(PACKAGE.origin).parent / "adapters" / "python" / "adapter.py"))
Adapter = REAL["Adapter"]

really = {name: getattr(Adapter, name) for name in ("answer", "open_channel", "start_calls", "say")}
policies: dict[str, int] = {}
instances = itertools.count()
to_update: dict[int, dict[str, Any]] = {}  # channels whose policy has not been made yet


def say(adapter: Any, kind: str, **fields: Any) -> None:
    if kind == "hello":
        able = [*fields["capabilities"], "custom_policy"]
        fields |= {"contract": 2, "version": "0", "capabilities": able}
    really["say"](adapter, kind, **fields)


async def answer(adapter: Any, line: bytes) -> None:
    if b'"register_policy"' not in line:
        await really["answer"](adapter, line)
        return
    request = json.loads(line)
    policies[request["name"]] = request["id"]
    adapter.say("done", id=request["id"])


async def open_channel(adapter: Any, request: dict[str, Any]) -> None:
    if request.get("service_config") is not None:
        to_update[request["id"]] = request
    await really["open_channel"](adapter, request)


async def start_calls(adapter: Any, request: dict[str, Any]) -> None:
    opened = to_update.pop(request["channel"], None)
    if opened is not None:
        tell_update(adapter, opened)
    await really["start_calls"](adapter, request)


def tell_update(adapter: Any, opened: dict[str, Any]) -> None:
    """What a policy is given once its channel is asked to connect."""
    ((name, config),) = json.loads(opened["service_config"])["loadBalancingConfig"][0].items()
    address = opened["target"].removeprefix("dns:///")
    adapter.say(
        "policy_update",
        policy=policies[name],
        instance=next(instances),
        config=json.dumps(config),
        endpoints=[[address]],
        at=adapter.now(),
    )


if __name__ == "__main__":
    Adapter.answer, Adapter.say = answer, say
    Adapter.open_channel, Adapter.start_calls = open_channel, start_calls
    asyncio.run(REAL["main"]())
