"""What a set-cookie header of session affinity says (A55, A60, A61)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

SET_COOKIE: Final = "set-cookie"

FORMS: Final[Mapping[str, str]] = MappingProxyType(
    {"plain": "{}", "prefixed": "cluster:{}", "quoted": '"{}"'}
)
"""How the name of a cluster is known to be written in a cookie (A60-CLUSTER-02)."""


@dataclass(frozen=True)
class SetCookie:
    """A set-cookie header: the value, and the attributes by their names in lower case."""

    name: str
    value: str
    attributes: Mapping[str, str] = field(default_factory=dict)


def parse(header: str) -> SetCookie:
    """Read a set-cookie header by the grammar of RFC 6265."""
    first, *rest = header.split(";")
    name, _, value = first.partition("=")
    pairs = [part.partition("=") for part in rest]
    attributes = {key.strip().lower(): text.strip() for key, _, text in pairs}
    return SetCookie(name.strip(), value.strip(), attributes)


def cookies_set(headers: Iterable[tuple[str, str]], name: str) -> list[SetCookie]:
    """Return the cookies of a name that response headers set (A55-COOKIE-01, A55-COOKIE-02)."""
    set_here = (parse(value) for key, value in headers if key.lower() == SET_COOKIE)
    return [cookie for cookie in set_here if cookie.name == name]


def content(value: str) -> str | None:
    """Return the text that a cookie's value is the base64 of; None if it is none."""
    try:
        return base64.b64decode(value, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None


def addresses(text: str) -> tuple[str, ...]:
    """Return the addresses in the content of a cookie (A55-COOKIE-01, A61-SESSION-01)."""
    return tuple(text.partition(";")[0].split(","))


def cluster_text(text: str) -> str:
    """Return what the content of a cookie has behind the semicolon (A60-CLUSTER-01)."""
    return text.partition(";")[2]


def names_cluster(text: str, cluster: str) -> bool:
    """Return whether the content of a cookie names a cluster, in any form (A60-CLUSTER-01)."""
    return cluster_text(text) in {form.format(cluster) for form in FORMS.values()}
