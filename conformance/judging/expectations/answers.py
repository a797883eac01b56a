"""Expectations of an ACK or a NACK."""

from __future__ import annotations

import msgspec

from conformance.judging.expectations.weighing import Finding, WrongKind
from conformance.judging.seen import Answer, Seen


class Answered(msgspec.Struct, frozen=True, tag="answered"):
    """The client ACKs the response, or NACKs it.

    Clauses: A42-CDS-08, A42-CDS-09, A42-CDS-10, A42-CDS-11, A42-CDS-13, A42-CDS-14, A42-CDS-16,
    A42-CDS-17, A42-CDS-18, A42-CDS-21, A42-KIND-01, A42-KIND-02, A42-KIND-03, A42-KIND-04,
    A42-KIND-05, A42-LOC-09, A42-RING-20, A76-REQ-10, A76-REQ-11.
    """

    acked: bool

    def finding(self, seen: Seen) -> Finding:
        """Weigh an answer."""
        answer = _answer(seen)
        wanted = f"{'ACK' if self.acked else 'NACK'} of {answer.kind} version {answer.version}"
        return Finding(answer.acked == self.acked, wanted, _said(answer))


class NamesWhatHolds(msgspec.Struct, frozen=True, tag="names_what_holds"):
    """The answer names the version in force after it: that of the response only if it ACKs it.

    Clauses: A42-CDS-30.
    """

    def finding(self, seen: Seen) -> Finding:
        """Weigh an answer."""
        answer = _answer(seen)
        holds = answer.version if answer.acked else answer.accepted
        wanted = f"an answer to {answer.kind} version {answer.version} that names version {holds}"
        saw = f"{_said(answer)}; it names version {answer.told or '(empty)'}"
        return Finding(answer.told == holds, wanted, saw)


class SaysWhy(msgspec.Struct, frozen=True, tag="says_why"):
    """A NACK that says in words what is wrong.

    Clauses: A42-CDS-31.
    """

    def finding(self, seen: Seen) -> Finding:
        """Weigh an answer."""
        answer = _answer(seen)
        wanted = f"a NACK of {answer.kind} version {answer.version} that says what is wrong"
        return Finding(not answer.acked and bool(answer.error_detail), wanted, _said(answer))


def _answer(seen: Seen) -> Answer:
    if not isinstance(seen, Answer):
        raise WrongKind(f"an answer is expected here, not {type(seen).__name__}")
    return seen


def _said(answer: Answer) -> str:
    return "ACK" if answer.acked else f"NACK: {answer.error_detail or 'without a word'}"
