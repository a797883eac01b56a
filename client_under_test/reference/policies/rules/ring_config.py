"""What a ring_hash config may say."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

LARGEST_RING: Final = 8_388_608
_HEADER_NAME: Final = re.compile(r"[0-9a-z_.-]+")


def ring_size_is_accepted(size: int) -> bool:
    """Tell whether a ring may be configured so large.

    Clauses: A42-CDS-08, A42-CDS-09, A42-CDS-10, A42-CDS-11, A52-RING-04; A42-CDS-17, A42-CDS-18
    (our choice: zero is not valid).
    """
    return 1 <= size <= LARGEST_RING


def ring_sizes_fit(minimum: int, maximum: int) -> bool:
    """Our choice is that a minimum above the maximum is an error.

    Clauses: A42-CDS-05, A42-CDS-10, A42-CDS-16, A52-RING-08.
    """
    return minimum <= maximum


def request_hash_header(_value: Any) -> str | None:
    """Read no header from a config: before A76 there is no such field."""
    return ""


def request_hash_header_a76(value: Any) -> str | None:
    """Read request_hash_header: empty for none, None if it is not valid.

    Clauses: A76-REQ-01, A76-REQ-09, A76-REQ-10, A76-REQ-11.
    """
    if value == "":
        return ""
    valid = isinstance(value, str) and _HEADER_NAME.fullmatch(value.lower()) is not None
    return value.lower() if valid and not value.lower().endswith("-bin") else None


@dataclass(frozen=True, kw_only=True)
class RingConfigRules:
    """What an edition reads in gRPC's own config of ring_hash."""

    request_hash_header: Callable[[Any], str | None] = request_hash_header
