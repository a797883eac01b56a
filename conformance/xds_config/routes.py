"""Routes, and the hash policies on them (A42, "Hash Policy")."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from conformance.spec.oracles.request_hash import (
    ChannelIdPolicy,
    HashPolicy,
    HeaderPolicy,
    UnsupportedKind,
    UnsupportedPolicy,
)
from conformance.xds_config.sessions import SessionCookie
from fake_control_plane import RouteMatch, resources

CLUSTER = "cluster"
"""The default name of a cluster."""

SESSION = "session"
"""The metadata key that most scenarios hash."""

CLUSTER_HEADER = "to"
"""The metadata key by which a route is chosen where a scenario has many."""

BY_SESSION = (HeaderPolicy(name=SESSION),)


class Route(msgspec.Struct, frozen=True):
    """Calls of this path, or all of them, hashed by these policies."""

    policies: tuple[HashPolicy, ...]
    path: str | None = None
    cluster: str = CLUSTER
    weighted_clusters: dict[str, int] = {}
    """Several, instead, with their weights."""
    when: tuple[str, str] | None = None
    """A header and its whole value, which calls must have: so one world has routes without end."""
    match: RouteMatch | None = None
    """What else the match of a route has, in place of the path and the header."""
    domains: tuple[str, ...] = ("*",)
    """The domains of its virtual host; routes of the same domains share one."""
    session: SessionCookie | None = None
    """The cookie that overrides the one of the filter for session affinity (A55)."""

    def __str__(self) -> str:
        listed = ", ".join(map(_policy_in_words, self.policies)) or "nothing"
        words = f"requests to {self.path}" if self.path else "all requests"
        if self.match is not None:
            words = f"requests with {self.match}"
        if self.when is not None:
            words += " with the header {}: {}".format(*self.when)
        if self.domains != ("*",):
            words += f" for the domains {', '.join(self.domains)}"
        words += f" hashed by {listed}"
        words += "" if self.session is None else f", {self.session}"
        weights = (f"{name} (weight {count})" for name, count in self.weighted_clusters.items())
        return f"{words}, to {', '.join(weights)}" if self.weighted_clusters else words

    def targets(self) -> tuple[str, ...]:
        """Return the names of the clusters that the route leads to."""
        return tuple(self.weighted_clusters) or (self.cluster,)


def _policy_in_words(policy: HashPolicy) -> str:
    match policy:
        case HeaderPolicy(regex=None):
            words = f"header {policy.name}"
        case HeaderPolicy():
            words = f"header {policy.name} with '{policy.regex}' -> '{policy.substitution}'"
        case ChannelIdPolicy():
            words = "channel id"
        case UnsupportedPolicy():
            words = policy.kind
    return f"{words} (terminal)" if policy.terminal else words


def _unset(*, terminal: bool) -> Any:
    policy = resources.hash_cookie(SESSION, terminal=terminal)
    policy.ClearField("cookie")
    return policy


UNSUPPORTED: dict[UnsupportedKind, Callable[..., Any]] = {
    "cookie": partial(resources.hash_cookie, SESSION),
    "connection_properties": resources.hash_source_ip,
    "query_parameter": partial(resources.hash_query_parameter, SESSION),
    "filter_state": partial(resources.hash_filter_state, "io.grpc.channel_id.other"),
    "unset": _unset,
}
"""Builders for each kind of hash policy that gives no hash."""


def hash_policy_resource(policy: HashPolicy) -> Any:
    """Return the xDS hash policy for an oracle's hash policy."""
    match policy:
        case HeaderPolicy():
            return resources.hash_header(
                policy.name,
                terminal=policy.terminal,
                regex=policy.regex,
                substitution=policy.substitution,
            )
        case ChannelIdPolicy():
            return resources.hash_channel_id(terminal=policy.terminal)
        case UnsupportedPolicy():
            return UNSUPPORTED[policy.kind](terminal=policy.terminal)
