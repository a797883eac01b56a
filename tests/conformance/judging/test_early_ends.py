"""A scenario that ends early for a known cause blocks clauses, and fails none."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import msgspec
import pytest

from conformance.judging import causes
from conformance.judging.aborts import CauseIsKnown, PreconditionTimeout
from conformance.judging.blocking import attributed, ended_early, once_each
from conformance.judging.evidence import JudgedClient, Record, decisions_of
from conformance.judging.expectations import EndsWith, SendsNewestNonce
from conformance.judging.observations import Call, Calls, SubscriptionRequest, Subscriptions
from conformance.judging.verdicts import Cause, Check, Reason, Verdict
from conformance.reporting.live import Live
from conformance.runner.collector import Collector
from conformance.runner.progress import nobody_knows
from conformance.runner.retry import ident, is_unconfirmed
from conformance.runner.scheduling import Waiting
from conformance.spec.catalogue import load
from conformance.world.control import Control
from conformance.world.references import EarlyEnd
from conformance.xds_config.config import aggregate, single_locality
from conformance.xds_config.references import NO_CHILDREN
from fake_control_plane import DeadlinePassed

CATALOGUE = load()
FIRST, SECOND, OF_ENDPOINTS = "A37-TREE-01", "A37-TREE-02", "A42-LOC-01"
FAILED = Calls((Call(id="c", channel="1", path="/s/m", metadata=(), status="UNAVAILABLE"),))
BROKEN = Check(clause=SECOND, seen=FAILED, expected={"A37": EndsWith("OK")})


def record(
    name: str,
    *clauses: str,
    error: BaseException | None = None,
    ignores: tuple[Cause, ...] = (),
    checks: tuple[Check, ...] = (),
    follows: tuple[str, ...] = ("A37", "A42"),
    shared: bool = False,
    also: tuple[str, ...] = (),
) -> Record:
    made = Record(
        scenario=name,
        clauses=clauses,
        also=also,
        client=JudgedClient(name="some", version="1", variant=None, follows=follows),
        seed=1,
        seconds=1.0,
        checks=checks,
        trouble=causes.of(error) if error else None,
        ignores=ignores,
        shared_process=shared,
    )
    return msgspec.structs.replace(made, decisions=decisions_of(made, CATALOGUE))


def early(name: str, *clauses: str, **more: object) -> Record:
    return record(name, *clauses, error=CauseIsKnown("it asks for none", NO_CHILDREN), **more)  # type: ignore[arg-type]


def waited(name: str, *clauses: str, **more: object) -> Record:
    stuck = PreconditionTimeout("not served within 5 s")
    return record(name, *clauses, error=stuck, ignores=(NO_CHILDREN,), **more)  # type: ignore[arg-type]


def verdicts(*records: Record) -> dict[tuple[str, str], tuple[Verdict, Reason | None]]:
    return {
        (made.scenario, each.clause): (each.verdict, each.reason)
        for made in once_each(records, CATALOGUE)
        for each in made.decisions
    }


FAILS, BLOCKED = (Verdict.FAIL, Reason.DEVIATES), (Verdict.SKIP, Reason.BLOCKED)


def test_the_end_of_a_scenario_that_waited_gets_the_cause_if_it_is_known() -> None:
    (made,) = attributed([waited("a", FIRST)], {NO_CHILDREN}, CATALOGUE)
    assert made.trouble is not None
    assert made.trouble.cause == made.decisions[0].cause == NO_CHILDREN
    assert not ended_early(made)
    (unknown,) = attributed([waited("a", FIRST)], (), CATALOGUE)
    assert unknown == msgspec.structs.replace(waited("a", FIRST), ignores=())


def test_what_a_scenario_compared_is_blocked_by_no_cause() -> None:
    """Its own rule has failed it, and the cause may have nothing to do with that."""
    own = record("own", SECOND, checks=(BROKEN,), ignores=(NO_CHILDREN,))
    records = attributed([waited("a", FIRST), early("b", SECOND), own], {NO_CHILDREN}, CATALOGUE)
    assert verdicts(*records) == {
        ("a", FIRST): FAILS,
        ("b", SECOND): BLOCKED,
        ("own", SECOND): FAILS,
    }


def test_a_scenario_that_waited_names_the_clause_that_fails() -> None:
    """Though the early one is about an earlier clause."""
    (full,) = attributed([waited("full", SECOND)], {NO_CHILDREN}, CATALOGUE)
    assert verdicts(early("early", FIRST), full) == {
        ("early", FIRST): BLOCKED,
        ("full", SECOND): FAILS,
    }


NONCES = "A27-ADS-02"
STALE = Check(
    clause=NONCES,
    seen=Subscriptions((SubscriptionRequest("CLUSTER", ("a",), 1, is_outdated=True),)),
    expected={"A27": SendsNewestNonce()},
)


def test_a_clause_that_every_scenario_judges_has_its_own_finding_alone() -> None:
    """The cause of the end says nothing about nonces, though A27 comes before A37."""
    stated = ("A27", "A37")
    ended = early("early", FIRST, NONCES, also=(NONCES,), checks=(STALE,), follows=stated)
    assert [each.clause for each in ended.decisions] == [NONCES, FIRST]
    assert ended.decisions[0].wanted.startswith("every request to carry the nonce")
    assert verdicts(ended, early("other", SECOND, follows=stated)) == {
        ("early", NONCES): FAILS,
        ("early", FIRST): FAILS,
        ("other", SECOND): BLOCKED,
    }


def test_another_cause_blocks_nothing() -> None:
    other = record("o", OF_ENDPOINTS, error=PreconditionTimeout("something else"))
    (full,) = attributed([waited("full", SECOND)], {NO_CHILDREN}, CATALOGUE)
    assert verdicts(early("e", FIRST), full, other)["o", OF_ENDPOINTS] == FAILS


def test_a_clause_that_is_not_stated_stays_a_skip() -> None:
    assert verdicts(early("e", FIRST, follows=("A42",))) == {
        ("e", FIRST): (Verdict.SKIP, Reason.EDITION)
    }


def collector(*records: Record) -> Collector:
    made = Collector(Live.__new__(Live), Waiting(), nobody_knows)
    made.records = [*records]
    return made


def test_an_early_end_that_would_fail_a_clause_runs_again() -> None:
    """Alone, it would be the one clause that fails; beside one that waited it is blocked."""
    alone = collector(early("e", FIRST), early("f", SECOND))
    taken = alone.take_early((), CATALOGUE)
    assert [scenario for _, scenario in taken] == ["e"]
    assert [each.scenario for each in alone.records] == ["f"]
    (full,) = attributed([waited("e", FIRST)], {NO_CHILDREN}, CATALOGUE)
    alone.records.append(full)
    assert not alone.take_early((), CATALOGUE)


def test_an_early_end_by_a_refuted_cause_runs_again_once() -> None:
    (full,) = attributed([waited("full", SECOND)], {NO_CHILDREN}, CATALOGUE)
    made = collector(early("e", FIRST), full)
    first = made.take_early({NO_CHILDREN}, CATALOGUE)
    assert [scenario for _, scenario in first] == ["e"]
    made.keep(first)  # its worker died
    assert {ident(each) for each in made.records} == {("", "e"), ("", "full")}
    assert not made.take_early({NO_CHILDREN}, CATALOGUE)


def test_an_early_end_in_a_shared_process_waits_for_its_own_repetition() -> None:
    assert is_unconfirmed(waited("a", FIRST, shared=True), nobody_knows)
    assert not is_unconfirmed(early("a", FIRST, shared=True), nobody_knows)


class Transcript:
    """The events that there are, and nothing more comes."""

    def __init__(self, *events: object) -> None:
        self.events = events

    def __len__(self) -> int:
        return len(self.events)

    async def wait(self, _: object, *, deadline: float, since: int) -> None:
        assert since <= len(self)
        await asyncio.sleep(min(max(deadline, 0), 1))
        raise DeadlinePassed("nothing more came")


@pytest.mark.parametrize(
    ("known", "roots", "ends_early"),
    [
        ({NO_CHILDREN}, frozenset(), True),
        ({NO_CHILDREN}, frozenset({"cluster"}), True),
        ({NO_CHILDREN}, frozenset({"cluster", "other"}), False),
        (set(), frozenset(), False),
        ({Cause(resource="cluster", words="another")}, frozenset(), False),
    ],
)
async def test_a_wait_ends_early_only_if_it_needs_what_is_ignored(
    monkeypatch: pytest.MonkeyPatch,
    known: set[Cause],
    roots: frozenset[str],
    *,
    ends_early: bool,
) -> None:
    served = aggregate(single_locality(["127.0.0.1:1"], name="leaf"))
    ignored = SimpleNamespace(
        cause=NO_CHILDREN, since=-1e9, roots=frozenset({"cluster"}), kind=None
    )
    plane = SimpleNamespace(transcript=Transcript())
    control = Control(plane, None, EarlyEnd(lambda: frozenset(known), 0.0))  # type: ignore[arg-type]
    control.references.add(served)
    monkeypatch.setattr(control.references, "ignored", lambda: (ignored,))

    async def long() -> str:
        await asyncio.sleep(0.05)
        return "it came"

    if ends_early:
        with pytest.raises(CauseIsKnown) as ended:
            await control.unless_refused(long(), roots=lambda: roots)
        assert ended.value.cause == NO_CHILDREN
    else:
        assert await control.unless_refused(long(), roots=lambda: roots) == "it came"
