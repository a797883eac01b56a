"""Checks an adapter against the contract, on plain channels to a backend of its own: no xDS.

What fails here is the adapter's trouble and is never reported as a client's non-conformance. The
checks are in the order in which an author writes an adapter, and lead through the contract.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from client_under_test.contract.exceptions import (
    ClientCrashed,
    ClientExited,
    ClientUnresponsive,
    ClockWrong,
    ConversationFailed,
    DoneMissing,
    Fault,
    NotSeen,
    NotStarted,
    ProtocolError,
    Unanswered,
)
from client_under_test.contract.messages import NEWEST
from client_under_test.doctor.adapter_under_check import AdapterUnderCheck
from client_under_test.doctor.backend import Backend
from client_under_test.doctor.check import HELLO, Check, Finding, Verdict
from client_under_test.doctor.report_lines import last_lines, lines
from client_under_test.doctor.requirements import MissingCapability, NotApplicable, Violation
from client_under_test.doctor.rules import SECTIONS, checks_for
from client_under_test.environments import Prepared
from client_under_test.scaffold import FIRST_PROGRAM, placeholders_of
from regular_files import read_text

_OF_FAULTS: Final[Mapping[Fault, str | None]] = {
    "not JSON": "write messages to stdout, each on a line, and nothing else: logs go to stderr",
    "field": "write the field as contract.md and contract.schema.json describe it",
    "twice": "answer each request once, and finish each call once",
    "order": None,
}
"""What to do about a line that is not a valid message."""

_OF_FAILURES: Final[Mapping[type[ConversationFailed], str]] = {
    DoneMissing: "write `done` with the request's `id` after the last `finished` of its calls",
    ClockWrong: (
        "read one monotonic clock at the moment of each event, and report that time in "
        "microseconds since the first `hello`"
    ),
    NotStarted: "let the command under [start] in client.toml name a program that is there",
}
"""What to do about another end of the conversation."""

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
                for line in lines(findings[-1], findings[:-1]):
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
    manifest = prepared.client.manifest
    placeholders = placeholders_of(manifest.version, adapter.library, manifest.issues)
    for line in last_lines(prepared.name, findings, placeholders):
        say(line)
    return tuple(findings)


def is_healthy(findings: Sequence[Finding]) -> bool:
    """Return whether the adapter follows every rule that could be checked."""
    return all(finding.verdict != "wrong" for finding in findings)


class _Result(NamedTuple):
    """What one check found; without advice or section, those of the check hold."""

    verdict: Verdict
    seen: str = ""
    advice: str = ""
    section: str = ""
    cause: str = ""


class _Examination:
    """One check after the other, each only if those that it builds on have not failed."""

    def __init__(self, adapter: AdapterUnderCheck) -> None:
        self._adapter = adapter
        self._blocked: dict[str, str] = {}  # checks that say nothing, and on account of which

    async def finding_of(self, check: Check) -> Finding:
        """One check's finding."""
        missing = [
            capability for capability in check.needs if not self._adapter.is_able(capability)
        ]
        result = _Result("skipped", advice=check.advice)
        waits_for = self._blocked.get(check.after) or self._blocked.get(HELLO)
        self._adapter.exchange.clear()
        if missing:
            names = " and ".join(f"`{capability}`" for capability in missing)
            seen = f"client.toml does not declare {names}, which this rule needs"
            result = result._replace(seen=seen)
        elif waits_for:
            self._blocked[check.name] = waits_for
            result = result._replace(seen=f"it waits for {waits_for}")
        else:
            result = await self._result_of(check)
        return Finding(
            check=check.name,
            rule=check.rule,
            advice=result.advice or check.advice,
            verdict=result.verdict,
            seen=result.seen,
            missing=tuple(missing),
            waits_for=None if missing else waits_for,
            section=result.section or f"contract.md, {SECTIONS[check.name]}",
            exchange=self._adapter.exchange.lines if result.verdict == "wrong" else (),
            cause=result.cause,
        )

    async def _result_of(self, check: Check) -> _Result:
        """Run one check."""
        try:
            await check.run(self._adapter)
        except (Violation, NotSeen) as wrong:
            if isinstance(wrong, NotApplicable):
                self._blocked[check.name] = check.name
            return _Result("wrong", str(wrong))
        except MissingCapability as lacking:
            return _Result("skipped", str(lacking))
        except ConversationFailed as failure:
            self._blocked[check.name if self._adapter.is_running else HELLO] = check.name
            is_deaf = isinstance(failure, Unanswered) and await self._adapter.is_deaf()
            await self._adapter.end()
            return self._failed(failure, is_deaf=is_deaf)
        return _Result("ok")

    def _failed(self, failure: ConversationFailed, *, is_deaf: bool) -> _Result:
        """Return the result of a check that ended with the conversation."""
        # In a run, the client may be the cause; here it is the adapter.
        seen = re.sub("^the client ", "the adapter ", failure.with_last_words())
        advice, section = self._advice(failure), ""
        if is_deaf:
            seen = f"{seen}: it does not read requests while calls run"
            advice = "make the calls of `start_calls` in a thread or task of their own, and read on"
            section = "contract.md, Order and overlap"
        elif isinstance(failure, ProtocolError) and failure.fault == "field":
            section = "contract.md, Messages"
        elif isinstance(failure, ProtocolError | DoneMissing):
            section = "contract.md, Requests and answers"
        elif isinstance(failure, NotStarted) and self._is_scaffold:
            section = "README.md, The first program"
        what = failure.why if isinstance(failure, ProtocolError) else f"{failure}"
        cause = f"{advice}: {re.sub(r'[0-9.,]+', '0', what)}" if advice else ""
        return _Result("wrong", seen, advice or "", section, cause)

    def _advice(self, failure: ConversationFailed) -> str | None:
        """Return advice on a failure of the conversation; None: the check has its own advice."""
        if isinstance(failure, ProtocolError):
            return _OF_FAULTS[failure.fault]
        if type(failure) in _OF_FAILURES:
            return _OF_FAILURES[type(failure)]
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
