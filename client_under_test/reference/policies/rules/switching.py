"""When one policy takes the place of another, as a rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from client_under_test.reference.policies.interface import FailPicker, Report
from client_under_test.reference.values import State, Status


def needs_new_policy(before: object, now: object) -> bool:
    """A37, A42-CDS-32: return whether an update needs a new policy instance next to the old one.

    Compares the kinds of the policies, and the lists of leaves of xds_cluster_resolver.
    """
    return before != now


def replaces_old_policy(pending: State, current: State) -> bool:
    """A37, A42-CDS-32: the new policy has left CONNECTING, or the old one is not READY."""
    return pending is not State.CONNECTING or current is not State.READY


def failed_cluster(status: Status) -> Report:
    """A37: a cluster that cannot be used is in TRANSIENT_FAILURE."""
    return Report(State.TRANSIENT_FAILURE, FailPicker(status))


def report_of_new_policy(report: Report) -> Report:
    """Use the new policy's own report once it takes over; until then the old policy serves.

    Clauses: A42-CDS-32, A52-CHANGE-02.
    """
    return report


@dataclass(frozen=True, kw_only=True)
class SwitchRules:
    """The rules of a graceful switch."""

    needs_new_policy: Callable[[object, object], bool] = needs_new_policy
    """Takes the `instance` keys of the old and the new config."""
    replaces_old_policy: Callable[[State, State], bool] = replaces_old_policy
    """Takes the states of the new policy and of the old policy."""
    failed_cluster: Callable[[Status], Report] = failed_cluster
    report_of_new_policy: Callable[[Report], Report] = report_of_new_policy
