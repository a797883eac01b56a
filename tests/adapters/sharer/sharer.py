"""The reference client with a bootstrap for each channel, right or wrong: `sharer.py NAME`."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from typing import Any, Final

from client_under_test.reference import adapter
from client_under_test.reference.client import Client
from client_under_test.reference.editions import behavior
from client_under_test.reference.transport.clock import Clock
from client_under_test.reference.xds.bootstrap import TEXT_VARIABLE

NAME: Final = sys.argv[1]
CAPABLE: Final = (*adapter.CAPABILITIES, "bootstrap_per_channel")
THIRD: Final = 3


class Sharer(adapter.Adapter):
    """Has a client, and so a connection to the control plane, for each bootstrap."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._clients: dict[int, Client] = {}
        self._opened = 0
        self._kept: list[object] = []

    def say(self, kind: str, **fields: Any) -> None:
        fields |= {"capabilities": CAPABLE, "version": "0"} if kind == "hello" else {}
        super().say(kind, **fields)

    def _open_channel(self, request: dict[str, Any]) -> None:
        if "bootstrap" in request:
            if NAME != "rooted" or not self._opened:
                os.environ[TEXT_VARIABLE] = request["bootstrap"]  # read by the first call
            loop = asyncio.get_running_loop()
            rng = random.Random()
            self._client = Client(behavior.from_environment(), Clock.from_environment(loop), rng)
            self._clients[request["id"]] = self._client
            self._opened += 1
            if NAME == "third-crasher" and self._opened == THIRD:
                sys.stderr.write("a last word of the third\n")
                sys.stderr.flush()
                os.kill(os.getpid(), signal.SIGABRT)
        # What an earlier channel was given holds for all later ones, or for every one.
        if NAME == "short-ringed" or (NAME == "leaker" and self._opened > 1):
            request["options"] = {**request["options"], "ring_size_cap": 1}
        super()._open_channel(request)

    def _close(self, request: dict[str, Any]) -> None:
        if NAME == "clinger":
            self._kept.append(self._channels[request["channel"]])
            self.say("done", id=request["id"])
            return
        super()._close(request)
        if client := self._clients.pop(request["channel"], None):
            client.close()


if __name__ == "__main__":
    adapter.Adapter = Sharer  # type: ignore[misc, assignment]
    asyncio.run(adapter.main())
