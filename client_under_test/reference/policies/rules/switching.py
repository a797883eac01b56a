"""When one policy takes the place of another, as a rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from client_under_test.reference.policies.interface import Report


def as_reported(report: Report) -> Report:
    """A42-CDS-32: who takes over speaks for itself, and until then the old policy serves."""
    return report


@dataclass(frozen=True, kw_only=True)
class SwitchRules:
    """What a graceful switch goes by."""

    taken_over: Callable[[Report], Report] = as_reported
