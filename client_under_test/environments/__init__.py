"""What a client needs before it starts: its tools, its build, its packages."""

from client_under_test.environments.environments import Prepared, kept, prepare
from client_under_test.environments.identity import Identity
from client_under_test.environments.places import cache

__all__ = [
    "Identity",
    "Prepared",
    "cache",
    "kept",
    "prepare",
]
