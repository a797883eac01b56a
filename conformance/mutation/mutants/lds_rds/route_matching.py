"""Mutants of the clauses in route_matching.toml."""

import re
from collections.abc import Callable, Iterable
from typing import Any

import re2
from msgspec.structs import replace

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.hash_policy import ASSUMED_CONTENT_TYPE
from client_under_test.reference.resolving.selector import (
    header_matches,
    matched_value,
    path_matches,
)
from client_under_test.reference.values import Metadata, Status
from client_under_test.reference.xds.resources.values import HeaderMatcher, Route, RouteMatch

most_specific_first = Mutant(
    clause="A28-MATCH-01",
    broken="routes with a path are tried first, then the longest prefixes",
    rules={
        "routes_in_order": lambda routes: sorted(
            routes,
            key=lambda route: (route.match.path is None, -len(route.match.prefix or "")),
        )
    },
)


def last_of_the_same(routes: Iterable[Route]) -> list[Route]:
    """Keep the last of several routes with the same match."""
    return list({str(route.match): route for route in routes}.values())


duplicates_replaced = Mutant(
    clause="A28-MATCH-01",
    broken="of several routes with the same match the last one counts",
    rules={"routes_in_order": last_of_the_same},
)


def taken_by(**differs: object) -> dict[str, object]:
    """Return the rule of a client that reads the match of each path in another way."""
    return {
        "path_matches": lambda match, path: path_matches(replace(match, **differs), path),
    }


def path_as_prefix(match: RouteMatch, path: str) -> bool:
    """Take a path for a prefix."""
    return path_matches(replace(match, prefix=match.path or match.prefix, path=None), path)


def prefix_as_path(match: RouteMatch, path: str) -> bool:
    """Take a prefix that is not empty for a path."""
    return path_matches(replace(match, path=match.path or match.prefix or None), path)


path_is_a_prefix = Mutant(
    clause="A28-MATCH-02",
    broken="path matches the beginning of a path",
    rules={"path_matches": path_as_prefix},
)


paths_without_case = Mutant(
    clause="A28-MATCH-05",
    broken="case_sensitive is taken for false",
    rules=taken_by(case_sensitive=False),
)


prefix_is_a_path = Mutant(
    clause="A28-MATCH-03",
    broken="prefix matches the whole path alone",
    rules={"path_matches": prefix_as_path},
)


prefix_anywhere = Mutant(
    clause="A28-MATCH-03",
    broken="prefix matches anywhere in a path",
    rules={
        "path_matches": lambda match, path: (
            match.prefix in path if match.prefix else path_matches(match, path)
        )
    },
)


def regex_rule(search: Callable[[str, str], object]) -> dict[str, object]:
    """Return the rule of a client that searches a path for a regular expression in another way."""
    return {
        "path_matches": lambda match, path: (
            path_matches(match, path) if match.regex is None else bool(search(match.regex, path))
        )
    }


regex_at_the_beginning = Mutant(
    clause="A28-MATCH-04",
    broken="safe_regex matches the beginning of a path",
    rules=regex_rule(re2.match),
)


regex_anywhere = Mutant(
    clause="A28-MATCH-04",
    broken="safe_regex matches anywhere in a path",
    rules=regex_rule(re2.search),
)


regex_between_anchors = Mutant(
    clause="A28-MATCH-04",
    broken="safe_regex stands between anchors without parentheses",
    rules=regex_rule(lambda regex, path: re.search(f"^{regex}$", path)),
)


unset_is_false = Mutant(
    clause="A28-MATCH-05",
    broken="case_sensitive counts as false if it is unset",
    xds={"path_is_case_sensitive": lambda case: case is not None and case.value},
    issue="https://github.com/grpc/grpc-java/blob/v1.85.1/xds/src/main/java/io/grpc/xds/XdsRouteConfigureResource.java",
)


case_always_counts = Mutant(
    clause="A28-MATCH-05",
    broken="case_sensitive is ignored",
    rules=taken_by(case_sensitive=True),
)


case_counts_in_prefixes = Mutant(
    clause="A28-MATCH-05",
    broken="case_sensitive counts for path and not for prefix",
    rules={
        "path_matches": lambda match, path: path_matches(
            match if match.path is not None else replace(match, case_sensitive=True), path
        )
    },
)


def path_and_any(route: Iterable[bool]) -> bool:
    """Take a route whose path and one header match."""
    path, *others = route
    return path and (any(others) or not others)


one_header_is_enough = Mutant(
    clause="A28-MATCH-06",
    broken="of several headers one is enough",
    rules={"route_matches": path_and_any},
)


