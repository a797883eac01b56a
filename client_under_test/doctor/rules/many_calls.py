"""Rules of many calls in one request: how many are under way at once, and when each starts."""

from __future__ import annotations

from typing import Final

from client_under_test.doctor.adapter_under_check import AdapterUnderCheck
from client_under_test.doctor.check import check
from client_under_test.doctor.deadlines import ANSWER_DEADLINE
from client_under_test.doctor.requirements import require, require_status

_CALLS: Final = 12


@check(
    "all-at-once",
    rule="calls without concurrency and pace all run at once",
    advice="if both concurrency and pace are null, start every call before waiting for any",
    after="unary",
    needs=("metadata",),
)
async def _all_at_once(adapter: AdapterUnderCheck) -> None:
    most = await _most_under_way(adapter, None, meeting=_CALLS)
    require(most == _CALLS, f"{most} of {_CALLS} calls ran at once")


@check(
    "concurrency",
    rule="`concurrency` calls run at once",
    advice="let `concurrency` workers take calls from one queue until it is empty",
    after="unary",
    needs=("metadata",),
)
async def _concurrency(adapter: AdapterUnderCheck) -> None:
    wanted = 4
    most = await _most_under_way(adapter, wanted, meeting=wanted)
    require(most == wanted, f"{most} calls ran at once instead of {wanted}")


async def _most_under_way(
    adapter: AdapterUnderCheck, concurrency: int | None, *, meeting: int
) -> int:
    """Return the most calls in flight, of calls that wait until `meeting` calls are in flight.

    The calls wait for each other because a busy machine may start them late.
    """
    channel = await adapter.channel()
    first = await channel.start_calls([adapter.call()])  # connects
    await first.finished(deadline=ANSWER_DEADLINE)
    adapter.backend.most_under_way = 0
    calls = [adapter.call(f"meet-{meeting}") for _ in range(_CALLS)]
    batch = await channel.start_calls(calls, concurrency=concurrency)
    for outcome in await batch.finished(deadline=_CALLS * ANSWER_DEADLINE):
        require_status(outcome, "OK")
    return adapter.backend.most_under_way


@check(
    "pace",
    rule="calls with a pace start in order, without waiting for earlier calls to end",
    advice=(
        "start call number n at n times `pace` after the first, whether or not others have ended"
    ),
    after="unary",
    needs=("metadata",),
)
async def _pace(adapter: AdapterUnderCheck) -> None:
    pace, count = 0.05, 5
    channel = await adapter.channel()
    adapter.backend.most_under_way = 0
    calls = [adapter.call(f"meet-{count}") for _ in range(count)]
    batch = await channel.start_calls(calls, pace=pace)
    outcomes = await batch.finished(deadline=count * ANSWER_DEADLINE)
    starts = [outcome.started_at for outcome in outcomes]
    require(starts == sorted(starts), "the calls did not start in order")
    spread = starts[-1] - starts[0]
    least = pace * (len(calls) - 1) * 0.9
    require(
        spread >= least, f"the calls started within {spread:.3f} s instead of {least:.3f} s or more"
    )
    require(starts[-1] < outcomes[0].ended_at, "the last call waited for the end of the first")


@check(
    "long-line",
    rule="a request of a megabyte is still one line",
    advice="read lines of any length; let neither reading nor writing wait for a call",
    after="unary",
)
async def _long_line(adapter: AdapterUnderCheck) -> None:
    channel = await adapter.channel()
    filling, long = (("filling", "x" * 2000),), 12 * ANSWER_DEADLINE
    calls = [adapter.call(metadata=filling, deadline=long) for _ in range(500)]
    batch = await channel.start_calls(calls, concurrency=16)
    for outcome in await batch.finished(deadline=long + adapter.deadline):
        require_status(outcome, "OK")


CHECKS: Final = (_all_at_once, _concurrency, _pace, _long_line)
