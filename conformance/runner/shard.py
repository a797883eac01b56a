"""A shard of a run, as the user names it."""

from __future__ import annotations

import re
from typing import Final

import msgspec

MOST: Final = 1000
"""The most shards of a run: about the number of scenarios."""


class Shard(msgspec.Struct, frozen=True):
    """One share of a run, counted from 1, and the number of shares."""

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
