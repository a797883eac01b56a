"""Describe the calls that a scenario requests, and summarize which verdicts rest on whose calls."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from client_under_test.launching.channels import CALL_ID_KEY
from client_under_test.launching.channels import Call as PlannedCall
from conformance.judging.evidence import Record
from conformance.judging.verdicts import Decision, Verdict

_SHOWN: Final = 3
"""Different values of a key that are listed, and not only counted."""


class RequestedCalls(msgspec.Struct, frozen=True, kw_only=True):
    """Something that the scenario wants to be done."""

    what: str
    """The step, as the start of a sentence."""
    details: tuple[tuple[str, str], ...] = ()
    """Details of the step, each with a heading."""
    until: str
    """The condition that ends the step."""
    wants_status: bool = False
    """True if the suite needs the status of calls that no backend has answered."""
    is_step: bool = True
    """False if the request belongs to an earlier step."""
    is_for_adapter: bool = False
    """True if only an adapter can do it."""

    def keys(self, adapter: str) -> str:
        """Return the possible replies."""
        if self.is_for_adapter:
            return f"`make`: {adapter} does it with its own client · `done`: leave it open"
        if self.wants_status:
            return "`done STATUS`, such as `done UNAVAILABLE` · `done unknown`: leave it open"
        return f"`done`: you have done it · `make`: {adapter} does it · `help`"


class CallSite(msgspec.Struct, frozen=True):
    """Where calls are made."""

    channel: str
    target: str
    environment: Mapping[str, str | None] = {}
    """Extra environment variables of the channel's process; None removes a variable."""
    is_known: bool = False
    """True if calls were requested there before."""

    def words(self) -> str:
        """Return the channel and its target, and how its process differs from others."""
        beside = [
            f"without {name}" if value is None else f"with {name}={value}"
            for name, value in self.environment.items()
        ]
        more = f", in a process of its own, {' and '.join(beside)}" if beside else ""
        return f"{self.channel} to {self.target}{more}"


def calls(
    planned: Sequence[PlannedCall],
    place: CallSite,
    *,
    concurrency: int | None,
    pace: float | None,
    file: str,
    beside: bool,
) -> RequestedCalls:
    """Return a step that asks the user to make calls.

    Args:
        planned: the calls.
        place: the channel.
        concurrency: the number of calls at once.
        pace: or the seconds from one call to the next.
        file: the file that lists all calls.
        beside: whether the scenario continues as soon as the calls are in progress.
    """
    first, *more = planned
    streams = "open stream" if first.kept_open else "call"
    what = f"{len(planned)} {streams}{'s' if more else ''} on {place.words()}"
    details = [] if place.is_known else [("channel", "new: keep it and its process until the end")]
    details += [("path", _path(first, planned)), *metadata(planned)]
    details += [("deadline", _deadlines(planned))]
    if any(call.wait_for_ready for call in planned):
        details.append(("wait_for_ready", "true"))
    if more:
        details.append(("how", _how(concurrency, pace)))
    details.append(("file", file))
    each = "each" if more else "it"
    until = f"{each} has ended"
    if first.kept_open:
        until = f"{each} is open, or has ended; then name the status: `done UNAVAILABLE`"
    if beside and not first.kept_open:
        until = "they are in progress: the scenario continues while they wait"
    return RequestedCalls(what=what, details=tuple(details), until=until)


def metadata(planned: Sequence[PlannedCall]) -> list[tuple[str, str]]:
    """Return a row for each key: its value, or the number of different values."""
    rows = []
    for key in dict.fromkeys(key for call in planned for key, _ in call.metadata):
        values = [
            ", ".join(_text(v) for name, v in call.metadata if name == key) for call in planned
        ]
        different = list(dict.fromkeys(values))
        shown = ", ".join(different[:_SHOWN])
        if len(different) > _SHOWN:
            shown += f", … ({len(different)} different values)"
        elif len(different) < len(planned) and len(different) > 1:
            shown += " (several with each)"
        rows.append(("metadata", f"{key}: {shown}"))
    return rows


