"""When one policy takes the place of another, as a rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from client_under_test.reference.policies.interface import Report


def needs_another(before: object, now: object) -> bool:
    """A37, A42-CDS-32: whether another policy is begun beside the old one.

    That is the kind of the policy, and for xds_cluster_resolver its list of leaves as well.
    """
    return before != now


def as_reported(report: Report) -> Report:
    """A42-CDS-32: who takes over speaks for itself, and until then the old policy serves."""
    return report


@dataclass(frozen=True, kw_only=True)
class SwitchRules:
    """What a graceful switch goes by."""

    needs_another_policy: Callable[[object, object], bool] = needs_another
    """Of what tells apart the instances that the config before and the one now are for."""
    taken_over: Callable[[Report], Report] = as_reported
