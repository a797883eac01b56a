"""Attack each port with HTTP/2 that a stranger may send, and look whether it serves afterwards.

An attack is one connection: frames that are right, wrong or cut short, with header blocks and gRPC
messages that are mutated. After each of them a good request on a new connection has to be answered.
`--seed` and the number of an attack make it again.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Final

import hpack
from hpack.huffman import HuffmanEncoder
from hpack.huffman_constants import REQUEST_CODES, REQUEST_CODES_LENGTH

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS: Final = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
ANSWERED: Final = 20.0
"""Seconds within which a good request is answered, on a busy machine."""

LISTENS: Final = 60.0
LINGER: Final = 0.01
"""Seconds for which an attack waits for what the server says to it."""

ADS: Final = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"
LRS: Final = "/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats"
CONTROL: Final = "/fake_control_plane.Control/"
TEST: Final = "/grpc.testing.TestService/"

DOCTOR: Final = """
import asyncio, json, sys
from client_under_test.doctor.backend import Backend
async def main():
    async with Backend.running() as backend:
        print(json.dumps({"id": "doctor", "address": backend.address}), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
asyncio.run(main())
"""

# For each port: the program that listens there, what it calls it, and paths that it serves.
PORTS: Final[dict[str, tuple[tuple[str, ...], str, tuple[str, ...]]]] = {
    "xds": (("-m", "fake_control_plane", "--resources", "{folder}"), "xds", (ADS, LRS)),
    "control": (
        ("-m", "fake_control_plane", "--resources", "{folder}"),
        "control",
        tuple(CONTROL + m for m in ("Set", "Delete", "Hold", "Inject", "Load", "Transcript")),
    ),
    "backend": (
        ("-m", "test_servers"),
        "endpoint-0",
        tuple(TEST + m for m in ("EmptyCall", "UnaryCall", "FullDuplexCall")),
    ),
    "doctor": (("-c", DOCTOR), "doctor", (TEST + "UnaryCall", TEST + "FullDuplexCall")),
}


class Attack:
    """The bytes of one connection."""

    def __init__(self, rng: random.Random, paths: tuple[str, ...]) -> None:
        self._rng = rng
        self._paths = paths
        self._stream = 1
        self._encoder = hpack.Encoder()

    def wire(self) -> bytes:
        """All of them."""
        rng = self._rng
        begin = PREFACE + (SETTINGS if rng.random() < 0.9 else b"")
        if rng.random() < 0.03:
            begin = rng.choice([b"", PREFACE[: rng.randrange(24)], b"GET / HTTP/1.1\r\n\r\n"])
        frames = b"".join(self._some() for _ in range(rng.randint(1, 12)))
        wire = bytearray(begin + frames)
        for _ in range(rng.choice([0, 0, 0, 1, 3])):
            if len(wire) > len(PREFACE):
                wire[rng.randrange(len(PREFACE), len(wire))] = rng.randrange(256)
        return bytes(wire[: rng.randint(1, len(wire))] if rng.random() < 0.1 else wire)

    def _some(self) -> bytes:
        some: list[Callable[[], bytes]] = [self._request] * 6 + [self._headers, self._other] * 2
        return self._rng.choice(some)()

    def _request(self) -> bytes:
        """Return a request: headers, perhaps in pieces, then messages, and perhaps trailers."""
        rng, stream = self._rng, self._stream
        self._stream += 2
        wire = self._blocks(stream, self._block(), end=rng.random() < 0.1)
        for _ in range(rng.choice([0, 1, 1, 1, 5])):
            body = self._message()
            length = len(body) if rng.random() < 0.9 else rng.randrange(1 << 32)
            data = bytes([rng.random() < 0.05]) + length.to_bytes(4) + body
            wire += frame(0, rng.choice([0, 0, 1, 8]), stream, data)
        if rng.random() < 0.2:
            trailers = self._encoder.encode([(b"a", self._text()), (b":path", self._text())])
            wire += self._blocks(stream, trailers, end=True)
        if rng.random() < 0.2:
            wire += frame(3, 0, stream, b"\x00\x00\x00\x08")
        return wire

    def _headers(self) -> bytes:
        block = self._rng.choice([self._raw_block, self._literal])()
        return self._blocks(self._rng.choice([0, 1, 2, self._stream]), block, end=True)

    def _other(self) -> bytes:
        rng = self._rng
        body = rng.randbytes(rng.choice([0, 1, 4, 5, 6, 8, 12, 100]))
        stream = rng.choice([0, 0, 1, 2, 7, rng.randrange(1 << 32)])
        return frame(rng.randrange(14), rng.choice([0, 1, 4, 8, rng.randrange(256)]), stream, body)

    def _blocks(self, stream: int, block: bytes, *, end: bool) -> bytes:
        """Return a header block as one frame, or with continuations."""
        rng = self._rng
        flags = int(end)
        if rng.random() < 0.1:
            block, flags = rng.randbytes(5) + block, flags | 0x20
        if rng.random() < 0.1:
            pad = rng.randrange(20)
            block, flags = bytes([pad]) + block + bytes(pad), flags | 0x8
        if rng.random() < 0.8:
            return frame(1, flags | 4, stream, block)
        cut = rng.randrange(len(block) + 1)
        return frame(1, flags, stream, block[:cut]) + frame(9, 4, stream, block[cut:])

    def _block(self) -> bytes:
        rng = self._rng
        path = rng.choice([*self._paths, "/a"]).encode()
        if rng.random() < 0.5:
            path = rng.choice([self._text(), path + self._text(), b"/a/\xff", b"", b"*"])
        headers = [
            (b":method", b"POST" if rng.random() < 0.9 else self._text()),
            (b":scheme", b"http" if rng.random() < 0.9 else self._text()),
            (b":path", path),
            (b":authority", b"here" if rng.random() < 0.7 else self._text()),
            (b"te", b"trailers"),
            (b"content-type", b"application/grpc" if rng.random() < 0.9 else self._text()),
        ]
        names = [
            b"grpc-timeout",
            b"grpc-encoding",
            b"user-agent",
            b"host",
            b"a",
            b"b-bin",
            b":path",
        ]
        names += [b"authorization", b"rpc-behavior", b"doctor", self._text()]
        for _ in range(rng.choice([0, 0, 1, 3])):
            headers += [(rng.choice(names), self._text())]
        if rng.random() < 0.2:
            rng.shuffle(headers)
        if rng.random() < 0.1:
            headers.pop(rng.randrange(len(headers)))
        if rng.random() < 0.3:
            return b"".join(self._literal(name, value) for name, value in headers)
        return self._encoder.encode(headers, huffman=rng.random() < 0.8)

    def _literal(self, name: bytes | None = None, value: bytes | None = None) -> bytes:
        rng = self._rng
        index = 0 if name is not None else rng.choice([0, 4, 5, 8, 61, 62, 63, 70])
        pattern = rng.choice([0x40, 0x00, 0x10])
        begin = bytearray(hpack.hpack.encode_integer(index, 6 if pattern == 0x40 else 4))
        begin[0] |= pattern
        spelled = b"" if index else self._string(self._text() if name is None else name)
        return bytes(begin) + spelled + self._string(self._text() if value is None else value)

    def _string(self, text: bytes) -> bytes:
        coded = self._rng.random() < 0.5
        huffman = HuffmanEncoder(REQUEST_CODES, REQUEST_CODES_LENGTH)
        body = huffman.encode(text) if coded else text
        begin = bytearray(hpack.hpack.encode_integer(len(body), 7))
        begin[0] |= 0x80 if coded else 0
        return bytes(begin) + body

    def _raw_block(self) -> bytes:
        return self._rng.randbytes(self._rng.choice([1, 5, 20, 200]))

    def _text(self) -> bytes:
        rng = self._rng
        kinds = (b"\xff", "é".encode(), b"\x00", b"\r\n", b"a" * 20_000, b"grpc-status", b"1H")
        texts = (*kinds, b"sleep-99999999999", b"error-code-5", b"keep-open", b"meet-9", b"sleep-x")
        return rng.choice([rng.randbytes(rng.randrange(30)), rng.choice(texts)])

    def _message(self) -> bytes:
        """Protobuf or not: strings of fields 1 to 8 within one another, and random bytes."""
        rng = self._rng
        body = rng.randbytes(rng.randrange(30))
        for _ in range(rng.randrange(5)):
            inner = rng.choice([body, self._text()[:100]])
            if len(inner) < 128:
                body = bytes([rng.randint(1, 8) << 3 | 2, len(inner)]) + inner
        return rng.choice([body, b""])


def frame(kind: int, flags: int, stream: int, body: bytes) -> bytes:
    """One frame of HTTP/2."""
    return len(body).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + body


def good_request(path: str) -> bytes:
    """Return a request that every server answers."""
    headers = {":method": "POST", ":scheme": "http", ":path": path, ":authority": "here"}
    headers |= {"te": "trailers", "content-type": "application/grpc"}
    block = hpack.Encoder().encode(list(headers.items()))
    message = frame(0, 1, 1, bytes(5))
    return PREFACE + SETTINGS + frame(1, 4, 1, block) + message


async def is_serving(host: str, port: int) -> bool:
    """Return whether the server answers a request on a new connection with "no such method"."""
    try:
        async with asyncio.timeout(ANSWERED):
            reader, writer = await asyncio.open_connection(host, port)
            try:
                writer.write(good_request("/no.such.Service/Method"))
                said = b""
                while b"grpc-status" not in said:
                    more = await reader.read(65536)
                    if not more:
                        return False
                    said += more
                return True
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return False


async def attack(host: str, port: int, wire: bytes, rng: random.Random) -> None:
    """Send the bytes, in one piece or two, and go."""
    with contextlib.suppress(OSError):
        reader, writer = await asyncio.open_connection(host, port)
        cut = rng.randrange(len(wire) + 1) if rng.random() < 0.2 else 0
        writer.write(wire[:cut])
        await asyncio.sleep(0)
        writer.write(wire[cut:])
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER if rng.random() < 0.3 else 0):
                while await reader.read(65536):
                    pass
        if rng.random() < 0.5:
            writer.transport.abort()
        writer.close()


@contextlib.asynccontextmanager
async def listening(
    port: str, folder: str
) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """Start the program behind a port; yield it with its address."""
    arguments, name, _ = PORTS[port]
    with (Path(folder) / f"{port}.stderr").open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *(
                argument.format(folder=folder) if "{folder}" in argument else argument
                for argument in arguments
            ),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
        )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(LISTENS):
            while True:
                line = json.loads(await process.stdout.readline())
                if line["id"] == name:
                    break
        yield process, line["address"]
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def memory(process: asyncio.subprocess.Process) -> int:
    """Megabytes that a process has in memory."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) for line in status.splitlines() if "VmRSS" in line) // 1024


async def fuzz(port: str, seed: int, seconds: float, folder: str) -> bool:
    """Attack a port for some time; whether it served to the end."""
    paths = PORTS[port][2]
    async with listening(port, folder) as (process, address):
        host, _, number = address.rpartition(":")
        before, began, count = memory(process), time.monotonic(), 0
        while time.monotonic() - began < seconds:
            rng = random.Random(f"{seed} {port} {count}")
            await attack(host, int(number), Attack(rng, paths).wire(), rng)
            count += 1
            if not await is_serving(host, int(number)):
                print(f"{port}: does not serve after attack {count - 1} of seed {seed}")
                return False
        print(f"{port}: served after each of {count:,} attacks; {before} → {memory(process)} MB")
        return True


async def fuzz_all(ports: list[str], seed: int, seconds: float) -> int:
    """Attack ports one after another; the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "cluster.json").write_text(
            '{"@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster", "name": "c"}',
            "utf-8",
        )
        print(f"seed {seed}")
        bad = [port for port in ports if not await fuzz(port, seed, seconds, folder)]
        for port in bad:
            print((Path(folder) / f"{port}.stderr").read_text("utf-8", "replace")[-2000:])
    return 1 if bad else 0


def main() -> int:
    """Read the options and attack."""
    parser = argparse.ArgumentParser(prog="ci/fuzz", description=__doc__)
    parser.add_argument("ports", nargs="*", metavar="PORT", help=", ".join(PORTS))
    parser.add_argument("--seconds", type=float, default=60.0, help="for each port")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    options = parser.parse_args()
    if unknown := set(options.ports) - PORTS.keys():
        parser.error(f"unknown port {', '.join(sorted(unknown))}: there are {', '.join(PORTS)}")
    return asyncio.run(fuzz_all(options.ports or list(PORTS), options.seed, options.seconds))


if __name__ == "__main__":
    sys.exit(main())
