"""What was decided in the hands of a person, by whose calls, and what was not. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from conformance.judging.evidence import Record
from conformance.judging.verdicts import Decision, Verdict

BY_HAND: Final = "by hand"
_UNDECIDED: Final = {Verdict.SKIP, Verdict.ERROR}
_STYLES: Final = {Verdict.FAIL: "red", Verdict.PASS: "green"}


class Step(msgspec.Struct, frozen=True):
    """Something that the scenario asked for, and who did it."""

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
    """Lines, each with the style that a terminal may give it."""
    lines = [("", ""), (f"{record.scenario}: what was decided", "bold")]
    lines += [
        (f"  step {number}, {step.by}: {step.what}", "") for number, step in enumerate(steps, 1)
    ]
    if not steps:
        lines.append(("  no call was made", ""))
    two = is_of_two(steps)
    if two:
        words = (
            f"What was seen is of two clients, yours and {adapter}: nothing is decided of either."
        )
        lines.append((f"  {words}", "yellow"))
    elif steps and steps[0].by == BY_HAND:
        words = "Where calls went is read from the backends; how those ended that none has answered"
        lines.append((f"  {words} is what you said. Judged by what {adapter} states.", ""))
    looks: dict[tuple[str, Verdict], list[Decision]] = {}
    for decision in record.decisions:
        looks.setdefault((decision.clause, decision.verdict), []).append(decision)
    for (clause, verdict), (first, *more) in looks.items():
        is_open = two or verdict in _UNDECIDED
        word, style = ("open", "") if is_open else (verdict.value, _STYLES.get(verdict, ""))
        also = f" (and {len(more)} more times so)" if more else ""
        lines.append((f"  {word:<5} {clause}: {first.saw}{also}", style))
        if first.wanted and verdict is Verdict.FAIL and not is_open:
            lines.append((f"        wanted: {first.wanted}", ""))
    return lines
