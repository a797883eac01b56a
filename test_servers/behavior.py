"""What a client asks a backend to do with its RPC, in metadata named "rpc-behavior".

The notation is that of gRPC's xDS interop servers, so that stock interop clients are understood:
values are lists separated by commas, and each item is done in turn.
"""

import re
from collections.abc import Iterable

import grpc
import msgspec

__all__ = ["KEY", "Behavior", "Fail", "KeepOpen", "NotABehavior", "Sleep", "parse"]

KEY = "rpc-behavior"


class Sleep(msgspec.Struct, frozen=True):
    """`sleep-N`: wait N seconds (N may be a fraction), then continue."""

    seconds: float


class KeepOpen(msgspec.Struct, frozen=True):
    """`keep-open`: never answer. Only the client or the fleet's owner ends the RPC."""


class Fail(msgspec.Struct, frozen=True):
    """`error-code-N`: end the RPC with the status of that number."""

    code: grpc.StatusCode


Behavior = Sleep | KeepOpen | Fail


class NotABehavior(ValueError):
    """An item that is none of the three, or one with an impossible number."""


# No more digits than Python converts to a number.
_SLEEP = re.compile(r"sleep-([0-9]{1,9}(?:\.[0-9]{1,9})?)")
_ERROR = re.compile(r"error-code-([0-9]{1,2})")
_CODES = {code.value[0]: code for code in grpc.StatusCode if code is not grpc.StatusCode.OK}


def parse(values: Iterable[str]) -> tuple[Behavior, ...]:
    """Read the values of the metadata key, several pairs as one list.

    Raises:
        NotABehavior: An item cannot be understood.
    """
    return tuple(_item(item.strip()) for value in values for item in value.split(","))


def _item(item: str) -> Behavior:
    if item == "keep-open":
        return KeepOpen()
    if sleep := _SLEEP.fullmatch(item):
        return Sleep(float(sleep[1]))
    if (error := _ERROR.fullmatch(item)) and (code := _CODES.get(int(error[1]))):
        return Fail(code)
    raise NotABehavior(
        f"{item!r} is no behavior: use sleep-N, keep-open or error-code-N with N from 1 to 16"
    )
