"""Which scenarios run a second time, alone, and what stands of the first time. Pure."""

from __future__ import annotations

import msgspec

from conformance import timing
from conformance.judging.evidence import Record
from conformance.judging.verdicts import Reason, Verdict
from conformance.runner.progress import Known
from conformance.runner.selection import Ident


def ident(record: Record) -> Ident:
    """What ran: a scenario, of a mutant or of the client."""
    return record.mutant, record.scenario


def is_doubtful(record: Record, known: Known) -> bool:
    """Whether the suite was late, or a client was kept from working and failed as nobody knew.

    Only a failure that lateness alone can bring about is doubted. A mutant is meant to fail, and
    works hard while the suite asks what it might be following.
    """
    late = any(one.reason is Reason.TIMING for one in record.decisions)
    failed = any(
        one.verdict is Verdict.FAIL and one.excusable and not known(record.scenario, one)
        for one in record.decisions
    )
    return late or (failed and record.starved > timing.STARVED and not record.mutant)


def with_what_stands(again: Record, first: Record) -> Record:
    """What a scenario says that ran again alone, and failures of the first time that stand.

    A second try overrules only what lateness may have brought about.
    """
    stand = tuple(
        one for one in first.decisions if one.verdict is Verdict.FAIL and not one.excusable
    )
    return msgspec.structs.replace(
        again,
        decisions=(*again.decisions, *stand),
        beside_others=first.decisions,
        evidence=first.evidence if stand else again.evidence,
    )
