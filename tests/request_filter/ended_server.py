"""A request that ends a hidden server by itself, as whatever the scanner does not know would."""

from __future__ import annotations

import asyncio

import h2.config
import h2.connection

from request_filter import HiddenServer

DEADLINE = 20.0


def request(path: bytes) -> bytes:
    """The bytes of a client that sends one request."""
    config = h2.config.H2Configuration(
        header_encoding=None,
        validate_outbound_headers=False,
        normalize_outbound_headers=False,
    )
    client = h2.connection.H2Connection(config)
    client.initiate_connection()
    headers = {
        b":method": b"POST",
        b":scheme": b"http",
        b":path": path,
        b":authority": b"here",
        b"te": b"trailers",
        b"content-type": b"application/grpc",
    }
    client.send_headers(1, list(headers.items()))
    client.send_data(1, b"\x00" * 5, end_stream=True)
    return client.data_to_send()


async def end_by_itself(server: HiddenServer) -> None:
    """Send what grpcio does not survive past the proxy, and wait until nobody listens any more."""
    _, writer = await asyncio.open_unix_connection(server.path)
    writer.write(request(b"/a/\xff"))
    async with asyncio.timeout(DEADLINE):
        while True:
            try:
                _, another = await asyncio.open_unix_connection(server.path)
            except OSError:
                break
            another.close()
            await asyncio.sleep(0)
    writer.close()
