"""The ways in which a scenario can end early, apart from those that the contract's layer knows.

``conformance.judging.causes`` says what each of them means for the clauses of the scenario.
"""

from __future__ import annotations

from typing import Final

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


class CauseIsKnown(Exception):
    """The client did what kept other scenarios of this run waiting to their ends.

    Args:
        what: a description of what happened.
        cause: what the scenarios have in common.
    """

    def __init__(self, what: str, cause: Cause) -> None:
        super().__init__(
            f"{what}. Other scenarios waited to their ends for that, so this one ended early"
        )
        self.cause = cause


class NoAckOrNack(Exception):
    """The client sent neither ACK nor NACK in time, although it requested the resource."""


class ReportContradicted(Exception):
    """The client's report and the backends' counts contradict each other."""


class Unsupported(Exception):
    """The client cannot do what the scenario needs, according to its manifest."""


class PreconditionTimeout(Exception):
    """The client did not get in time to where the scenario wanted it before looking.

    Args:
        what: a description of what happened.
        expectation: the kind of the expectation that was not met, if there was one.
    """

    def __init__(self, what: str, expectation: str = "") -> None:
        super().__init__(what)
        self.expectation = expectation


class SuiteTimeout(Exception):
    """The suite did not bring about a precondition of the scenario in time."""


class WrongOutcome(Exception):
    """A request of the set-up did not end as a conforming client's would.

    Args:
        what: a description of what happened.
        expectation: the kind of the expectation that was not met, if there was one.
    """

    def __init__(self, what: str, expectation: str = "") -> None:
        super().__init__(what)
        self.expectation = expectation


class RingUnknown(Exception):
    """Nothing is known of where this client's requests go on a ring."""


class HostNamesIgnored(Exception):
    """The client does not see the host names that its process was given."""


NEVER_CONNECTED: Final = "the client never opened a stream to the control plane"
"""How the description of a ``NeverConnected`` begins."""


class NeverConnected(Exception):
    """The client made calls, and never came to the control plane."""


class ScenarioAbandoned(Exception):
    """The person in whose hands the scenario was has left it."""
