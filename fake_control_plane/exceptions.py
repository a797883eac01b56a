"""What can go wrong, one class each; every message is one sentence for the user."""

from __future__ import annotations


class ControlPlaneTrouble(Exception):
    """Anything that the control plane cannot do for its user."""


class DeadlinePassed(ControlPlaneTrouble):
    """What was waited for did not come in time; the message lists what came instead."""


class PortTaken(ControlPlaneTrouble):
    """The address asked for cannot be listened on."""


class BadResource(ControlPlaneTrouble):
    """What was given to be served is no resource that an aggregated discovery service serves."""


class BadResourceFile(ControlPlaneTrouble):
    """A file of resources cannot be read; the message names the file and the field."""


class NoSuchFolder(ControlPlaneTrouble):
    """The folder of resources is not there."""


class BadFault(ControlPlaneTrouble):
    """A fault or setting was asked for that cannot be carried out as given."""


class TokenNeeded(ControlPlaneTrouble):
    """The control service would be open to other machines without a token."""
