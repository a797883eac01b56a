"""No wait ends in silence: deadlines are caught in one module, and what is awaited is looked at."""

import ast
import asyncio
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.world import waits
from fake_control_plane import DeadlinePassed
from test_servers import DeadlinePassed as FleetDeadlinePassed

CONFORMANCE = Path(waits.__file__).parents[1]
FILES = sorted(CONFORMANCE.rglob("*.py"))

PASSED = {"DeadlinePassed", "FleetDeadlinePassed", "NotSeen", "TimeoutError"}
"""That something was not there in time."""

OBSERVATIONS = {
    "came",
    "call",
    "make",
    "over",
    "reported",
    "eventually",
    "eventually_stable",
    "until",
}
"""What these see is judged, or looked at: none of them fails by itself."""

UNSEEN = {
    # The explorer compares the ledger of the whole course, and looks at states once all is calm.
    "runner/explore/driver.py: _heal: over",
    "runner/explore/driver.py: _hear_state: came",
    "runner/explore/driver.py: _round: over",
    "runner/explore/driver.py: _take: came",
    "runner/explore/driver.py: _take: over",
    "scenarios/helpers/circuit_breaking.py: ended: over",
    "scenarios/helpers/live_policies.py: over: over",  # handed on with all that was made since
    # Sums are judged by what arrived, however the calls ended.
    "scenarios/load_reports/backend_metrics.py: test_named_metrics: call",
    "scenarios/load_reports/leaf_load.py: test_leaves: over",
    "scenarios/load_reports/load_pauses.py: test_interval_after_pause: over",
    "scenarios/load_reports/load_streams.py: test_expired_and_cancelled: call",
    "scenarios/load_reports/load_streams.py: test_requests_in_progress: call",
    "scenarios/load_reports/load_streams.py: test_expired_and_cancelled: over",
    "scenarios/load_reports/load_streams.py: test_report_interval: over",
    "scenarios/load_reports/load_streams.py: test_requests_in_progress: over",
    "scenarios/load_reports/load_streams.py: test_removed_clusters: over",
    "scenarios/load_reports/load_streams.py: test_stream_ends: over",
    # The streams after these failed requests are judged.
    "scenarios/ads/streams.py: refused_streams: call",
    "scenarios/circuit_breaking/circuit_breaking.py: test_ended_requests: call",
    # How long these took is judged.
    "scenarios/data_errors/missing_resources.py: test_timer_on_new_stream: over",
    "scenarios/data_errors/missing_resources.py: test_timer_of_next_subscription: over",
    "scenarios/data_errors/data_errors.py: test_missing_endpoints: over",
    # These, too, are judged by what arrived.
    "scenarios/helpers/ejection_times.py: repeat: over",
    "scenarios/helpers/ejection_times.py: steady_calls: over",
    "scenarios/aggregate/tree.py: test_depth_corrected: call",
    "scenarios/ring_hash/aggregated_state.py: test_no_idle_between_attempts: over",
    "scenarios/load_reports/load_report.py: test_drops: call",
    "scenarios/load_reports/load_report.py: test_two_drop_categories: call",
    "scenarios/load_reports/load_report.py: test_failed_and_queued: over",
    "scenarios/load_reports/load_report.py: test_successes_errors_and_requests_in_progress: call",
    "scenarios/load_reports/load_report.py: test_successes_errors_and_requests_in_progress: over",
    "scenarios/ring_hash/picker.py: test_at_most_two_attempts: over",
    "scenarios/ring_hash/picker.py: test_wait_for_ready: call",
    # The attempts from the beginning on are judged.
    "scenarios/ring_hash/proactive.py: test_backoff_with_requests: until",
    "world/attempts.py: _until: make",
    "world/attempts.py: look: make",
    "world/world.py: request_and_cancel: over",
    "world/preconditions.py: host_names: make",
}
"""Calls of which it does not matter how they end."""


