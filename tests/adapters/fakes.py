"""Adapters that obey the contract without any gRPC, up to one misdeed: `fakes.py NAME`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any


def say(kind: str, **fields: Any) -> None:
    sys.stdout.write(json.dumps({"type": kind, **fields}) + "\n")
    sys.stdout.flush()


def say_hello(request: dict[str, Any], contract: int = 1) -> None:
    everything = ["metadata", "wait_for_ready", "kept_open", "cancel", "channels", "watch"]
    about = {"contract": contract, "name": "fake", "version": "0"}
    say("hello", id=request["id"], **about, capabilities=[*everything, "connect"], at=0)


def crash() -> None:
    sys.stderr.write("a last word before the crash\n")
    sys.stderr.flush()
    os.kill(os.getpid(), signal.SIGABRT)


def babble() -> None:
    sys.stdout.write("Connected, all is well!\n")
    sys.stdout.flush()


def flood() -> None:
    while True:
        sys.stdout.write("x" * 65536)


def breed() -> None:
    # The child keeps stdout open: only the end of the whole group ends the conversation.
    child = subprocess.Popen([sys.executable, "-I", "-c", "import signal; signal.pause()"])
    sys.stderr.write(f"child {child.pid}\n")
    sys.exit(3)


ON_FIRST_CALL = {
    "crasher": crash,
    "exiter": lambda: sys.exit(3),
    "slow": lambda: sys.exit(3),
    "hanger": signal.pause,
    "babbler": babble,
    "flooder": flood,
    "breeder": breed,
}


def main(name: str) -> None:
    if name == "stillborn":
        sys.stderr.write("cannot find a library\n")
        sys.exit(1)
    if name == "slow":
        time.sleep(2)
    for line in sys.stdin:
        request = json.loads(line)
        match request["type"]:
            case _ if name == "mute":
                continue
            case "hello":
                say_hello(request, 99 if name == "old-contract" else 1)
            case "start_calls":
                ON_FIRST_CALL[name]()
            case "watch":
                say("state", channel=request["channel"], state="IDLE", at=0)
            case _:
                say("done", id=request["id"])


if __name__ == "__main__":
    main(sys.argv[1])
