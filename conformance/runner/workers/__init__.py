"""Workers of xdist, forked from a process that has imported the scenarios."""

from conformance.runner.workers.workers import (
    HANDOVER,
    forked,
)

__all__ = [
    "HANDOVER",
    "forked",
]
