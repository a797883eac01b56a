"""How the config of session affinity is read and validated (A55)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from client_under_test.reference.values import DRAINING, HEALTHY, UNKNOWN

COOKIE_STATE: Final = (
    "type.googleapis.com/envoy.extensions.http.stateful_session.cookie.v3.CookieBasedSessionState"
)

HTTP_OPTIONS: Final = "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions"

_LONGEST: Final = 315_576_000_000
_NANOS: Final = 1_000_000_000


def session_state_is_accepted(type_url: str) -> bool:
    """Return whether a session state is supported: CookieBasedSessionState only (A55-CONF-01)."""
    return type_url == COOKIE_STATE


def cookie_name_is_accepted(name: str) -> bool:
    """Return whether the name of a cookie is valid (A55-CONF-02)."""
    return bool(name)


def cookie_ttl_is_accepted(seconds: int, nanoseconds: int) -> bool:
    """Return whether a ttl is valid (A55-CONF-03, A55-CONF-04)."""
    return 0 <= seconds <= _LONGEST and 0 <= nanoseconds < _NANOS


def upstream_config_is_accepted(type_url: str) -> bool:
    """Return whether an upstream_config is supported: HttpProtocolOptions (A75-SESSION-02)."""
    return type_url == HTTP_OPTIONS


def idle_timeout_is_accepted(seconds: int, nanoseconds: int) -> bool:
    """Return whether an idle_timeout is valid (A75-SESSION-03)."""
    return cookie_ttl_is_accepted(seconds, nanoseconds)


def override_host_status(written: Sequence[int] | None) -> frozenset[int]:
    """Return the statuses that count, of override_host_status; None: it is unset.

    Clauses: A55-HOST-03, A55-HOST-04, A55-HOST-05.
    """
    if written is None:
        return frozenset({UNKNOWN, HEALTHY})
    return frozenset(written) & {UNKNOWN, HEALTHY, DRAINING}


def endpoint_is_used_a55(health: int) -> bool:
    """Return whether an endpoint is listed: A55 adds those that are DRAINING.

    Clauses: A27-HEALTH-01, A55-HOST-02.
    """
    return health in {UNKNOWN, HEALTHY, DRAINING}


@dataclass(frozen=True, kw_only=True)
class SessionConfigRules:
    """How the config of session affinity is read."""

    has_session_affinity: bool = False
    """A55: the client knows the filter StatefulSession."""
    session_state_is_accepted: Callable[[str], bool] = session_state_is_accepted
    """Takes the type of the session_state."""
    cookie_name_is_accepted: Callable[[str], bool] = cookie_name_is_accepted
    cookie_ttl_is_accepted: Callable[[int, int], bool] = cookie_ttl_is_accepted
    """Takes seconds and nanoseconds."""
    checks_session_overrides: bool = True
    """A55-CONF-08: whether the cookies of overrides must be valid."""
    upstream_config_is_accepted: Callable[[str], bool] = upstream_config_is_accepted
    """Takes the type of an upstream_config."""
    idle_timeout_is_accepted: Callable[[int, int], bool] = idle_timeout_is_accepted
    """Takes seconds and nanoseconds."""
    override_host_status: Callable[[Sequence[int] | None], frozenset[int]] = override_host_status
