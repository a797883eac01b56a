"""Builders for session affinity: the filter, its overrides, and override_host_status (A55)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from envoy.extensions.filters.http.stateful_session.v3 import stateful_session_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2,
)
from envoy.extensions.http.stateful_session.cookie.v3 import cookie_pb2

SESSION_FILTER: Final = "envoy.filters.http.stateful_session"


def stateful_session(name: str, *, path: str = "", ttl: tuple[int, int] | None = None) -> Any:
    """Return a StatefulSession with a cookie.

    Args:
        name: The name of the cookie.
        path: Its path; empty: unset.
        ttl: Its seconds and nanoseconds; None: unset.
    """
    state = cookie_pb2.CookieBasedSessionState()
    state.cookie.name, state.cookie.path = name, path
    if ttl is not None:
        state.cookie.ttl.seconds, state.cookie.ttl.nanos = ttl
    return with_session_state(state)


def with_session_state(state: Any) -> Any:
    """Return a StatefulSession with this message as its session_state."""
    message = stateful_session_pb2.StatefulSession()
    message.session_state.name = "envoy.http.stateful_session.cookie"
    message.session_state.typed_config.Pack(state)
    return message


def add_filter(listener: Any, session: Any) -> Any:
    """Add a StatefulSession to a listener, before the other filters; return the listener."""
    manager = http_connection_manager_pb2.HttpConnectionManager()
    listener.api_listener.api_listener.Unpack(manager)
    others = list(manager.http_filters)
    del manager.http_filters[:]
    manager.http_filters.add(name=SESSION_FILTER).typed_config.Pack(session)
    manager.http_filters.extend(others)
    listener.api_listener.api_listener.Pack(manager)
    return listener


def override_session(message: Any, session: Any | None) -> None:
    """Override the filter in a route or a virtual host; None disables it."""
    override = stateful_session_pb2.StatefulSessionPerRoute()
    if session is None:
        override.disabled = True
    else:
        override.stateful_session.CopyFrom(session)
    message.typed_per_filter_config[SESSION_FILTER].Pack(override)


def set_override_host_status(cluster: Any, statuses: Iterable[str]) -> None:
    """Set override_host_status of a Cluster to these health statuses, by name."""
    status_set = cluster.common_lb_config.override_host_status
    status_set.SetInParent()
    known = {value.name: value.number for value in _values(status_set)}
    status_set.statuses.extend(known[name] for name in statuses)


def _values(status_set: Any) -> Any:
    return status_set.DESCRIPTOR.fields_by_name["statuses"].enum_type.values
