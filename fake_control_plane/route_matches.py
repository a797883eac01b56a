"""Matchers of routes, as frozen values: which requests take a route (xDS API, RouteMatch)."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec
from envoy.config.route.v3 import route_components_pb2
from envoy.type.v3 import percent_pb2

Denominator = Literal["HUNDRED", "TEN_THOUSAND", "MILLION"]

_PARTS: Final[dict[Denominator, int]] = {
    "HUNDRED": 100,
    "TEN_THOUSAND": 10_000,
    "MILLION": 1_000_000,
}


class HeaderMatch(msgspec.Struct, frozen=True, kw_only=True):
    """A matcher of one request header; exactly one of the fields between name and invert is set."""

    name: str
    exact: str | None = None
    safe_regex: str | None = None
    range: tuple[int, int] | None = None
    """Start and end; a request matches from the start on, and does not match at the end."""
    present: bool | None = None
    prefix: str | None = None
    suffix: str | None = None
    contains: str | None = None
    """Of string_match."""
    invert: bool = False
    string_match: bool = False
    """Set to put a text or safe_regex into the field string_match."""
    ignore_case: bool = False
    """Of string_match."""

    def resource(self) -> Any:
        """Return the xDS HeaderMatcher."""
        message = route_components_pb2.HeaderMatcher(name=self.name, invert_match=self.invert)
        if self.string_match:
            self._set_string_match(message.string_match)
            return message
        if self.exact is not None:
            message.exact_match = self.exact
        if self.safe_regex is not None:
            message.safe_regex_match.google_re2.SetInParent()
            message.safe_regex_match.regex = self.safe_regex
        if self.range is not None:
            message.range_match.start, message.range_match.end = self.range
        if self.present is not None:
            message.present_match = self.present
        if self.prefix is not None:
            message.prefix_match = self.prefix
        if self.suffix is not None:
            message.suffix_match = self.suffix
        return message

    def _set_string_match(self, message: Any) -> None:
        message.ignore_case = self.ignore_case
        if self.safe_regex is not None:
            message.safe_regex.google_re2.SetInParent()
            message.safe_regex.regex = self.safe_regex
        for kind in ("exact", "prefix", "suffix", "contains"):
            if (text := getattr(self, kind)) is not None:
                setattr(message, kind, text)

    def __str__(self) -> str:
        kinds = ("exact", "safe_regex", "range", "present", "prefix", "suffix", "contains")
        (kind,) = (kind for kind in kinds if getattr(self, kind) is not None)
        field = f"string_match {kind}" if self.string_match else kind
        more = " (inverted)" * self.invert + " (ignore_case)" * self.ignore_case
        return f"{self.name} {field} {getattr(self, kind)!r}{more}"


class RuntimeFraction(msgspec.Struct, frozen=True):
    """The share of requests that a route takes, as the default value of a runtime fraction."""

    numerator: int
    denominator: Denominator = "HUNDRED"
    runtime_key: str = ""

    def share(self) -> tuple[int, int]:
        """Return the numerator, at most the denominator, and the denominator as a number."""
        parts = _PARTS[self.denominator]
        return min(self.numerator, parts), parts

    def __str__(self) -> str:
        return f"{self.numerator}/{_PARTS[self.denominator]} of requests"


class RouteMatch(msgspec.Struct, frozen=True, kw_only=True):
    """Which requests take a route. One of the first three matches the path; all others must match.

    If none of the three is set, the message has no path_specifier.
    """

    prefix: str | None = None
    path: str | None = None
    safe_regex: str | None = None
    case_sensitive: bool | None = None
    headers: tuple[HeaderMatch, ...] = ()
    fraction: RuntimeFraction | None = None
    query_parameter: str | None = None
    """A query parameter that must be there, which gRPC has none of."""
    grpc: bool = False
    """Set the field `grpc`, with which Envoy matches requests of gRPC alone."""
    tls_context_presented: bool | None = None
    """Set `tls_context`, with which Envoy matches requests by whether it got a certificate."""

    def resource(self) -> Any:
        """Return the xDS RouteMatch."""
        message = route_components_pb2.RouteMatch()
        if self.prefix is not None:
            message.prefix = self.prefix
        if self.path is not None:
            message.path = self.path
        if self.safe_regex is not None:
            message.safe_regex.google_re2.SetInParent()
            message.safe_regex.regex = self.safe_regex
        if self.case_sensitive is not None:
            message.case_sensitive.value = self.case_sensitive
        message.headers.extend(header.resource() for header in self.headers)
        if self.fraction is not None:
            share = message.runtime_fraction
            share.default_value.numerator = self.fraction.numerator
            share.default_value.denominator = percent_pb2.FractionalPercent.DenominatorType.Value(
                self.fraction.denominator
            )
            share.runtime_key = self.fraction.runtime_key
        if self.query_parameter is not None:
            message.query_parameters.add(name=self.query_parameter, present_match=True)
        if self.grpc:
            message.grpc.SetInParent()
        if self.tls_context_presented is not None:
            message.tls_context.presented.value = self.tls_context_presented
        return message

    def __str__(self) -> str:
        words = [
            f"{kind} {value!r}"
            for kind in ("prefix", "path", "safe_regex")
            if (value := getattr(self, kind)) is not None
        ]
        if self.case_sensitive is not None:
            words.append(f"case_sensitive {self.case_sensitive}")
        words += map(str, self.headers)
        if self.fraction is not None:
            words.append(str(self.fraction))
        if self.query_parameter is not None:
            words.append(f"query parameter {self.query_parameter}")
        if self.grpc:
            words.append("grpc")
        if self.tls_context_presented is not None:
            words.append(f"tls_context presented {self.tls_context_presented}")
        return ", ".join(words) or "no path_specifier"
