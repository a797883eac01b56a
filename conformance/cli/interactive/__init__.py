"""A world in the hands of a person: what is told, what he does to it, and who makes calls."""

from conformance.cli.interactive.printer import Printer
from conformance.cli.interactive.session import InteractiveSession

__all__ = ["InteractiveSession", "Printer"]