def path_and_first(route: Iterable[bool]) -> bool:
    """Take a route whose path and first header match."""
    return all([*route][:2])


first_header_alone = Mutant(
    clause="A28-MATCH-06",
    broken="only the first header counts",
    rules={"route_matches": path_and_first},
)


headers_alone = Mutant(
    clause="A28-MATCH-06",
    broken="a route with headers takes requests of any path",
    rules={"route_matches": lambda route: all([*route][1:]) if len([*route]) > 1 else all(route)},
)


fraction_ignored = Mutant(
    clause="A28-MATCH-07",
    broken="runtime_fraction is ignored",
    rules={"is_drawn": lambda _per_million, _rng: True},
)


fraction_of_a_hundred = Mutant(
    clause="A28-MATCH-07",
    broken="the denominator is taken for HUNDRED",
    xds={"denominator": lambda _denominator: 100},
)


fraction_of_what_it_is_not = Mutant(
    clause="A28-MATCH-07",
    broken="a route takes the requests that are not in its share",
    rules={"is_drawn": lambda per_million, rng: rng.randrange(1_000_000) >= per_million},
)


def only_without_a_key(key: str, per_million: int) -> int | None:
    """Ignore a share with a runtime_key."""
    return None if key else per_million


key_disables_the_share = Mutant(
    clause="A28-MATCH-07",
    broken="a runtime_fraction with a runtime_key is ignored",
    xds={"share_of_route": only_without_a_key},
)


query_parameters_ignored = Mutant(
    clause="A28-MATCH-08",
    broken="query_parameters are ignored, and their route is used",
    xds={"route_is_used": lambda _match: True},
)


grpc_is_unsupported = Mutant(
    clause="A28-MATCH-09",
    broken="a route with grpc is ignored",
    xds={"route_is_used": lambda match: not match.query_parameters and not match.HasField("grpc")},
)


tls_context_is_unsupported = Mutant(
    clause="A28-MATCH-12",
    broken="a route with tls_context is ignored",
    xds={
        "route_is_used": lambda match: (
            not match.query_parameters and not match.HasField("tls_context")
        )
    },
)


certificate_is_wanted = Mutant(
    clause="A28-MATCH-12",
    broken="a route whose tls_context asks for a certificate takes no request",
    xds={
        "route_is_used": lambda match: (
            not match.query_parameters and not match.tls_context.presented.value
        )
    },
)


unmatched_is_unimplemented = Mutant(
    clause="A28-MATCH-10",
    broken="a request that no route matches ends with UNIMPLEMENTED",
    rules={"status_without_route": lambda path: Status("UNIMPLEMENTED", f"no route for {path}")},
)


no_path_is_any_path = Mutant(
    clause="A28-MATCH-11",
    broken="a match without a path_specifier matches every path",
    xds={"path_may_be_missing": True},
)


# Headers.


def header_rule(kind: str, matches: Callable[[Any, str], object]) -> dict[str, object]:
    """Return the rule of a client that reads one kind of matchers in another way.

    Args:
        kind: the field of the matcher.
        matches: takes what the matcher has, and the value of the header.
    """

    def rule(matcher: HeaderMatcher, value: str | None) -> bool:
        wanted = getattr(matcher, kind)
        if wanted is None or value is None:
            return header_matches(matcher, value)
        return bool(matches(wanted, value)) != matcher.inverted

    return {"header_matches": rule}


exact_without_case = Mutant(
    clause="A28-HEADER-01",
    broken="exact_match ignores case",
    rules=header_rule("exact", lambda wanted, value: wanted.lower() == value.lower()),
)


exact_in_small_letters = Mutant(
    clause="A28-HEADER-01",
    broken="exact_match is made lower-case, and the value is not",
    rules=header_rule("exact", lambda wanted, value: value == wanted.lower()),
)


exact_in_part = Mutant(
    clause="A28-HEADER-01",
    broken="exact_match matches the beginning of a value",
    rules=header_rule("exact", lambda wanted, value: value.startswith(wanted)),
)


header_regex_anywhere = Mutant(
    clause="A28-HEADER-02",
    broken="safe_regex_match matches anywhere in a value",
    rules=header_rule("regex", re2.search),
)


header_regex_at_the_beginning = Mutant(
    clause="A28-HEADER-02",
    broken="safe_regex_match matches the beginning of a value",
    rules=header_rule("regex", re2.match),
)


def is_between(wanted: tuple[int, int], value: str) -> bool:
    """Return whether a number is in a range, both ends included."""
    return value.lstrip("-").isdigit() and wanted[0] <= int(value) <= wanted[1]


