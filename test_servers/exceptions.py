"""What can go wrong with a fleet, each with a class of its own."""

__all__ = [
    "DeadlinePassed",
    "FleetTrouble",
    "NoSuchAddress",
    "NotLoopback",
    "PortForbidden",
    "PortTaken",
]


class FleetTrouble(Exception):
    """The fleet cannot do what was asked of it: never the fault of a client under test."""


class NotLoopback(FleetTrouble):
    """An endpoint was asked for at an address that other machines may reach."""


class NoSuchAddress(FleetTrouble):
    """An endpoint was asked for at an address that this machine does not have, such as ::1."""


class PortTaken(FleetTrouble):
    """An endpoint's address and port are in use already."""


class PortForbidden(FleetTrouble):
    """The machine does not let this user listen at the port of name servers."""


class DeadlinePassed(FleetTrouble, TimeoutError):
    """What was waited for was not seen in time."""
