"""Checks an adapter against the contract, on plain channels to a backend of its own: no xDS.

What fails here is the adapter's trouble and is never reported as a client's non-conformance. The
checks are in the order in which an author writes an adapter, and lead through the contract.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from client_under_test.contract.exceptions import (
    ClientCrashed,
    ClientExited,
    ClientUnresponsive,
    ClockWrong,
    ConversationFailed,
    NotSeen,
    NotStarted,
    ProtocolError,
)
from client_under_test.contract.messages import NEWEST
from client_under_test.doctor.adapter_under_check import AdapterUnderCheck
from client_under_test.doctor.backend import Backend
from client_under_test.doctor.check import HELLO, Check, Finding, Verdict
from client_under_test.doctor.requirements import MissingCapability, NotApplicable, Violation
from client_under_test.doctor.rules import SECTIONS, checks_for, every_check
from client_under_test.environments import Prepared
from client_under_test.scaffold import FIRST_PROGRAM
from regular_files import read_text

_ASKED: Final = f'{{"type": "hello", "id": 0, "contract": {NEWEST}}}'


class BackendFailed(Exception):
    """The doctor's own backend failed, so nothing that was found judges the adapter."""


async def examine(
    prepared: Prepared, *, folder: Path, say: Callable[[str], None] = lambda _line: None
) -> tuple[Finding, ...]:
    """Run every check on an adapter, in order.

    Args:
        prepared: the adapter.
        folder: gets its stderr, and what else a check needs.
        say: receives each line of the result as soon as it is known.

    Raises:
        BackendFailed: the doctor's backend failed.
    """
    findings: list[Finding] = []
    async with Backend.running() as backend:
        adapter = AdapterUnderCheck(prepared, folder, backend, say)
        examination = _Examination(adapter)
        try:
            for check in checks_for(prepared.client.manifest.capabilities):
                findings.append(await examination.finding_of(check))
                for line in _lines(findings[-1]):
                    say(line)
        finally:
            await adapter.end()
        await backend.probe()
        if backend.troubles:
            why = "; ".join(backend.troubles)
            raise BackendFailed(
                f"the doctor's backend failed ({why}), so these findings do not judge the adapter: "
                "run xdspec doctor again"
            )
    for line in _last_lines(prepared.name, findings):
        say(line)
    return tuple(findings)


def is_healthy(findings: Sequence[Finding]) -> bool:
    """Return whether the adapter follows every rule that could be checked."""
    return all(finding.verdict != "wrong" for finding in findings)


class _Examination:
    """One check after the other, each only if those that it builds on have not failed."""

    def __init__(self, adapter: AdapterUnderCheck) -> None:
        self._adapter = adapter
        self._blocked: dict[str, str] = {}  # checks that say nothing, and on account of which
        self._has_program = True

    async def finding_of(self, check: Check) -> Finding:
        """One check's finding."""
        missing = [
            capability for capability in check.needs if not self._adapter.is_able(capability)
        ]
        verdict: Verdict = "skipped"
        advice = check.advice
        section = f"contract.md, {SECTIONS[check.name]}"
        waits_for = self._blocked.get(check.after) or self._blocked.get(HELLO)
        self._adapter.exchange.clear()
        if missing:
            names = " and ".join(f"`{capability}`" for capability in missing)
            seen = f"client.toml does not declare {names}, which this rule needs"
        elif waits_for:
            self._blocked[check.name] = waits_for
            seen = f"it waits for {waits_for}"
        else:
            verdict, seen, advice = await self._findings_of(check)
            if not self._has_program:
                section = "README.md, The first program"
        return Finding(
            check=check.name,
            rule=check.rule,
            advice=advice,
            verdict=verdict,
            seen=seen,
            missing=tuple(missing),
            waits_for=None if missing else waits_for,
            section=section,
            exchange=self._adapter.exchange.lines if verdict == "wrong" else (),
        )

    async def _findings_of(self, check: Check) -> tuple[Verdict, str, str]:
        """Verdict, what was seen, and what to do."""
        try:
            await check.run(self._adapter)
        except (Violation, NotSeen) as wrong:
            if isinstance(wrong, NotApplicable):
                self._blocked[check.name] = check.name
            return "wrong", str(wrong), check.advice
        except MissingCapability as lacking:
            return "skipped", str(lacking), check.advice
        except ConversationFailed as failure:
            self._blocked[check.name if self._adapter.is_running else HELLO] = check.name
            self._has_program = not (isinstance(failure, NotStarted) and self._is_scaffold)
            await self._adapter.end()
            return "wrong", failure.with_last_words(), self._advice(failure) or check.advice
        return "ok", "", check.advice

    def _advice(self, failure: ConversationFailed) -> str | None:
        """Return advice on a failure of the conversation; None: the check has its own advice."""
        if isinstance(failure, ProtocolError):
            return "write messages to stdout, each on a line, and nothing else: logs go to stderr"
        if isinstance(failure, ClockWrong):
            return "read one monotonic clock at the moment of each event, and report that time"
        if isinstance(failure, NotStarted):
            return "let the command under [start] in client.toml name a program that is there"
        if isinstance(failure, ClientUnresponsive):
            return f"answer each line as it comes, and flush stdout after each; {self._by_hand()}"
        if isinstance(failure, ClientExited | ClientCrashed) and not failure.hello_said:
            return self._by_hand()
        return None

    @property
    def _is_scaffold(self) -> bool:
        """Return whether the client's README.md still describes the first program."""
        readme = self._adapter.prepared.client.folder / "README.md"
        return readme.is_file() and FIRST_PROGRAM in read_text(readme)

    def _by_hand(self) -> str:
        return f"start it by hand and type {_ASKED}: {shlex.join(self._adapter.prepared.command)}"


def _lines(finding: Finding) -> Iterator[str]:
    """Return the lines of a finding; checks that wait for another check are listed at the end."""
    if finding.waits_for:
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


def _last_lines(name: str, findings: Sequence[Finding]) -> Iterator[str]:
    """Return the final lines: the overall result, and the author's next step."""
    wrong = [finding.check for finding in findings if finding.verdict == "wrong"]
    waiting = [finding.check for finding in findings if finding.waits_for]
    if waiting:
        yield f"later    {', '.join(waiting)}"
    if not wrong:
        skipped = sum(bool(finding.missing) for finding in findings)
        for_want = f"; {skipped} rules need capabilities that client.toml does not declare"
        yield f"{name}: healthy{for_want if skipped else ''}"
        return
    right = sum(finding.verdict == "ok" for finding in findings)
    undeclared = sum(bool(finding.missing) for finding in findings) + len(every_check())
    undeclared -= len(findings)  # those of version 2 have no finding
    others = {
        "wrong": len(wrong),
        "to check": len(waiting),
        "not declared": undeclared,
        "skipped": len(every_check()) - right - len(wrong) - len(waiting) - undeclared,
    }
    rest = ", ".join(f"{count} {what}" for what, count in others.items() if count)
    yield f"{name}: {right} of {len(every_check())} rules ok, {rest}; next: {wrong[0]}"
