"""Mark the methods that carry out the faults of control.proto, and find them by fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_Method = TypeVar("_Method", bound=Callable[..., Any])

_MARK = "_fault"


def fault(name: str) -> Callable[[_Method], _Method]:
    """Mark the method that carries out a fault, by the name of its field in control.proto.

    Its parameters have the names of the fields of the fault's message. `kinds` may be positional.
    """

    def mark(method: _Method) -> _Method:
        setattr(method, _MARK, name)
        return method

    return mark


def faults_of(*owners: object) -> dict[str, Callable[..., Any]]:
    """Return the marked methods of these objects, by fault."""
    return {
        getattr(method, _MARK): getattr(owner, name)
        for owner in owners
        for name, method in vars(type(owner)).items()
        if hasattr(method, _MARK)
    }
