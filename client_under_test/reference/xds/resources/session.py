"""Validation of the filter StatefulSession and its overrides (A55)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from envoy.extensions.filters.http.stateful_session.v3 import stateful_session_pb2
from envoy.extensions.http.stateful_session.cookie.v3 import cookie_pb2
from google.protobuf.message import DecodeError

from client_under_test.reference.session_affinity import Override, SessionCookie
from client_under_test.reference.xds.resources.findings import Findings
from client_under_test.reference.xds.resources.kinds import PREFIX
from client_under_test.reference.xds.rules import XdsRules
from client_under_test.reference.xds.session_rules import COOKIE_STATE

_SESSION: Final = stateful_session_pb2.StatefulSession
_PER_ROUTE: Final = stateful_session_pb2.StatefulSessionPerRoute
SESSION_URL: Final = PREFIX + _SESSION.DESCRIPTOR.full_name
_PER_ROUTE_URL: Final = PREFIX + _PER_ROUTE.DESCRIPTOR.full_name


def read_session_filter(value: bytes, rules: XdsRules, findings: Findings) -> Override:
    """Read a packed StatefulSession."""
    try:
        message = _SESSION.FromString(value)
    except DecodeError:
        findings.add("is no StatefulSession", "typed_config")
        return None
    return _cookie(message, rules, findings)


def read_overrides(
    packed: Mapping[str, Any], rules: XdsRules, findings: Findings
) -> Mapping[str, Override]:
    """Read the overrides in a typed_per_filter_config, by the name of the filter.

    Clauses: A55-CONF-05, A55-CONF-06, A55-CONF-08.
    """
    found: dict[str, Override] = {}
    if not rules.has_session_affinity:
        return found
    for name, config in packed.items():
        if config.type_url != _PER_ROUTE_URL:
            continue
        with findings.at(f"typed_per_filter_config[{name}]"):
            try:
                message = _PER_ROUTE.FromString(config.value)
            except DecodeError:
                findings.add("is no StatefulSessionPerRoute")
                continue
            is_session = message.WhichOneof("override") == "stateful_session"
            told = findings if rules.checks_session_overrides else Findings()
            found[name] = _cookie(message.stateful_session, rules, told) if is_session else None
    return found


def _cookie(message: Any, rules: XdsRules, findings: Findings) -> Override:
    if not message.HasField("session_state"):
        return None
    packed = message.session_state.typed_config
    with findings.at("session_state.typed_config"):
        if not rules.session_state_is_accepted(packed.type_url):
            findings.add(f"{packed.type_url or 'nothing'} is not supported")
        if packed.type_url != COOKIE_STATE:
            return None
        try:
            cookie = cookie_pb2.CookieBasedSessionState.FromString(packed.value).cookie
        except DecodeError:
            findings.add("is no CookieBasedSessionState")
            return None
        if not rules.cookie_name_is_accepted(cookie.name):
            findings.add("must not be empty", "cookie.name")
        if not rules.cookie_ttl_is_accepted(cookie.ttl.seconds, cookie.ttl.nanos):
            findings.add("must not be negative", "cookie.ttl")
        return SessionCookie(name=cookie.name, path=cookie.path, ttl=cookie.ttl.seconds)
