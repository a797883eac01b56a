"""Scenarios that share a process of the client: verdicts, attribution, and what users read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.conftest import ADAPTERS, Command, Ended

WHICH = ("--scenario", "ring.size*", "--jobs", "1", "--seed", "7", "--keep-evidence")


async def run(xdspec: Command, name: str, *more: str) -> Ended:
    return await xdspec.run("run", str(ADAPTERS / name), *WHICH, *more)


def earlier(ended: Ended, name: str) -> list[int]:
    """How many scenarios each one followed in its process, in their order; -1 for none shared."""
    records = [
        json.loads(path.read_text()) for path in (ended.evidence / name).glob("*/scenario.json")
    ]
    records.sort(key=lambda record: record["began"])
    return [len(record["earlier"]) if record["shared_process"] else -1 for record in records]


def verdicts(ended: Ended) -> dict[str, tuple[str, Any]]:
    return {
        name: (scenario["verdict"], scenario["reason"])
        for name, scenario in ended.scenarios.items()
    }


async def test_scenarios_share_a_process(xdspec: Command) -> None:
    ended = await run(xdspec, "sharer")
    assert ended.code == 0, ended.said
    count = len(ended.scenarios)
    assert earlier(ended, "sharer") == [*range(count)]
    assert f"client processes: shared by {count} of {count} scenarios" in ended.out
    assert all(scenario["shared_process"] for scenario in ended.scenarios.values())
    assert not any(scenario["in_shared_process"] for scenario in ended.scenarios.values())


@pytest.mark.slow
async def test_isolated_scenarios_do_not(xdspec: Command) -> None:
    shared, isolated = await run(xdspec, "sharer"), await run(xdspec, "sharer", "--isolated")
    assert isolated.code == 0, isolated.said
    assert set(earlier(isolated, "sharer")) == {-1}
    assert "client processes:" not in isolated.out
    assert verdicts(isolated) == verdicts(shared)


@pytest.mark.slow
async def test_a_leak_between_channels_is_told_and_fails_no_clause(xdspec: Command) -> None:
    ended = await run(xdspec, "leaker")
    assert ended.code == 0, ended.said
    assert {verdict for verdict, _ in verdicts(ended).values()} == {"pass"}
    affected = [scenario for scenario in ended.scenarios.values() if scenario["in_shared_process"]]
    assert affected, ended.said
    for scenario in affected:
        (before,) = scenario["earlier"]
        assert before in ended.scenarios
        words = (
            f"! {scenario['id']}: fail (deviates) after 1 scenario in the same client process, pass"
        )
        assert words in ended.out
        comparison = (Path(scenario["evidence"]) / "shared-process.txt").read_text()
        assert "Channels of this client may affect each other" in comparison
        assert f"  {before}\n" in comparison
    assert "FAIL" not in ended.out


@pytest.mark.slow
async def test_a_crash_is_the_scenario_s_own_if_it_comes_alone(xdspec: Command) -> None:
    ended = await run(xdspec, "third-crasher")
    assert ended.code == 0, ended.said
    assert {verdict for verdict, _ in verdicts(ended).values()} == {"pass"}
    affected = [scenario for scenario in ended.scenarios.values() if scenario["in_shared_process"]]
    assert len(affected) == len(ended.scenarios) // 3
    for scenario in affected:
        assert [said["reason"] for said in scenario["in_shared_process"]] == ["crashed"] * len(
            scenario["in_shared_process"]
        )
        assert len(scenario["earlier"]) == 2
        assert (
            f"{scenario['id']}: fail (crashed) after 2 scenarios in the same client pro"
            in ended.out
        )
        comparison = (Path(scenario["evidence"]) / "shared-process.txt").read_text()
        assert "died by SIGABRT" in comparison


@pytest.mark.slow
async def test_what_fails_alone_too_is_reported_as_ever(xdspec: Command) -> None:
    ended = await run(xdspec, "short-ringed")
    assert ended.code == 1
    failed = [scenario for scenario in ended.scenarios.values() if scenario["verdict"] == "fail"]
    assert failed
    assert not any(
        scenario["in_shared_process"] or scenario["shared_process"] for scenario in failed
    )
    assert all(scenario["evidence"].endswith("-alone") for scenario in failed)
    assert "Channels of this client" not in ended.out
    assert re.search(r"FAIL \(deviates\)", ended.out)


@pytest.mark.slow
async def test_a_process_that_keeps_a_stream_is_not_used_again(xdspec: Command) -> None:
    ended = await run(xdspec, "clinger")
    assert ended.code == 0, ended.said
    assert set(earlier(ended, "clinger")) == {0}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["leaker", "third-crasher"])
async def test_isolated_finds_neither(xdspec: Command, name: str) -> None:
    ended = await run(xdspec, name, "--isolated")
    assert ended.code == 0, ended.said
    assert not any(scenario["in_shared_process"] for scenario in ended.scenarios.values())
