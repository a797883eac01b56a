"""How matches of routes are read (A28)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from envoy.type.v3 import percent_pb2

_DENOMINATORS: Final = {
    percent_pb2.FractionalPercent.HUNDRED: 100,
    percent_pb2.FractionalPercent.TEN_THOUSAND: 10_000,
    percent_pb2.FractionalPercent.MILLION: 1_000_000,
}


def denominator(number: int) -> int | None:
    """Return what a denominator is as a number (A28-MATCH-07); None: it is unknown."""
    return _DENOMINATORS.get(number)


def share_of_route(_key: str, per_million: int) -> int | None:
    """Return the share of a route, whatever its runtime_key is (A28-MATCH-07)."""
    return per_million


def route_is_used(match: Any) -> bool:
    """Return whether a route is used: not with query_parameters (A28-MATCH-08).

    The matchers grpc (A28-MATCH-09) and tls_context (A28-MATCH-12) change nothing.
    """
    return not match.query_parameters


def ignores_route_action(_specifier: str | None) -> bool:
    """Ignore a route whose cluster_specifier is unset or not supported (A28-ACTION-01)."""
    return True


def path_is_case_sensitive(case_sensitive: Any | None) -> bool:
    """Return whether the case of a path counts: unless case_sensitive is false (A28-MATCH-05)."""
    return case_sensitive is None or bool(case_sensitive.value)


def string_match_pattern(pattern: str) -> str:
    """A63: match by the pattern that is set.

    Clauses: A63-HEADER-01.
    """
    return pattern


def ignores_case(pattern: str, ignore_case: bool) -> bool:  # noqa: FBT001 - a field
    """A63: heed ignore_case for all patterns but safe_regex.

    Clauses: A63-HEADER-02, A63-HEADER-03.
    """
    return ignore_case and pattern != "safe_regex"


def weights_fit(total: int) -> bool:
    """Accept weights of clusters if their sum is above 0 and fits in 32 bits.

    Clauses: A28-SPLIT-05, A28-SPLIT-06 (our choice: as the xDS API has it).
    """
    return 0 < total < 1 << 32


@dataclass(frozen=True, kw_only=True)
class RouteReadingRules:
    """One way of reading the matches of routes."""

    denominator: Callable[[int], int | None] = denominator
    share_of_route: Callable[[str, int], int | None] = share_of_route
    """Takes the runtime_key, and how many of a million requests take the route."""
    route_is_used: Callable[[Any], bool] = route_is_used
    """Takes the match of a route."""
    ignores_route_action: Callable[[str | None], bool] = ignores_route_action
    """Takes the name of a cluster_specifier that the client does not support; None: it is unset.
    Otherwise the route is invalid."""
    string_match_pattern: Callable[[str], str] = string_match_pattern
    """Takes the name of the pattern in string_match, and returns how the client matches it."""
    ignores_case: Callable[[str, bool], bool] = ignores_case
    """Takes the name of the pattern in string_match, and ignore_case."""
    weights_fit: Callable[[int], bool] = weights_fit
    """Takes the sum of the weights of a route's clusters."""
    path_may_be_missing: bool = False
    """A28-MATCH-11: a match must have a path_specifier."""
    path_is_case_sensitive: Callable[[Any | None], bool] = path_is_case_sensitive
    """Takes the message of case_sensitive, or None if it is unset."""
