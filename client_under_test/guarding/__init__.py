"""Commands that end with whoever started them, and leave nothing."""

from client_under_test.guarding.guard import guarded

__all__ = ["guarded"]
