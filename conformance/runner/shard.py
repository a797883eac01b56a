"""A shard of a run, as the user names it."""

from __future__ import annotations

import re
from typing import Final

import msgspec

MOST: Final = 1000
"""Shards: there are no more scenarios than so many, or hardly."""


class Shard(msgspec.Struct, frozen=True):
    """One of so many shares of a run, counted from 1."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


def parsed(text: str) -> Shard | None:
    """What `2/4` says; None if that is no shard."""
    said = re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4})", text)
    if not said:
        return None
    shard = Shard(int(said[1]), int(said[2]))
    return shard if 1 <= shard.number <= shard.of <= MOST else None
