"""Stateful session affinity: which cookie a request has, and which one its response gets.

A55, as amended by A60 (clusters) and A61 (endpoints of several addresses). No I/O: the config
selector reads requests, and a call adds to its response headers.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from client_under_test.reference.values import Metadata

_LARGEST_PORT: Final = 65535


class SessionCookie(msgspec.Struct, frozen=True, kw_only=True):
    """The cookie of a StatefulSession filter. `ttl` is in seconds."""

    name: str
    path: str = ""
    ttl: int = 0


class Host(msgspec.Struct, frozen=True):
    """The content of a cookie: the addresses of an endpoint, and the name of its cluster."""

    addresses: tuple[str, ...]
    cluster: str = ""


class Session(msgspec.Struct, frozen=True):
    """The cookie that is configured for a request, and the host of the cookie that it has."""

    cookie: SessionCookie
    sent: Host | None


def cookie_path_matches(path: str, cookie_path: str) -> bool:
    """Return whether a request's path matches the cookie's, by section 5.1.4 of RFC 6265.

    Clauses: A55-COOKIE-08, A55-COOKIE-09, A55-COOKIE-10.
    """
    if not path.startswith(cookie_path):
        return False
    return (
        len(path) == len(cookie_path)
        or cookie_path.endswith("/")
        or not cookie_path
        or path[len(cookie_path)] == "/"
    )


def cookies_sent(metadata: Metadata) -> list[tuple[str, str]]:
    """Return the cookies of all headers named cookie, in their order.

    Clauses: A55-COOKIE-01, A55-COOKIE-06.
    """
    pairs = [
        pair.strip().partition("=")
        for name, value in metadata
        if name == "cookie" and isinstance(value, str)
        for pair in value.split(";")
    ]
    return [(name, value) for name, _, value in pairs]


def choose_cookie(values: Sequence[str]) -> str | None:
    """Return the first cookie of the name (A55-COOKIE-05, A55-COOKIE-07)."""
    return values[0] if values else None


def cookie_host(value: str) -> Host | None:
    """Return the host of a cookie's value; None if there is no valid one.

    Clauses: A55-COOKIE-11, A60-CLUSTER-02 (our choice: plain), A61-SESSION-02.
    """
    try:
        decoded = base64.b64decode(value, validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None
    listed, _, cluster = decoded.partition(";")
    addresses = tuple(listed.split(","))
    return Host(addresses, cluster) if all(map(is_address, addresses)) else None


def is_address(text: str) -> bool:
    """Return whether a text is an IP address and a port."""
    host, _, port = text.rpartition(":")
    try:
        ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return port.isascii() and port.isdigit() and 0 < int(port) <= _LARGEST_PORT


def cookie_content(addresses: Sequence[str], _cluster: str) -> str:
    """A55: the content of a cookie is the address of the host."""
    return ",".join(addresses)


def cookie_content_a60(addresses: Sequence[str], cluster: str) -> str:
    """A60: the name of the cluster follows the host, behind a semicolon.

    Clauses: A60-CLUSTER-01, A60-CLUSTER-02 (our choice: plain).
    """
    return f"{','.join(addresses)};{cluster}"


def cookie_must_be_set(sent: Host | None, used: Host) -> bool:
    """Set a cookie unless the request's names what served it.

    Clauses: A55-COOKIE-01, A55-COOKIE-12, A55-COOKIE-13, A60-CLUSTER-04.
    """
    return sent != used


def set_cookie(cookie: SessionCookie, value: str) -> str:
    """Return the value of a set-cookie header.

    Clauses: A55-COOKIE-02, A55-COOKIE-03, A55-COOKIE-04.
    """
    parts = [f"{cookie.name}={value}", "HttpOnly"]
    if cookie.path:
        parts.append(f"Path={cookie.path}")
    if cookie.ttl:
        parts.append(f"Max-Age={cookie.ttl}")
    return "; ".join(parts)


def session_cluster(_sent: Host | None, _clusters: Sequence[str], drawn: str) -> str:
    """A55: cookies do not change the cluster."""
    return drawn


def session_cluster_a60(sent: Host | None, clusters: Sequence[str], drawn: str) -> str:
    """A60: use the cookie's cluster if it is in the route, or else the one that was drawn.

    Clauses: A60-CLUSTER-03, A60-CLUSTER-05, A60-CLUSTER-06.
    """
    return sent.cluster if sent is not None and sent.cluster in clusters else drawn


Override = SessionCookie | None
"""The cookie that a StatefulSessionPerRoute configures; None: it disables the filter."""


def session_override(
    overrides: Sequence[Mapping[str, Override]], name: str, top: Override
) -> Override:
    """Return the config of a filter: of the cluster, else of the route, of the host, of the filter.

    Clauses: A55-CONF-05, A55-CONF-06, A55-CONF-07.
    """
    return next((each[name] for each in overrides if name in each), top)


@dataclass(frozen=True, kw_only=True)
class SessionRules:
    """How cookies of sessions are read and set."""

    cookie_path_matches: Callable[[str, str], bool] = cookie_path_matches
    """Takes the path of a request, and the path of the cookie, which may be empty."""
    cookies_sent: Callable[[Metadata], list[tuple[str, str]]] = cookies_sent
    choose_cookie: Callable[[Sequence[str]], str | None] = choose_cookie
    """Takes the values of all cookies of the name."""
    cookie_host: Callable[[str], Host | None] = cookie_host
    ignores_invalid_cookie: bool = True
    """A55-COOKIE-11: the response to a request with a malformed cookie gets a cookie."""
    cookie_content: Callable[[Sequence[str], str], str] = cookie_content
    """Takes the addresses of an endpoint, the used one first, and the name of its cluster."""
    cookie_must_be_set: Callable[[Host | None, Host], bool] = cookie_must_be_set
    """Takes the host of the request's cookie, and what served the request."""
    set_cookie: Callable[[SessionCookie, str], str] = set_cookie
    """Takes the value in base64."""
    session_cluster: Callable[[Host | None, Sequence[str], str], str] = session_cluster
    """Takes the host of the request's cookie, the clusters of the route, and the drawn one."""
    session_override: Callable[[Sequence[Mapping[str, Override]], str, Override], Override] = (
        session_override
    )
    """Takes the overrides by filter, the most specific first; the filter's name, and its config."""


def session_of(
    cookie: SessionCookie | None, path: str, metadata: Metadata, rules: SessionRules
) -> Session | None:
    """Return the session of a request; None if the filter does not process it."""
    if cookie is None or not rules.cookie_path_matches(path, cookie.path):
        return None
    values = [value for name, value in rules.cookies_sent(metadata) if name == cookie.name]
    value = rules.choose_cookie(values)
    sent = None if value is None else rules.cookie_host(value)
    if value is not None and sent is None and not rules.ignores_invalid_cookie:
        return None
    return Session(cookie, sent)


def response_cookie(
    session: Session, addresses: Sequence[str], cluster: str, rules: SessionRules
) -> str | None:
    """Return the set-cookie header of a response; None if it gets none.

    Args:
        session: that of the request.
        addresses: those of the endpoint that serves it, the used one first.
        cluster: the name of its cluster.
        rules: the edition.
    """
    content = rules.cookie_content(addresses, cluster)
    listed, _, named = content.partition(";")
    used = Host(tuple(listed.split(",")), named)
    if not rules.cookie_must_be_set(session.sent, used):
        return None
    return rules.set_cookie(session.cookie, base64.b64encode(content.encode()).decode())
