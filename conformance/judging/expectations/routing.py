"""Expect the routes that requests take."""

from __future__ import annotations

from conformance.judging.expectations.finding import Finding, WrongKind, calls_of, headers_of
from conformance.judging.expectations.timing_sensitivity import CallsCanBeLate
from conformance.judging.observations import Call, Observation

MOST_SHOWN = 4


class RoutedTo(CallsCanBeLate, frozen=True, tag="routed"):
    """Each call succeeds, at the cluster of the route that it must take."""

    clusters: tuple[tuple[str, str], ...]
    """Each cluster's name, and the address of its only endpoint."""
    expected: tuple[str, ...]
    """The name of the cluster of each call, in the order of the calls."""

    def finding(self, seen: Observation) -> Finding:
        """Weigh calls.

        Raises:
            WrongKind: there are not as many calls as clusters are expected.
        """
        calls = calls_of(seen)
        if len(calls) != len(self.expected):
            raise WrongKind(f"{len(calls)} calls, and the clusters of {len(self.expected)}")
        names = {address: name for name, address in self.clusters}
        wrong = [
            f"{_named(call)} {_reached(call, names)}, and not {name}"
            for call, name in zip(calls, self.expected, strict=True)
            if call.status != "OK" or names.get(call.endpoint or "") != name
        ]
        more = f"; and {len(wrong) - MOST_SHOWN} more" if len(wrong) > MOST_SHOWN else ""
        saw = "; ".join(wrong[:MOST_SHOWN]) + more
        return Finding(
            not wrong,
            f"each of {len(calls)} calls at the cluster of the first route that it matches",
            saw or f"all {len(calls)} calls so",
            "the routes, and the table of the scenario",
            wrong=len(wrong) / len(calls),
        )


def _named(call: Call) -> str:
    return f"{call.path.rpartition('/')[2]} with {headers_of(call)}"


def _reached(call: Call, names: dict[str, str]) -> str:
    if call.status != "OK":
        return f"ended {call.status} ({call.details or 'no details'})"
    return f"reached {names.get(call.endpoint or '', call.endpoint)}"
