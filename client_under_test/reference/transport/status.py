"""A call's status, also where its server did not send one."""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote_to_bytes

from client_under_test.reference.values import Status

__all__ = ["CODES", "OK", "Status", "lost", "of_reset", "of_trailers"]

CODES: Final = (
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
)
"""The names of gRPC's status codes; a code's number is its place."""

OK: Final = Status("OK", "")

_OF_HTTP_STATUS: Final = {
    b"400": "INTERNAL",
    b"401": "UNAUTHENTICATED",
    b"403": "PERMISSION_DENIED",
    b"404": "UNIMPLEMENTED",
    b"429": "UNAVAILABLE",
    b"502": "UNAVAILABLE",
    b"503": "UNAVAILABLE",
    b"504": "UNAVAILABLE",
}

_OF_RESET: Final = {
    0x7: "UNAVAILABLE",  # REFUSED_STREAM
    0x8: "CANCELLED",  # CANCEL
    0xB: "RESOURCE_EXHAUSTED",  # ENHANCE_YOUR_CALM
    0xC: "PERMISSION_DENIED",  # INADEQUATE_SECURITY
}


def of_trailers(trailers: dict[bytes, bytes]) -> Status:
    """Return the status in a call's trailers, by the rules of gRPC over HTTP/2."""
    number = trailers.get(b"grpc-status")
    if number is None:
        http = trailers.get(b":status", b"200")
        words = f"the response has no grpc-status, HTTP status {http.decode('ascii', 'replace')}"
        return Status(_OF_HTTP_STATUS.get(http, "UNKNOWN"), words)
    known = number.isdigit() and int(number) < len(CODES)
    details = unquote_to_bytes(trailers.get(b"grpc-message", b"")).decode("utf-8", "replace")
    return Status(CODES[int(number)] if known else "UNKNOWN", details)


def of_reset(error_code: int) -> Status:
    """Return the status of a call whose stream the server reset without trailers."""
    return Status(_OF_RESET.get(error_code, "INTERNAL"), f"the server reset it: {error_code}")


def lost() -> Status:
    """Return the status of a call whose connection was lost."""
    return Status.unavailable("the connection was lost")
