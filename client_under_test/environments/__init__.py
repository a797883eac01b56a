"""What a client needs before it starts: its tools, its build, its packages."""

from client_under_test.environments.environments import (
    Prepared,
    cache,
    kept,
    prepare,
)

__all__ = [
    "Prepared",
    "cache",
    "kept",
    "prepare",
]
