"""What can be wrong with what a control plane sends."""

from __future__ import annotations


class BadConfig(Exception):
    """A field of a resource or config cannot be used.

    Attributes:
        field: its path, dots between names, numbers in brackets.
        reason: what is wrong with it.
    """

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason
