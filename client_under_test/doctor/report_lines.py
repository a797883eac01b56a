"""The lines that the doctor prints about its findings. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from client_under_test.doctor.check import Finding
from client_under_test.doctor.rules import every_check

UNSEEN = (
    "note     not checked: that retries are off, that channels share no subchannels, and xDS itself"
)
"""What a healthy adapter may still have wrong."""

_PLACES: Final = {
    "version": "in client.toml and in the program",
    "name": "of the library in the program",
    "issues": "in client.toml",
}
"""Where the skeleton has its placeholders."""


def lines(finding: Finding, earlier: Iterable[Finding] = ()) -> Iterator[str]:
    """Return the lines of a finding.

    Some checks are listed at the end only: those that wait for another check, those that need a
    missing capability, and those that a cause broke which an earlier finding describes.
    """
    if finding.waits_for or finding.missing or first_of(finding, earlier):
        return
    yield f"{finding.verdict:7}  {finding.check:15}  {finding.rule}"
    if finding.seen:
        mark = "saw: " if finding.verdict == "wrong" else ""
        yield f"{'':26}{mark}{finding.seen}".replace("\n", f"\n{'':28}")
    if finding.verdict == "wrong":
        yield f"{'':26}do:  {finding.advice}"
        yield f"{'':26}see: {finding.section}"
        if finding.exchange:
            yield f"{'':26}the last lines: > to the adapter, < from the adapter"
            yield from (f"{'':28}{line}" for line in finding.exchange)


def first_of(finding: Finding, earlier: Iterable[Finding]) -> str | None:
    """Return the earlier check that the cause of this finding broke first."""
    if not finding.cause:
        return None
    return next((other.check for other in earlier if other.cause == finding.cause), None)


def last_lines(
    name: str, findings: Sequence[Finding], placeholders: Mapping[str, str]
) -> Iterator[str]:
    """Return the final lines: the overall result, and the author's next step.

    Args:
        name: the adapter's.
        findings: one for each check that was considered.
        placeholders: values of the skeleton that the author has not changed, by what has them.
    """
    wrong = [finding.check for finding in findings if finding.verdict == "wrong"]
    waiting = [finding.check for finding in findings if finding.waits_for]
    likewise: dict[str, list[str]] = {}
    for number, finding in enumerate(findings):
        if first := first_of(finding, findings[:number]):
            likewise.setdefault(first, []).append(finding.check)
    for first, same in likewise.items():
        yield f"likewise {', '.join(same)}: the same as {first}"
    if waiting:
        yield f"later    {', '.join(waiting)}"
    able = {finding.check for finding in findings if not finding.missing}
    unlisted = [check.name for check in every_check() if check.name not in able]
    if unlisted:
        yield f"skipped  {', '.join(unlisted)}: client.toml does not declare their capabilities"
    undeclared = len(unlisted)
    if not wrong:
        if placeholders:
            named = "; ".join(f"`{what}` {_PLACES[what]}" for what in placeholders)
            yield f"note     still the skeleton's: {named}"
        yield UNSEEN
        rules = "1 rule needs" if undeclared == 1 else f"{undeclared} rules need"
        for_want = f"; {rules} capabilities that client.toml does not declare"
        yield f"{name}: healthy{for_want if undeclared else ''}"
        return
    right = sum(finding.verdict == "ok" for finding in findings)
    others = {
        "wrong": len(wrong),
        "to check": len(waiting),
        "not declared": undeclared,
        "skipped": len(every_check()) - right - len(wrong) - len(waiting) - undeclared,
    }
    rest = ", ".join(f"{count} {what}" for what, count in others.items() if count)
    yield f"{name}: {right} of {len(every_check())} rules ok, {rest}; next: {wrong[0]}"
