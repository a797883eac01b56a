"""How scenarios are dealt out: those that wait for a timer beside those that work."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from conformance import timing
from conformance.judging.evidence import JudgedClient, Record
from conformance.judging.verdicts import Decision, Reason, Verdict
from conformance.runner.collector import Collector
from conformance.runner.growth import Growing
from conformance.runner.progress import Progress
from conformance.runner.scheduling import (
    MOST_WAITING,
    Overlapping,
    Waiting,
    openings,
    waiting_of,
    workers_for,
)
from conformance.runner.sharding import dealt


def test_the_longest_first_to_the_worker_with_the_least_to_do() -> None:
    waits = {"a": 21.0, "b": 11.0, "c": 10.5, "d": 10.0, "e": 1.0}
    assert dealt(waits, 2) == (("a", "d"), ("b", "c", "e"))
    assert dealt(waits, 5) == (("a",), ("b",), ("c",), ("d",), ("e",))
    assert dealt({}, 0) == ()


@pytest.mark.parametrize(
    ("waiting", "meanwhile", "workers"),
    [
        ([], 10.0, 0),
        ([5.0, 5.0], 10.0, 1),
        ([5.0, 5.0, 1.0], 10.0, 2),
        ([20.0, 5.0, 5.0], 1.0, 2),
        ([1.0] * 100, 1.0, MOST_WAITING),
    ],
)
def test_as_few_workers_wait_as_are_through_in_time(
    waiting: list[float], meanwhile: float, workers: int
) -> None:
    named = {str(number): seconds for number, seconds in enumerate(waiting)}
    assert waiting_of(named, meanwhile=meanwhile).workers == workers
    assert waiting_of(named, meanwhile=meanwhile, most=1).workers == min(workers, 1)
    assert waiting_of(named, meanwhile=meanwhile, most=0) == Waiting()


def test_few_short_scenarios_are_not_worth_many_workers() -> None:
    assert [workers_for(seconds) for seconds in (0, 0.1, 2.5, 2.6, 7.6)] == [1, 1, 1, 2, 4]


@pytest.mark.parametrize(
    ("workers", "begun"),
    [
        (1, (("a", "b"),)),
        (2, (("a", "d"), ("b", "c"))),
        (3, (("a",), ("b", "e"), ("c", "d"))),
        (4, (("a",), ("b",), ("c",), ("d", "e"))),
        (5, (("a",), ("b",), ("c",), ("d",), ("e",))),
    ],
)
def test_who_begins_with_the_longest_has_the_shortest_behind_it(
    workers: int, begun: tuple[tuple[str, ...], ...]
) -> None:
    assert openings(Waiting(tuple("abcde"), workers)) == begun


class Node:
    """A worker as the scheduler knows it."""

    def __init__(self, number: int) -> None:
        self.gateway = SimpleNamespace(id=f"gw{number}")
        self.sent: list[int] = []
        self.shutting_down = False

    def send_runtest_some(self, numbers: list[int]) -> None:
        assert not self.shutting_down
        self.sent += numbers

    def shutdown(self) -> None:
        self.shutting_down = True


COLLECTION = ["wait-1", "wait-2", "wait-3", "work-1", "work-2", "work-3", "work-4"]


@pytest.fixture
def workers() -> list[Any]:
    return [Node(number) for number in range(4)]


WAITING = Waiting(("wait-2", "wait-1", "wait-3"), 2)
"""wait-3 is the shortest."""


class Planned(Growing):
    """Decides what a test says, and notes what it is asked for."""

    def __init__(self, *changes: int) -> None:
        super().__init__(enabled=False)
        self.changes = list(changes)
        self.asked: list[tuple[int, int]] = []

    def change(self, *, workers: int, left: int) -> int:
        self.asked.append((workers, left))
        return self.changes.pop(0) if self.changes else 0


def overlapping(
    waiting: Waiting = WAITING,
    growing: Growing | None = None,
    start_another: Callable[[Any], None] = print,
) -> Overlapping:
    options = {"maxschedchunk": 1, "tx": ["popen"] * 4, "numprocesses": 4}
    config: Any = SimpleNamespace(
        getoption=options.get, getvalue=options.get, option=SimpleNamespace(**options)
    )
    return Overlapping(config, None, waiting, growing or Planned(), start_another)


def arrive(scheduling: Overlapping, worker: Any) -> None:
    """What xdist does when a worker has collected."""
    scheduling.add_node_collection(worker, COLLECTION)
    assert scheduling.collection_is_completed
    scheduling.schedule()


@pytest.fixture
def scheduling(workers: list[Any]) -> Overlapping:
    made = overlapping()
    for worker in workers:
        made.add_node(worker)
    for worker in workers:
        arrive(made, worker)
    return made


def test_workers_that_wait_get_that_and_nothing_else(
    scheduling: Overlapping, workers: list[Any]
) -> None:
    assert [worker.sent for worker in workers] == [[1], [0, 2], [3, 4], [5, 6]]
    assert workers[0].shutting_down
    assert workers[1].shutting_down
    scheduling.mark_test_complete(workers[1], 0)
    assert workers[1].sent == [0, 2]


def test_what_waits_is_dealt_out_one_by_one_and_at_last_to_those_that_work() -> None:
    names = ("wait-1", "wait-2", "wait-3", "work-1", "work-2")
    scheduling = overlapping(Waiting(names, 1))
    workers: list[Any] = [Node(0), Node(1)]
    waits, works = workers
    for worker in workers:
        scheduling.add_node(worker)
    for worker in workers:
        arrive(scheduling, worker)
    assert [worker.sent for worker in workers] == [[0, 1], [5, 6]]
    scheduling.mark_test_complete(waits, 0)
    scheduling.mark_test_complete(works, 5)
    assert [worker.sent for worker in workers] == [[0, 1, 2], [5, 6, 3]]
    assert not waits.shutting_down
    scheduling.mark_test_complete(works, 6)
    assert works.sent == [5, 6, 3, 4]
    assert works.shutting_down
    scheduling.mark_test_complete(waits, 1)
    assert waits.sent == [0, 1, 2]
    assert waits.shutting_down


def test_everything_runs_once(scheduling: Overlapping, workers: list[Any]) -> None:
    for worker in workers:
        for number in tuple(worker.sent):
            scheduling.mark_test_complete(worker, number)
    assert scheduling.tests_finished
    assert not scheduling.has_pending
    assert sorted(number for worker in workers for number in worker.sent) == list(range(7))


def test_what_a_dead_worker_leaves_is_taken_by_one_that_works(
    scheduling: Overlapping, workers: list[Any]
) -> None:
    """The scenario in which it died is told of; the one that it had not begun runs elsewhere."""
    assert scheduling.remove_node(workers[1]) == "wait-1"
    fresh: Any = Node(4)
    scheduling.add_node(fresh)
    arrive(scheduling, fresh)
    assert fresh.sent == [2]


def test_workers_begin_as_they_come() -> None:
    """What waits goes to the first, the rest to those that come then; nobody waits for the last."""
    scheduling = overlapping()
    workers: list[Any] = [Node(number) for number in range(4)]
    for worker in workers:
        scheduling.add_node(worker)
    assert not scheduling.collection_is_completed
    sent = []
    for worker in (workers[3], workers[1], workers[2]):
        arrive(scheduling, worker)
        sent.append(worker.sent[:])
    assert sent == [[1], [0, 2], [3, 4]]
    scheduling.mark_test_complete(workers[2], 3)
    assert workers[2].sent == [3, 4, 5]
    assert not workers[0].sent


def test_workers_are_added_and_given_up_again() -> None:
    growing, started = Planned(2, -1, -1), list[Any]()
    scheduling = overlapping(Waiting(), growing, started.append)
    scheduling.numnodes = scheduling._asked_for = 1
    first, second, third = (Node(number) for number in range(3))
    scheduling.add_node(first)
    arrive(scheduling, first)
    assert started == [first, first]
    scheduling.mark_test_complete(first, 0)
    assert growing.asked == [(1, 7)]  # not while those that were started have not begun
    for worker in (second, third):
        scheduling.add_node(worker)
        arrive(scheduling, worker)
    assert [worker.sent for worker in (first, second)] == [[0, 1, 2], [3, 4]]
    assert growing.asked[1:] == [(3, 2)]
    assert [worker.shutting_down for worker in (first, second, third)] == [False, False, True]
    assert not third.sent
    scheduling.mark_test_complete(first, 1)
    assert first.shutting_down  # and the one that is left is kept, whatever the processors do
    scheduling.mark_test_complete(second, 3)
    assert second.sent == [3, 4, 5]


def record(
    scenario: str,
    verdict: Verdict,
    reason: Reason | None = None,
    clause: str = "A56-TIMER-01",
    **more: Any,
) -> Record:
    late = verdict is Verdict.FAIL
    decision = Decision(clause=clause, verdict=verdict, reason=reason, saw="12 s", excusable=late)
    client = JudgedClient(name="python", version="1", variant=None, follows=())
    decisions = (decision,)
    return Record(
        scenario=scenario, clauses=(), client=client, seed=1, seconds=1, decisions=decisions, **more
    )


def test_a_doubtful_time_is_taken_again_alone_and_both_are_kept() -> None:
    doubtful = record("timer.doubtful", Verdict.ERROR, Reason.TIMING)
    lost = record("timer.lost", Verdict.ERROR, Reason.TIMING)
    settled = record("timer.settled", Verdict.FAIL, Reason.DEVIATES, starved=timing.STARVED)
    failed = (Verdict.FAIL, Reason.DEVIATES)
    slowed = record("timer.slowed", *failed, starved=timing.STARVED + 1)
    known = record("timer.known", *failed, "A56-TIMER-02", starved=timing.STARVED + 1)
    collector = Collector(
        Progress(), Waiting(("a name",), 1), lambda name, _: name == "timer.known"
    )
    collector.records = [doubtful, settled, lost, slowed, known]
    taken = collector.take_doubtful()
    assert taken == {
        ("", "timer.doubtful"): doubtful,
        ("", "timer.lost"): lost,
        ("", "timer.slowed"): slowed,
    }
    assert collector.records == [settled, known]
    assert collector.waiting == Waiting()
    collector.records.append(record("timer.doubtful", Verdict.PASS))
    collector.tell_of(taken)
    again = record("timer.doubtful", Verdict.PASS, beside_others=doubtful.decisions)
    assert collector.records == [settled, known, again, lost, slowed]


def test_a_failure_of_each_side_of_a_comparison_is_taken_again() -> None:
    failed = (Verdict.FAIL, Reason.DEVIATES)
    sides = [
        record("timer.one", *failed, side=side, starved=timing.STARVED + 1)
        for side in ("change.0", "base.0")
    ]
    collector = Collector(Progress(), Waiting())
    collector.records = [*sides]
    assert collector.take_doubtful() == {
        ("change.0", "timer.one"): sides[0],
        ("base.0", "timer.one"): sides[1],
    }


def test_of_a_mutant_only_what_was_doubtful_runs_again() -> None:
    doubtful = record("timer.one", Verdict.ERROR, Reason.TIMING, mutant="some.mutant")
    starved = timing.STARVED + 1
    killed = record(
        "timer.one", Verdict.FAIL, Reason.DEVIATES, mutant="another.mutant", starved=starved
    )
    collector = Collector(Progress(), Waiting())
    collector.records = [doubtful, killed]
    taken = collector.take_doubtful()
    assert taken == {("some.mutant", "timer.one"): doubtful}
    again = record("timer.one", Verdict.FAIL, Reason.DEVIATES, mutant="some.mutant")
    collector.records.append(again)
    collector.tell_of(taken)
    beside = msgspec.structs.replace(again, beside_others=doubtful.decisions)
    assert collector.records == [killed, beside]
