"""Expect an ACK or a NACK."""

from __future__ import annotations

from conformance.judging.expectations.finding import Finding, WrongKind
from conformance.judging.expectations.timing_sensitivity import TimeIndependent
from conformance.judging.observations import Answer, Observation


class AckedOrNacked(TimeIndependent, frozen=True, tag="answered"):
    """The client ACKs the response, or NACKs it.

    Clauses: A27-VALID-01, A27-VALID-02, A27-VALID-03, A27-VALID-04, A27-VALID-05, A27-VALID-06,
    A27-VALID-07, A27-VALID-08, A27-VALID-09, A27-CDS-01, A27-CDS-02, A27-CDS-03, A27-CDS-04,
    A27-CDS-07, A27-CDS-10, A27-DROP-10, A27-DROP-14, A29-CDS-01, A29-CDS-02, A29-CDS-03,
    A29-CDS-04, A29-CDS-05, A29-CDS-06, A29-CDS-07, A29-CDS-08, A29-CDS-09, A29-CDS-10, A29-CDS-11,
    A37-VALID-01, A37-VALID-02, A37-VALID-03, A37-VALID-04, A37-VALID-05, A37-VALID-06,
    A37-VALID-07, A37-VALID-08, A37-VALID-09, A37-VALID-10, A37-VALID-11, A37-VALID-12,
    A37-VALID-13, A37-VALID-14, A37-VALID-15, A37-VALID-16, A37-VALID-17, A37-VALID-18,
    A37-VALID-19, A37-VALID-20, A37-VALID-21, A37-VALID-22, A37-VALID-23, A37-VALID-24,
    A37-VALID-25, A37-VALID-26, A37-VALID-27, A37-VALID-29, A42-CDS-08, A42-CDS-09, A42-CDS-10,
    A42-CDS-11, A42-CDS-13, A42-CDS-14, A42-CDS-16, A42-CDS-17, A42-CDS-18, A42-CDS-21, A42-KIND-01,
    A42-KIND-02, A42-KIND-03, A42-KIND-04, A42-KIND-05, A42-LOC-09, A42-RING-20, A46-NACK-01,
    A46-NACK-02, A46-NACK-04, A46-NACK-06, A47-CDS-01, A47-CDS-02, A47-CDS-03, A47-CDS-04,
    A50-CDS-01, A50-CDS-02, A50-CDS-03, A50-CDS-04, A50-CDS-05, A50-CDS-06, A50-CDS-07, A50-CDS-08,
    A50-CDS-09, A50-CDS-10, A52-CHANGE-01, A52-CHANGE-04, A52-CUSTOM-05, A52-CUSTOM-07,
    A52-CUSTOM-08,
    A52-CUSTOM-14, A52-DEPTH-01, A52-DEPTH-02, A52-DEPTH-03, A52-DEPTH-04, A52-FIELD-01,
    A52-FIELD-02, A52-FIELD-03, A52-FIELD-04, A52-FIELD-05, A52-INPUT-01, A52-INPUT-02,
    A52-INPUT-03, A52-INPUT-04, A52-INPUT-05, A52-INPUT-06, A52-LIST-01, A52-LIST-02, A52-LIST-03,
    A52-LIST-04, A52-LIST-05, A52-LIST-06, A52-LIST-07, A52-LIST-08, A52-LIST-09, A52-LIST-10,
    A52-LIST-11, A52-LIST-12, A52-LIST-13, A52-RING-01, A52-RING-02, A52-RING-03, A52-RING-04,
    A58-WRR-01, A58-WRR-02, A58-WRR-03, A58-WRR-04, A58-WRR-05,
    A52-RING-05, A52-RING-06, A52-RING-07, A52-RING-08, A52-LIST-15, A52-LIST-16, A52-RING-09,
    A52-CHANGE-05, A27-WEIGHT-01, A76-REQ-10, A76-REQ-11, A52-LIST-17, A52-FIELD-06, A52-FIELD-07,
    A52-INPUT-07, A48-LEAST-05, A28-SPLIT-01.
    """

    acked: bool

    def finding(self, seen: Observation) -> Finding:
        """Weigh an answer."""
        answer = _answer(seen)
        wanted = f"{'ACK' if self.acked else 'NACK'} of {answer.kind} version {answer.version}"
        return Finding(answer.acked == self.acked, wanted, _said(answer))


class AnswerVersion(TimeIndependent, frozen=True, tag="names_what_holds"):
    """The answer names the version in force after it: that of the response only if it ACKs it.

    Clauses: A42-CDS-30, A46-NACK-07.
    """

    def finding(self, seen: Observation) -> Finding:
        """Weigh an answer."""
        answer = _answer(seen)
        holds = answer.version if answer.acked else answer.accepted
        wanted = f"an answer to {answer.kind} version {answer.version} that names version {holds}"
        saw = f"{_said(answer)}; it names version {answer.told or '(empty)'}"
        return Finding(answer.told == holds, wanted, saw)


class NackVersion(TimeIndependent, frozen=True, tag="names_the_response"):
    """The answer names the version of the response, although a NACK.

    Clauses: A46-NACK-07.
    """

    def finding(self, seen: Observation) -> Finding:
        """Weigh an answer."""
        answer = _answer(seen)
        wanted = f"a NACK of {answer.kind} version {answer.version} that names that version"
        saw = f"{_said(answer)}; it names version {answer.told or '(empty)'}"
        return Finding(not answer.acked and answer.told == answer.version, wanted, saw)


class NackHasDetail(TimeIndependent, frozen=True, tag="says_why"):
    """A NACK that says in words what is wrong.

    Clauses: A42-CDS-31, A46-NACK-04.
    """

    def finding(self, seen: Observation) -> Finding:
        """Weigh an answer."""
        answer = _answer(seen)
        wanted = f"a NACK of {answer.kind} version {answer.version} that says what is wrong"
        return Finding(not answer.acked and bool(answer.error_detail), wanted, _said(answer))


class NackNames(TimeIndependent, frozen=True, tag="names_each"):
    """A NACK whose error_detail has each of these names, or lacks at least one.

    Clauses: A46-NACK-05.
    """

    names: tuple[str, ...]
    has_all: bool = True

    def finding(self, seen: Observation) -> Finding:
        """Weigh an answer."""
        answer = _answer(seen)
        names_all = all(name in answer.error_detail for name in self.names)
        does = "names" if self.has_all else "does not name both"
        wanted = f"a NACK of {answer.kind} version {answer.version} that {does} "
        wanted += " and ".join(self.names)
        return Finding(not answer.acked and names_all is self.has_all, wanted, _said(answer))


def _answer(seen: Observation) -> Answer:
    if not isinstance(seen, Answer):
        raise WrongKind(f"an answer is expected here, not {type(seen).__name__}")
    return seen


def _said(answer: Answer) -> str:
    return "ACK" if answer.acked else f"NACK: {answer.error_detail or 'without a word'}"
