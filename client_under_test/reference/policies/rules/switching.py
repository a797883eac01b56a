"""When one policy takes the place of another, as a rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from client_under_test.reference.policies.interface import FailPicker, Report
from client_under_test.reference.values import State, Status


def needs_another(before: object, now: object) -> bool:
    """A37, A42-CDS-32: whether another policy is begun beside the old one.

    That is the kind of the policy, and for xds_cluster_resolver its list of leaves as well.
    """
    return before != now


def takes_over(pending: State, current: State) -> bool:
    """A37, A42-CDS-32: the new policy has come to something, or the old one does not serve."""
    return pending is not State.CONNECTING or current is not State.READY


def failed_cluster(status: Status) -> Report:
    """A37: a cluster that cannot be used is in TRANSIENT_FAILURE."""
    return Report(State.TRANSIENT_FAILURE, FailPicker(status))


def as_reported(report: Report) -> Report:
    """Who takes over speaks for itself, and until then the old policy serves.

    Clauses: A42-CDS-32, A52-CHANGE-02.
    """
    return report


@dataclass(frozen=True, kw_only=True)
class SwitchRules:
    """What a graceful switch goes by."""

    needs_another_policy: Callable[[object, object], bool] = needs_another
    """Of what tells apart the instances that the config before and the one now are for."""
    takes_over: Callable[[State, State], bool] = takes_over
    """Of the states of the new policy and of the old one."""
    failed_cluster: Callable[[Status], Report] = failed_cluster
    taken_over: Callable[[Report], Report] = as_reported