range_with_its_end = Mutant(
    clause="A28-HEADER-03",
    broken="a range includes its end",
    rules=header_rule("within", is_between),
)


def is_beyond(wanted: tuple[int, int], value: str) -> bool:
    """Return whether a number is in a range, both ends left out."""
    return value.lstrip("-").isdigit() and wanted[0] < int(value) < wanted[1]


range_without_its_start = Mutant(
    clause="A28-HEADER-03",
    broken="a range does not include its start",
    rules=header_rule("within", is_beyond),
)


range_of_digits = Mutant(
    clause="A28-HEADER-03",
    broken="a range matches no negative number",
    rules=header_rule(
        "within",
        lambda wanted, value: value.isdigit() and wanted[0] <= int(value) < wanted[1],
    ),
)


range_of_32_bits = Mutant(
    clause="A28-HEADER-03",
    broken="numbers are read as integers of 32 bits",
    rules=header_rule(
        "within",
        lambda wanted, value: (
            value.lstrip("-").isdigit()
            and wanted[0] <= (int(value) + 2**31) % 2**32 - 2**31 < wanted[1]
        ),
    ),
)


presence_is_always_wanted = Mutant(
    clause="A28-HEADER-04",
    broken="present_match of false is taken for true",
    rules={
        "header_matches": lambda matcher, value: header_matches(
            matcher if matcher.present is None else replace(matcher, present=True), value
        )
    },
)


prefix_in_small_letters = Mutant(
    clause="A28-HEADER-05",
    broken="prefix_match is made lower-case, and the value is not",
    rules=header_rule("prefix", lambda wanted, value: value.startswith(wanted.lower())),
)


header_prefix_is_all = Mutant(
    clause="A28-HEADER-05",
    broken="prefix_match matches the whole value alone",
    rules=header_rule("prefix", lambda wanted, value: wanted == value),
)


header_prefix_anywhere = Mutant(
    clause="A28-HEADER-05",
    broken="prefix_match matches anywhere in a value",
    rules=header_rule("prefix", lambda wanted, value: wanted in value),
)


suffix_in_small_letters = Mutant(
    clause="A28-HEADER-06",
    broken="suffix_match is made lower-case, and the value is not",
    rules=header_rule("suffix", lambda wanted, value: value.endswith(wanted.lower())),
)


suffix_is_a_prefix = Mutant(
    clause="A28-HEADER-06",
    broken="suffix_match matches the beginning of a value",
    rules=header_rule("suffix", lambda wanted, value: value.startswith(wanted)),
)


suffix_anywhere = Mutant(
    clause="A28-HEADER-06",
    broken="suffix_match matches anywhere in a value",
    rules=header_rule("suffix", lambda wanted, value: wanted in value),
)


invert_ignored = Mutant(
    clause="A28-HEADER-07",
    broken="invert_match is ignored",
    rules={
        "header_matches": lambda matcher, value: header_matches(
            replace(matcher, inverted=False), value
        )
    },
)


invert_ignored_in_presence = Mutant(
    clause="A28-HEADER-07",
    broken="invert_match is ignored beside present_match",
    rules={
        "header_matches": lambda matcher, value: header_matches(
            replace(matcher, inverted=matcher.inverted and matcher.present is None), value
        )
    },
)


def of_any_name(name: str, metadata: Metadata) -> str | None:
    """Return the value of a header, binary ones included."""
    found = [value for key, value in metadata if key == name]
    return matched_value(name, metadata) if not found else str(found[0])


binary_headers_match = Mutant(
    clause="A28-HEADER-08",
    broken="binary headers are matched",
    rules={"matched_value": of_any_name},
)


no_content_type = Mutant(
    clause="A28-HEADER-09",
    broken="content-type counts as absent",
    rules={
        "matched_value": lambda name, metadata: (
            None if name == "content-type" else matched_value(name, metadata)
        )
    },
)


content_type_with_a_codec = Mutant(
    clause="A28-HEADER-09",
    broken="content-type names the codec of messages",
    rules={
        "matched_value": lambda name, metadata: (
            f"{ASSUMED_CONTENT_TYPE}+proto"
            if name == "content-type"
            else matched_value(name, metadata)
        )
    },
)


pseudo_headers_match = Mutant(
    clause="A28-HEADER-10",
    broken="pseudo-headers are matched",
    rules={
        "matched_value": lambda name, metadata: (
            "x" if name.startswith(":") else matched_value(name, metadata)
        )
    },
)
