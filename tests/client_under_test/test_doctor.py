from __future__ import annotations

from pathlib import Path

import pytest

from client_under_test import doctor, find, prepare

ADAPTERS = Path(__file__).parent.parent / "adapters"


@pytest.mark.parametrize("name", ["python@1.58.3", "python"])
async def test_the_python_adapter_is_well(name: str) -> None:
    """Needs a package index once."""
    findings = await doctor.examine(prepare(find(name)))
    assert [finding for finding in findings if finding.verdict != "ok"] == []


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("liar", {"hello", "unary", "statuses", "deadline", "kept-open", "cancel", "close"}),
        ("crasher", {"not-a-request", "unary", "metadata", "end"}),
        ("babbler", {"unary", "concurrency"}),
    ],
)
async def test_the_fakes_are_not(
    name: str, wrong: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "ANSWER_DEADLINE", 1.0)
    findings = await doctor.examine(prepare(find(str(ADAPTERS / name))))
    assert wrong <= {finding.check for finding in findings if finding.verdict == "wrong"}
    assert all(finding.seen for finding in findings if finding.verdict == "wrong")


async def test_who_does_not_start_is_asked_once() -> None:
    first, *others = await doctor.examine(prepare(find(str(ADAPTERS / "stillborn"))))
    assert first.verdict == "wrong"
    assert first.seen.endswith("its stderr ends: cannot find a library\n")
    assert {(finding.verdict, finding.seen) for finding in others} == {
        ("skipped", "it does not start")
    }