def named(node: ast.expr | None) -> set[str]:
    """The names of the exceptions of an `except` or a `suppress`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return {name}
        case ast.Tuple(elts=several):
            return set[str]().union(*map(named, several))
        case _:
            return set()


def silenced(tree: ast.AST) -> Iterator[int]:
    """The lines in which a deadline that passed is no exception any more."""
    for node in ast.walk(tree):
        match node:
            case ast.ExceptHandler(type=kind, body=body) if named(kind) & PASSED:
                if not any(
                    isinstance(inner, ast.Raise) for line in body for inner in ast.walk(line)
                ):
                    yield node.lineno
            case ast.Call(func=function, args=kinds) if named(function) == {"suppress"}:
                if any(named(raised) & PASSED for raised in kinds):
                    yield node.lineno


def thrown_away(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Observations that nobody looks at: the function, and what is called there."""
    for function in ast.walk(tree):
        if isinstance(function, ast.AsyncFunctionDef):
            for node in ast.walk(function):
                match node:
                    case ast.Expr(ast.Await(ast.Call(ast.Attribute(attr=name)))):
                        if name in OBSERVATIONS:
                            yield function.name, name


def test_a_deadline_is_caught_in_one_module_only() -> None:
    found = [
        f"{path.relative_to(CONFORMANCE)}:{line}"
        for path in FILES
        if path.name != "waits.py"
        for line in silenced(ast.parse(path.read_text()))
    ]
    assert found == []


def test_what_is_observed_is_looked_at() -> None:
    found = {
        f"{path.relative_to(CONFORMANCE)}: {function}: {name}"
        for path in FILES
        for function, name in thrown_away(ast.parse(path.read_text()))
    }
    assert found == UNSEEN


@pytest.mark.parametrize(
    "source",
    [
        "with suppress(DeadlinePassed):\n  f()",
        "with contextlib.suppress(OSError, exceptions.NotSeen):\n  f()",
        "try:\n  f()\nexcept (OSError, TimeoutError):\n  pass",
    ],
)
def test_who_silences_a_deadline_is_found(source: str) -> None:
    assert list(silenced(ast.parse(source)))


def test_who_makes_another_error_of_it_is_not() -> None:
    source = (
        "try:\n  f()\nexcept DeadlinePassed as passed:\n  raise PreconditionTimeout from passed"
    )
    assert not list(silenced(ast.parse(source)))


def test_who_throws_away_what_was_seen_is_found() -> None:
    source = "async def test_it(world):\n  await world.until(fits, calls)"
    assert list(thrown_away(ast.parse(source))) == [("test_it", "until")]


@pytest.mark.parametrize("passed", [DeadlinePassed("x"), FleetDeadlinePassed("x")])
async def test_whether_something_came_is_told(passed: Exception) -> None:
    async def wait(error: Exception | None) -> None:
        if error is not None:
            raise error

    assert await waits.came(wait(None))
    assert not await waits.came(wait(passed))
    assert not await waits.came(asyncio.Event().wait(), within=0)
    with pytest.raises(ValueError, match="other"):
        await waits.came(wait(ValueError("other")))


async def test_the_last_look_begins_when_time_is_up() -> None:
    looks = iter(range(1000))

    async def look() -> int:
        await asyncio.sleep(0)
        return next(looks)

    assert await waits.until(look, lambda seen: seen == 2, within=60) == (2, True)
    seen, fits = await waits.until(look, lambda _: False, within=-1)
    assert (seen, fits) == (3, False)


async def test_looks_leave_the_processor_to_what_they_wait_for() -> None:
    looks = itertools.count(1)

    async def look() -> int:
        return next(looks)

    seen, _ = await waits.until(look, lambda _: False, within=0.3)
    assert 10 < seen < 150


async def test_what_was_waited_for_in_vain_is_kept_for_the_evidence() -> None:
    async def wait() -> None:
        raise DeadlinePassed("No ACK within 5 s; seen instead:\n  nothing")

    async def look() -> int:
        return 1

    waits.PASSED.clear()
    await waits.came(wait())
    await waits.until(look, lambda seen: seen > 0, within=0)
    await waits.until(look, lambda seen: seen > 1, within=0)
    told = [passed.what.partition("\n")[0] for passed in waits.PASSED]
    assert told == ["No ACK within 5 s; seen instead:", "what fits, within 0 s"]
    assert all(passed.began <= passed.ended for passed in waits.PASSED)
