"""Validation of RDS resources and of routes inline (A27, A28, A42)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import re2

from client_under_test.reference.hash_policy import BadHashPolicy, HashPolicy
from client_under_test.reference.xds.resources.findings import Findings
from client_under_test.reference.xds.resources.session import read_overrides
from client_under_test.reference.xds.resources.values import (
    HeaderMatcher,
    Route,
    RouteConfiguration,
    RouteMatch,
    VirtualHost,
    WeightedCluster,
)
from client_under_test.reference.xds.rules import XdsRules

_UINT32: Final = 2**32 - 1
_MILLION: Final = 1_000_000

_STRING_MATCHES: Final = {"exact", "prefix", "suffix", "contains"}


def read_route_configuration(message: Any, rules: XdsRules) -> RouteConfiguration:
    """Read a RouteConfiguration message.

    Raises:
        BadResource: it is not one that a gRPC client can use.
    """
    findings = Findings()
    routes = read_routes(message, rules, findings)
    findings.check()
    return routes


def read_routes(message: Any, rules: XdsRules, findings: Findings) -> RouteConfiguration:
    """Read a RouteConfiguration message, which may be inside another message."""
    hosts = []
    domains: set[str] = set()
    for number, host in enumerate(message.virtual_hosts):
        with findings.at(f"virtual_hosts[{number}]"):
            if not host.domains:
                findings.add("must not be empty", "domains")
            for domain in host.domains:
                _check_domain(domain, domains, findings)
            routes = []
            for place, each in enumerate(host.routes):
                with findings.at(f"routes[{place}]"):
                    route = _route(each, rules, findings)
                    if route is not None:
                        routes.append(route)
            sessions = read_overrides(host.typed_per_filter_config, rules, findings)
            hosts.append(VirtualHost(tuple(host.domains), tuple(routes), sessions))
    return RouteConfiguration(tuple(hosts))


def _check_domain(domain: str, known: set[str], findings: Findings) -> None:
    if not domain or "*" in domain[1:-1] or (domain.count("*") > 1):
        findings.add(f"{domain!r} is no pattern", "domains")
    elif domain.lower() in known:
        findings.add(f"{domain} is there twice", "domains")
    known.add(domain.lower())


def _route(message: Any, rules: XdsRules, findings: Findings) -> Route | None:
    """One route, or None for one that asks for what gRPC does not have: such a one is passed by."""
    if not rules.route_is_used(message.match):
        return None
    with findings.at("match"):
        match = _match(message.match, rules, findings)
    if match is None:
        return None
    with findings.at("route"):
        clusters: tuple[WeightedCluster, ...] | None = ()
        policies: tuple[HashPolicy, ...] = ()
        if message.WhichOneof("action") == "route":
            clusters = _clusters(message.route, rules, findings)
            policies = _hash_policies(message.route.hash_policy, rules, findings)
        if clusters is None:
            return None
    sessions = read_overrides(message.typed_per_filter_config, rules, findings)
    return Route(match=match, clusters=clusters, hash_policies=policies, sessions=sessions)


def _hash_policies(
    messages: Sequence[Any], rules: XdsRules, findings: Findings
) -> tuple[HashPolicy, ...]:
    policies = []
    for number, message in enumerate(messages):
        with findings.at(f"hash_policy[{number}]"):
            try:
                policies.append(rules.read_hash_policy(message))
            except BadHashPolicy as bad:
                findings.add(str(bad))
    return tuple(policies)


def _clusters(
    action: Any, rules: XdsRules, findings: Findings
) -> tuple[WeightedCluster, ...] | None:
    match action.WhichOneof("cluster_specifier"):
        case "cluster":
            if not action.cluster:
                findings.add("must not be empty", "cluster")
            return (WeightedCluster(action.cluster, 1),)
        case "weighted_clusters":
            return _weighted(action.weighted_clusters, rules, findings)
        case other if rules.ignores_route_action(other):
            return None
        case _:
            findings.add("must have a cluster", "cluster_specifier")
            return None


def _weighted(message: Any, rules: XdsRules, findings: Findings) -> tuple[WeightedCluster, ...]:
    clusters = []
    for number, each in enumerate(message.clusters):
        if not each.name:
            findings.add("must not be empty", f"weighted_clusters.clusters[{number}].name")
        if rules.weight_is_used(each.weight.value):
            sessions = read_overrides(each.typed_per_filter_config, rules, findings)
            clusters.append(WeightedCluster(each.name, each.weight.value, sessions))
    total = sum(cluster.weight for cluster in clusters)
    if not rules.weights_fit(total):
        findings.add(f"weights add up to {total}", "weighted_clusters.clusters")
    return tuple(clusters)


def _match(message: Any, rules: XdsRules, findings: Findings) -> RouteMatch | None:
    prefix: str | None = None
    path: str | None = None
    regex: str | None = None
    match message.WhichOneof("path_specifier"):
        case "prefix":
            prefix = message.prefix
        case "path":
            path = message.path
        case "safe_regex":
            regex = _regex(message.safe_regex.regex, "safe_regex.regex", findings)
        case None if not rules.path_may_be_missing:
            findings.add("must have a path, a prefix or a safe_regex", "path_specifier")
        case None:
            prefix = ""
        case _:
            return None
    per_million = None
    if message.HasField("runtime_fraction"):
        fraction = message.runtime_fraction.default_value
        of = rules.denominator(fraction.denominator)
        if of is None:
            findings.add("has an unknown denominator", "runtime_fraction.default_value")
        per_million = rules.share_of_route(
            message.runtime_fraction.runtime_key,
            fraction.numerator * (_MILLION // (of or _MILLION)),
        )
    headers = []
    for number, each in enumerate(message.headers):
        with findings.at(f"headers[{number}]"):
            headers.append(_header(each, rules, findings))
    return RouteMatch(
        prefix=prefix,
        path=path,
        regex=regex,
        case_sensitive=rules.path_is_case_sensitive(
            message.case_sensitive if message.HasField("case_sensitive") else None
        ),
        headers=tuple(headers),
        per_million=per_million,
    )


def _header(message: Any, rules: XdsRules, findings: Findings) -> HeaderMatcher:
    name, inverted = message.name.lower(), message.invert_match
    kind = message.WhichOneof("header_match_specifier")
    if not name:
        findings.add("must not be empty", "name")
    match kind:
        case "string_match":
            return _string(message.string_match, name, rules, findings, inverted=inverted)
        case "exact_match" | "prefix_match" | "suffix_match" | "contains_match":
            value = {kind.removesuffix("_match"): getattr(message, kind)}
            return HeaderMatcher(name=name, inverted=inverted, **value)
        case "safe_regex_match":
            regex = _regex(message.safe_regex_match.regex, "safe_regex_match.regex", findings)
            return HeaderMatcher(name=name, inverted=inverted, regex=regex)
        case "range_match":
            within = (message.range_match.start, message.range_match.end)
            if within[0] > within[1]:
                findings.add("ends before it starts", "range_match")
            return HeaderMatcher(name=name, inverted=inverted, within=within)
        case "present_match":
            return HeaderMatcher(name=name, inverted=inverted, present=message.present_match)
        case _:
            findings.add("is missing or unknown", "header_match_specifier")
            return HeaderMatcher(name=name, present=True)


def _string(
    message: Any, name: str, rules: XdsRules, findings: Findings, *, inverted: bool
) -> HeaderMatcher:
    kind = message.WhichOneof("match_pattern")
    value: dict[str, Any] = {}
    if kind in _STRING_MATCHES:
        value[rules.string_match_pattern(kind)] = getattr(message, kind)
    elif kind == "safe_regex":
        value["regex"] = _regex(message.safe_regex.regex, "string_match.safe_regex", findings)
    else:
        findings.add("is missing or unknown", "string_match.match_pattern")
    ignore_case = rules.ignores_case(kind or "", message.ignore_case)
    return HeaderMatcher(name=name, inverted=inverted, ignore_case=ignore_case, **value)


def _regex(text: str, field: str, findings: Findings) -> str:
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(text, options)
    except re2.error:
        findings.add(f"{text!r} is no regular expression of RE2", field)
    return text
