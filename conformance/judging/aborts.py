"""The ways in which a scenario can end early, apart from those that the contract's layer knows.

``conformance.judging.causes`` says what each of them means for the clauses of the scenario.
"""

from __future__ import annotations

from conformance.judging.verdicts import Cause


class ResourceRejected(Exception):
    """The client NACKed a resource on which the scenario builds.

    Args:
        what: what happened, in words.
        cause: what another scenario may have ended by, too.
    """

    def __init__(self, what: str, cause: Cause | None = None) -> None:
        super().__init__(what)
        self.cause = cause


class NoAckOrNack(Exception):
    """The client did neither ACK nor NACK in time. Who never asks for a resource is ClientStuck."""


class ReportContradicted(Exception):
    """What the client reported and what the backends counted cannot both be true."""


class Unsupported(Exception):
    """The client cannot do what the scenario asks of it, as its manifest says."""


class PreconditionTimeout(Exception):
    """The client did not get in time to where the scenario wanted it before looking.

    Args:
        what: what happened, in words.
        expectation: the kind of expectation that was not met, if it was one.
    """

    def __init__(self, what: str, expectation: str = "") -> None:
        super().__init__(what)
        self.expectation = expectation


class SuiteTimeout(Exception):
    """The suite did not bring about in time what the scenario wanted before looking."""


class WrongOutcome(Exception):
    """A request that was to bring the client there ended otherwise than one of a right client.

    Args:
        what: what happened, in words.
        expectation: the kind of expectation that was not met, if it was one.
    """

    def __init__(self, what: str, expectation: str = "") -> None:
        super().__init__(what)
        self.expectation = expectation


class RingUnknown(Exception):
    """Nothing is known of where this client's requests go on a ring."""


class HostNamesIgnored(Exception):
    """The client does not see the host names that its process was given."""


class NeverConnected(Exception):
    """The client made calls, and never came to the control plane."""


class ScenarioAbandoned(Exception):
    """The person in whose hands the scenario was has left it."""
