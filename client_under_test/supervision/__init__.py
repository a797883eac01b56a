"""Run commands that end with their parent process and leave no process behind."""

from client_under_test.supervision.supervisor import guarded

__all__ = ["guarded"]
