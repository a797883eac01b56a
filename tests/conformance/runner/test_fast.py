"""--fast: which timers are shortened for whom, and what is said of the clauses on their length."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from client_under_test.environments import prepare
from client_under_test.manifests.clients import find
from conformance import timing
from conformance.judging.evidence import JudgedClient, Record, decisions_of
from conformance.judging.verdicts import Reason, Verdict
from conformance.runner.settings import Settings
from conformance.runner.targets import Target
from conformance.spec.catalogue import load

JUDGED = JudgedClient(name="reference", version="1.0.0", variant=None, follows=("A42", "A56"))


def subject(**knobs: Any) -> Target:
    """The reference client with these knobs only."""
    prepared = prepare(find("reference"))
    manifest = msgspec.structs.replace(prepared.client.manifest, knobs=knobs)
    client = msgspec.structs.replace(prepared.client, manifest=manifest)
    return Target(prepared=msgspec.structs.replace(prepared, client=client), judged=JUDGED)


KNOB = prepare(find("reference")).client.manifest.knobs["failover_timeout_ms"]


@pytest.mark.parametrize(
    ("fast", "knobs", "hurries"),
    [
        (True, {"failover_timeout_ms": KNOB}, True),
        (False, {"failover_timeout_ms": KNOB}, False),
        (True, {"initial_backoff_ms": KNOB}, False),
    ],
    ids=["with-knob", "not-fast", "without-knob"],
)
def test_who_is_hurried(*, fast: bool, knobs: dict[str, Any], hurries: bool) -> None:
    assert Settings(fast=fast).hurries(subject(**knobs)) is hurries


def test_a_clause_on_the_length_is_skipped() -> None:
    record = Record(
        scenario="failover_timer.some",
        clauses=("A42-FAIL-12", "A56-TIMER-01"),
        untimed=("A56-TIMER-01",),
        client=JUDGED,
        seed=1,
        seconds=0.1,
    )
    said = {
        decision.clause: (decision.verdict, decision.reason)
        for decision in decisions_of(record, load())
    }
    assert said["A56-TIMER-01"] == (Verdict.SKIP, Reason.FAST)
    assert said["A42-FAIL-12"] == (Verdict.ERROR, Reason.SUITE)  # it was to be judged


@pytest.mark.slow
async def test_a_fast_run(xdspec: Any) -> None:
    """The reference client waits for its timer, and not for the gRFC's."""
    ended = await xdspec.run("run", "reference", "--fast", "--scenario", "failover_timer.*stalled*")
    assert ended.code == 0
    stalled, two, lost = (
        ended.scenarios[f"failover_timer.{name}"]
        for name in ("stalled_priority", "two_stalled_priorities", "lost_and_stalled[ring-hash]")
    )
    assert stalled["clauses"] == {
        "A42-FAIL-04": "skip",
        "A42-FAIL-12": "pass",
        "A56-TIMER-01": "skip",
    }
    assert timing.FAST_FAILOVER.seconds < stalled["seconds"] < timing.FAILOVER.seconds
    assert two["clauses"] == {"A42-FAIL-10": "skip", "A56-TIMER-03": "pass"}
    assert lost["verdict"] == "skip"
    assert ended.clauses["A42-FAIL-07"]["reason"] == "fast"


async def test_what_no_text_of_the_client_says_is_left_out(xdspec: Any) -> None:
    """Its verdict is the same without a world; what leaves a choice is looked at all the same."""
    asked = [
        "--scenario",
        "request_hash_header.one_ready",
        "--scenario",
        "weight_shares.environment_guard",
    ]
    ended = await xdspec.run("run", "reference+2023", "--fast", *asked)
    left_out, chosen = (
        ended.scenarios[name]
        for name in ("request_hash_header.one_ready", "weight_shares.environment_guard")
    )
    assert left_out["clauses"] == {"A76-REQ-04": "skip"}
    assert left_out["reason"] == "edition"
    assert chosen["clauses"] == {"A113-WEIGHT-03": "seen"}
    assert not ended.clauses["A76-REQ-04"]["seen"]
    assert "a clause of A76, which the client does not declare" in ended.out


async def test_nobody_waits_until_a_resource_does_not_exist(xdspec: Any) -> None:
    """No client has a knob for that time. What is decided elsewhere as well is judged there."""
    ended = await xdspec.run("run", "reference", "--fast", "--scenario", "absent.*")
    assert ended.code == 5  # nothing was judged
    assert {scenario["verdict"] for scenario in ended.scenarios.values()} == {"skip"}
    assert {clause["reason"] for clause in ended.clauses.values()} == {"fast"}
    assert max(scenario["seconds"] for scenario in ended.scenarios.values()) < timing.ABSENCE
