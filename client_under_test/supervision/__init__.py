"""Commands that end with whoever started them, and leave nothing."""

from client_under_test.supervision.supervisor import guarded

__all__ = ["guarded"]
