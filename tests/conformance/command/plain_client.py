"""A client as a person would start it by hand: plain grpcio, one channel, one process.

It reads names of files from standard input, makes the calls that are in each, by the metadata that
is asked for but without the suite's own ids, and says how many have ended with each status.
"""

from __future__ import annotations

import base64
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import grpc


def value(key: str, text: str) -> str | bytes:
    return base64.b64decode(text) if key.endswith("-bin") else text


def main() -> None:
    with grpc.insecure_channel("xds:///xdspec.test") as channel:
        for line in sys.stdin:
            ended = Counter[str]()
            for call in json.loads(Path(line.strip()).read_text()):
                metadata = [
                    (key, value(key, text))
                    for key, text in call["metadata"]
                    if key != "xdspec-call"
                ]
                method: Any = channel.unary_unary(call["path"])
                try:
                    method(b"", metadata=metadata, timeout=call["deadline"])
                    ended["OK"] += 1
                except grpc.RpcError as error:
                    ended[error.code().name] += 1
            sys.stdout.write(f"{dict(ended)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
