"""Adapters that obey the contract and make no calls, up to one misdeed: `fakes.py NAME`."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

ZERO = time.monotonic_ns()


def say(kind: str, **fields: Any) -> None:
    sys.stdout.write(json.dumps({"type": kind, **fields}) + "\n")
    sys.stdout.flush()


def now() -> int:
    return (time.monotonic_ns() - ZERO) // 1000


AN_HOUR = 3_600_000_000


def say_hello(request: dict[str, Any], name: str) -> None:
    able = ["metadata", "wait_for_ready", "kept_open", "cancel", "channels", "watch", "connect"]
    able = able[:3] if name == "boaster" else able
    about = {"contract": 99 if name == "old-contract" else 1, "name": "fake"}
    about |= {"version": "9" if name == "impostor" else "0"}
    say("hello", id=request["id"], **about, capabilities=able, at=now())


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


def refuse_the_cluster() -> None:
    """Ask the control plane for the Cluster, refuse it, and leave the calls waiting."""
    # ruff: disable[PLC0415] - the others start without them
    import grpc
    from envoy.config.core.v3.base_pb2 import Node
    from envoy.service.discovery.v3.ads_pb2_grpc import AggregatedDiscoveryServiceStub
    from envoy.service.discovery.v3.discovery_pb2 import DiscoveryRequest
    # ruff: enable[PLC0415]

    bootstrap = json.loads(os.environ["GRPC_XDS_BOOTSTRAP_CONFIG"])
    asked = DiscoveryRequest(
        node=Node(id=bootstrap["node"]["id"]),
        type_url="type.googleapis.com/envoy.config.cluster.v3.Cluster",
        resource_names=["cluster"],
    )
    refused = DiscoveryRequest(type_url=asked.type_url, resource_names=asked.resource_names)
    refused.error_detail.message = "no such policy here"
    requests: queue.SimpleQueue[DiscoveryRequest] = queue.SimpleQueue()
    requests.put(asked)
    channel = grpc.insecure_channel(bootstrap["xds_servers"][0]["server_uri"])
    plane = AggregatedDiscoveryServiceStub(channel)
    for response in plane.StreamAggregatedResources(iter(requests.get, None)):
        refused.response_nonce = response.nonce
        requests.put(refused)


WAITING: list[dict[str, Any]] = []
"""Requests whose calls are under way."""


def refuse(request: dict[str, Any]) -> None:
    """Its library refuses the Cluster; the adapter itself goes on to answer."""
    WAITING.append(request)
    threading.Thread(target=refuse_the_cluster, daemon=True).start()


def end_calls(request: dict[str, Any], status: str, details: str, off: int = 0) -> None:
    """End every call of a request, with no word to the control plane."""
    for call in request["calls"]:
        failed = {"status": status, "details": details, "hostname": None}
        say("finished", call=call["id"], **failed, started_at=now() + off, ended_at=now() + off)


def fail(request: dict[str, Any], status: str, details: str, off: int = 0) -> None:
    end_calls(request, status, details, off)
    say("done", id=request["id"])


def stray(request: dict[str, Any], off: int = 0) -> None:
    fail(request, "UNAVAILABLE", "no resolver of xds", off)


def close(request: dict[str, Any]) -> None:
    while WAITING:
        fail(WAITING.pop(), "CANCELLED", "the channel was closed")
    say("done", id=request["id"])


def breed() -> None:
    # The child keeps stdout open, and is in no group of the client's: only its end ends the
    # conversation.
    child = subprocess.Popen(
        [sys.executable, "-I", "-c", "import signal; signal.pause()"], start_new_session=True
    )
    sys.stderr.write(f"child {child.pid}\n")
    sys.exit(3)


ON_FIRST_CALL: dict[str, Callable[[dict[str, Any]], object]] = {
    "crasher": lambda _: crash(),
    "exiter": lambda _: sys.exit(3),
    "slow": lambda _: sys.exit(3),
    "hanger": lambda _: signal.pause(),
    "babbler": lambda _: babble(),
    "flooder": lambda _: flood(),
    "breeder": lambda _: breed(),
    "refuser": refuse,
    "stray": stray,
    "jumper": lambda request: stray(request, AN_HOUR),
    "undone": lambda request: end_calls(request, "UNAVAILABLE", "no resolver of xds"),
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
            case "hello" if name == "unwilling":
                say("error", id=request["id"], message="a library is missing")
            case "hello":
                say_hello(request, name)
            case "start_calls":
                ON_FIRST_CALL[name](request)
            case "close":
                close(request)
            case "watch":
                say("state", channel=request["channel"], state="IDLE", at=now())
            case _:
                say("done", id=request["id"])


if __name__ == "__main__":
    main(sys.argv[1])
