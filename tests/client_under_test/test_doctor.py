from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import pytest_asyncio

from client_under_test import doctor, find, prepare
from client_under_test.doctor import Finding

ADAPTERS = Path(__file__).parent.parent / "adapters"

# The real ones need a package index, once.
CLIENTS = ["python", "python@1.58.3"]
CLIENTS += [str(ADAPTERS / name) for name in ("liar", "crasher", "babbler", "stillborn")]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def findings() -> dict[str, tuple[Finding, ...]]:
    """Of all clients, examined side by side."""
    prepared = [prepare(find(name)) for name in CLIENTS]
    reports = await asyncio.gather(*map(doctor.examine, prepared))
    return {name.rpartition("/")[2]: found for name, found in zip(CLIENTS, reports, strict=True)}


def wrong(found: tuple[Finding, ...]) -> dict[str, str]:
    return {finding.check: finding.seen for finding in found if finding.verdict == "wrong"}


@pytest.mark.parametrize("name", ["python", "python@1.58.3"])
def test_the_python_adapter_is_well(findings: dict[str, tuple[Finding, ...]], name: str) -> None:
    assert wrong(findings[name]) == {}
    assert {finding.verdict for finding in findings[name]} == {"ok"}


@pytest.mark.parametrize(
    ("name", "check", "seen"),
    [
        ("liar", "unary", "hostname 127.0.0.1:1 instead of 127.0.0.1:"),
        ("liar", "statuses", "OK (no details) instead of CANCELLED"),
        ("liar", "deadline", "OK (no details) instead of DEADLINE_EXCEEDED"),
        ("liar", "kept-open", "OK (no details) instead of CANCELLED"),
        ("crasher", "not-a-request", "the client exited with code 1"),
        ("crasher", "unknown-channel", "it was answered by done"),
        ("crasher", "unary", "the client died by SIGABRT; its stderr ends: a last word before"),
        ("crasher", "end", "it died by SIGABRT"),
        ("babbler", "metadata", "the adapter wrote a line that the contract does not know"),
        ("stillborn", "hello", "the client exited with code 1 though nobody had asked it to"),
    ],
)
def test_the_fakes_are_not(
    findings: dict[str, tuple[Finding, ...]], name: str, check: str, seen: str
) -> None:
    assert wrong(findings[name])[check].startswith(seen)


def test_who_does_not_start_is_asked_once(findings: dict[str, tuple[Finding, ...]]) -> None:
    _first, *others = findings["stillborn"]
    assert {(finding.verdict, finding.seen) for finding in others} == {
        ("skipped", "it does not start")
    }
