"""Interactive mode: print what happens in a world, and let the user steer it and make calls."""

from conformance.cli.interactive.output import Printer
from conformance.cli.interactive.session import InteractiveSession

__all__ = ["InteractiveSession", "Printer"]
