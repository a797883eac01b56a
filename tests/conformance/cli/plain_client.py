"""A client as a person would start it by hand: plain grpcio, one channel, one process.

It reads names of files from standard input, makes the calls that are in each, by the metadata that
is asked for but without the suite's own ids, and says how many have ended with each status, or are
open. `cancel KEY VALUE` ends those open ones that carry this.
"""

from __future__ import annotations

import base64
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from typing import Any

import grpc


def value(key: str, text: str) -> str | bytes:
    return base64.b64decode(text) if key.endswith("-bin") else text


Metadata = list[tuple[str, str | bytes]]


class Client:
    """One channel, and the streams that are open on it."""

    def __init__(self, channel: grpc.Channel) -> None:
        self.channel = channel
        self.open: list[tuple[Metadata, Any]] = []

    def make(self, call: dict[str, Any]) -> str:
        """How a call ended, or that it is open."""
        metadata = [
            (key, value(key, text)) for key, text in call["metadata"] if key != "xdspec-call"
        ]
        given = {"metadata": metadata, "timeout": call["deadline"]}
        try:
            if call["kept_open"]:
                return self._begin(call["path"], metadata, given)
            method: Any = self.channel.unary_unary(call["path"])
            method(b"", **given)
        except grpc.RpcError as error:
            return str(error.code().name)
        return "OK"

    def _begin(self, path: str, metadata: Metadata, given: dict[str, Any]) -> str:
        method: Any = self.channel.stream_stream(path)
        stream = method(iter(Queue[bytes]().get, None), **given)
        stream.initial_metadata()
        if not stream.is_active():
            return str(stream.code().name)
        self.open.append((metadata, stream))
        return "OPEN"

    def cancel(self, key: str, text: str) -> Iterator[str]:
        """How those ended that were cancelled."""
        for metadata, stream in self.open:
            if (key, text) in metadata and stream.cancel():
                yield str(stream.code().name)


def main() -> None:
    with grpc.insecure_channel("xds:///xdspec.test") as channel:
        client = Client(channel)
        for line in sys.stdin:
            word, *given = line.split()
            if word == "cancel":
                ended = Counter(client.cancel(*given))
            else:
                ended = Counter(map(client.make, json.loads(Path(word).read_text())))
            sys.stdout.write(f"{dict(ended)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