def as_rows(planned: Sequence[PlannedCall]) -> bytes:
    """Return the calls as JSON, for a program of the user that makes them."""
    rows = [
        {
            "path": call.path,
            "metadata": [
                [key, _text(value)] for key, value in (*call.metadata, (CALL_ID_KEY, call.id))
            ],
            "deadline": call.deadline,
            "wait_for_ready": call.wait_for_ready,
            "kept_open": call.kept_open,
        }
        for call in planned
    ]
    return b"[\n" + b",\n".join(map(msgspec.json.encode, rows)) + b"\n]\n"


def _path(first: PlannedCall, planned: Sequence[PlannedCall]) -> str:
    others = len({call.path for call in planned}) - 1
    kind = "send no message, and leave it open" if first.kept_open else "an empty request"
    return f"{first.path}, {kind}" + (f" ({others} more paths in the file)" if others else "")


def _deadlines(planned: Sequence[PlannedCall]) -> str:
    return ", ".join(
        "none" if deadline is None else f"{deadline:g} s"
        for deadline in dict.fromkeys(call.deadline for call in planned)
    )


def _how(concurrency: int | None, pace: float | None) -> str:
    if pace is not None:
        return f"one each {pace:g} s"
    if concurrency == 1:
        return "one after another"
    return "all at once" if concurrency is None else f"up to {concurrency} at once"


def _text(value: str | bytes) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


BY_HAND: Final = "by hand"
_UNDECIDED: Final = {Verdict.SKIP, Verdict.ERROR}
_STYLES: Final = {Verdict.FAIL: "red", Verdict.PASS: "green"}


class Step(msgspec.Struct, frozen=True):
    """A step of the scenario, and who did it."""

    what: str
    by: str


def is_of_two(steps: Iterable[Step]) -> bool:
    """Return whether both the user's client and the adapter made calls: then neither is judged."""
    return len({step.by for step in steps}) > 1


def signed(record: Record, steps: Iterable[Step], adapter: str) -> Record:
    """Return the record with the name of the client that made the calls."""
    who = {step.by for step in steps}
    if who <= {adapter}:
        return record
    name = BY_HAND if who == {BY_HAND} else f"{BY_HAND} and {adapter}"
    client = msgspec.structs.replace(
        record.client, name=name, version=f"(as {adapter})", variant=None
    )
    return msgspec.structs.replace(record, client=client)


def summary(record: Record, steps: Sequence[Step], adapter: str) -> list[tuple[str, str]]:
    """Return the lines of the summary, each with its style on a terminal."""
    lines = [("", ""), (f"{record.scenario}: decisions", "bold")]
    lines += [
        (f"  step {number}, {step.by}: {step.what}", "") for number, step in enumerate(steps, 1)
    ]
    if not steps:
        lines.append(("  no call was made", ""))
    two = is_of_two(steps)
    if two:
        words = f"Two clients made the calls, yours and {adapter}: no verdict for either client."
        lines.append((f"  {words}", "yellow"))
    elif steps and steps[0].by == BY_HAND:
        words = "The backends show where calls went; you reported how unanswered calls ended."
        lines.append((f"  {words} Judged by the manifest of {adapter}.", ""))
    looks: dict[tuple[str, Verdict], list[Decision]] = {}
    for decision in record.decisions:
        looks.setdefault((decision.clause, decision.verdict), []).append(decision)
    for (clause, verdict), (first, *more) in looks.items():
        is_open = two or verdict in _UNDECIDED
        word, style = ("open", "") if is_open else (verdict.value, _STYLES.get(verdict, ""))
        also = f" (and {len(more)} more times)" if more else ""
        lines.append((f"  {word:<5} {clause}: {first.saw}{also}", style))
        if first.wanted and verdict is Verdict.FAIL and not is_open:
            lines.append((f"        expected: {first.wanted}", ""))
    return lines
