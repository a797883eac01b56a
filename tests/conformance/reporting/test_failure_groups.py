"""Failures in groups: what belongs together, and which clause of a group comes first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from conformance.judging.evidence import Record
from conformance.judging.verdicts import Decision, Reason, Verdict
from conformance.reporting.failure_groups import FailedDecision, Group, described, gist, groups

from . import test_failure_texts as made

MAPPED, SIZE, CONFIG, SHOULD = "A42-RING-13", "A42-RING-06", "A42-CDS-03", "A42-RING-04"
RING = {"expectation": "maps_like", "wanted": "each call where a ring of 4 entries maps its hash"}


def missed(clause: str, wrong: int = 1, of: int = 48, **more: Any) -> Decision:
    saw = (
        f"{wrong} of {of} calls went elsewhere: call-{wrong} (session='v-{of}', hash 0x1f) reached "
        f"127.0.0.1:{of} instead of 127.0.0.1:1{of}. The closest known ring: keys {wrong}"
    )
    return made.fails(clause, saw, **RING, wrong=wrong / of, **more)


def found(*records: Record) -> tuple[Group, ...]:
    return groups(made.run(*records), made.CATALOGUE)


def named(several: Iterable[Group]) -> list[tuple[str, ...]]:
    return [group.clauses for group in several]


def test_one_defect_of_the_ring_is_one_group_that_begins_where_it_shows_most() -> None:
    several = found(
        made.record("cluster.sizes", missed(CONFIG)),
        made.record("ring.search", missed(MAPPED, 7, 60)),
        made.record("ring.size", missed(SIZE, 2), missed(SHOULD, 2)),
    )
    assert named(several) == [(MAPPED, SIZE, CONFIG, SHOULD)]
    assert several[0].first.scenario.id == "ring.search"


def test_a_precondition_that_fails_by_the_same_belongs_to_the_group() -> None:
    saw = f"expected a ring within 5 s, saw {missed(SIZE).saw}, though it was ACKed"
    early = made.fails(SIZE, saw, wanted="", expectation="maps_like")
    several = found(made.record("a", early), made.record("b", missed(MAPPED)))
    assert named(several) == [(MAPPED, SIZE)]


def test_a_clause_that_begins_another_group_is_described_there() -> None:
    (scenario,) = made.run(made.record("a", missed(MAPPED))).scenarios
    several = [
        Group(
            gist="",
            places=tuple(FailedDecision(scenario, missed(clause)) for clause in clauses),
            is_fatal=True,
        )
        for clauses in ((MAPPED, SIZE, SHOULD), (SIZE, MAPPED))
    ]
    assert [clauses for _, clauses in described(several)] == [(MAPPED, SHOULD), (SIZE,)]
    some = described(several, {SIZE, SHOULD})
    assert [clauses for _, clauses in some] == [(SIZE, SHOULD), (SIZE,)]


@pytest.mark.parametrize(
    "other",
    [
        missed(SIZE, reason=Reason.EDITION),
        made.fails(SIZE, "all calls at 127.0.0.1:1, whatever their hash: 1 of 2", **RING),
        made.fails(SIZE, missed(SIZE).saw, expectation="only_at"),
        made.errs(Reason.TIMING, "late", SIZE),
    ],
    ids=["another edition", "another difference", "another expectation", "an error"],
)
def test_what_is_not_alike_is_apart(other: Decision) -> None:
    assert len(found(made.record("a", missed(MAPPED)), made.record("b", other))) == 2


TWO_EDITIONS = "A42-PICK-15"


def test_an_edition_explains_a_clause_only_if_it_explains_all_its_failures() -> None:
    said = {"wanted": "open streams", "edition": "A42"}
    like_another = made.fails(
        TWO_EDITIONS,
        "OPEN (3 streams)",
        reason=Reason.EDITION,
        editions_consistent=("A61",),
        **said,
    )
    like_none = made.fails(TWO_EDITIONS, "OPEN (2 streams)", editions_consistent=(), **said)
    run = made.run(made.record("a", like_another, like_none))
    assert len(groups(run, made.CATALOGUE)) == 1
    (text,) = made.texts(run)
    assert text.strip().startswith(f"FAIL (deviates)  {TWO_EDITIONS}")
    (text,) = made.texts(made.run(made.record("a", like_another)))
    assert text.strip().startswith(f"FAIL (edition)  {TWO_EDITIONS}")


def test_records_without_the_kind_of_expectation_are_grouped_by_its_words() -> None:
    old = {"expectation": "", "wrong": None}
    decision = missed(MAPPED)
    another = missed(SIZE, 3)
    several = [
        made.record(
            f"{number}", Decision(**{**{f: getattr(d, f) for f in d.__struct_fields__}, **old})
        )
        for number, d in enumerate((decision, another))
    ]
    assert len(found(*several)) == 1


@pytest.mark.parametrize(
    ("basic", "other"),
    [
        # A MUST before a SHOULD.
        ([made.record("b", missed(MAPPED))], [made.record("a", missed(SHOULD))]),
        # What rests on another clause comes after it.
        ([made.record("b", missed("A76-KEY-01"))], [made.record("a", missed("A76-KEY-02"))]),
        # A clause that fails in at least half of its scenarios.
        (
            [made.record("b", missed(SIZE))],
            [
                made.record("a", missed(MAPPED)),
                made.record("c", Decision(clause=MAPPED, verdict=Verdict.PASS)),
                made.record("d", Decision(clause=MAPPED, verdict=Verdict.PASS)),
            ],
        ),
        # One configuration.
        (
            [made.record("b", missed(SIZE), served=["x"])],
            [made.record("a", missed(MAPPED), served=["x", "y"])],
        ),
        # The larger share of what is wrong.
        ([made.record("b", missed(SIZE, 2))], [made.record("a", missed(CONFIG))]),
        # The clause that others build upon: the ring's size before the config that sets it.
        (
            [made.record("b", missed(SIZE), served=["a ring, and more"])],
            [made.record("a", missed(CONFIG, 30), served=["a ring"])],
        ),
        # A clause that fails alone in a scenario.
        (
            [made.record("b", missed(CONFIG))],
            [made.record("a", missed(SIZE), missed(MAPPED))],
        ),
        # A clause that fails in two scenarios: one may be a consequence.
        (
            [made.record("b", missed(CONFIG)), made.record("c", missed(CONFIG))],
            [made.record("a", missed(SIZE))],
        ),
        # The earlier clause of a file, however long its scenario is.
        (
            [made.record("b", missed(SIZE), served=["a ring, and more"])],
            [made.record("a", missed(MAPPED), served=["a ring"])],
        ),
        # Of one clause, the scenario with the shorter description.
        (
            [made.record("b", missed(SIZE), served=["a ring"])],
            [made.record("a", missed(SIZE), served=["a ring, and more"])],
        ),
    ],
)
def test_the_most_basic_clause(basic: list[Record], other: list[Record]) -> None:
    for several in (basic + other, other + basic):
        (group,) = found(*several)
        assert group.first.scenario.id == "b"


LIMIT, BEYOND, ERRORS, ENDED, LOWERED, CHANNELS = (
    f"A32-CB-{number:02}" for number in (1, 2, 11, 15, 16, 21)
)


def refused(clause: str) -> Decision:
    return made.fails(clause, "UNAVAILABLE (1 stream)", wanted="1 stream to stay open")


@pytest.mark.parametrize(
    ("records", "order"),
    [
        pytest.param(
            [
                made.record("channels", refused(CHANNELS), served=["c"]),
                made.record("ended", refused(ENDED), served=["five clusters, with 2 endpoints"]),
                made.record("changed", refused(LOWERED), served=["before", "after"]),
            ],
            [ENDED, CHANNELS, LOWERED],
            id="grpc-go counts requests that failed at the limit",
        ),
        pytest.param(
            [
                made.record("channels", refused(CHANNELS), served=["c"]),
                made.record("limits", refused(LIMIT), served=["three clusters, with 2 endpoints"]),
            ],
            [LIMIT, CHANNELS],
            id="grpc-go counts no requests",
        ),
        pytest.param(
            [
                made.record("ended", refused(ERRORS)),
                made.record("limits", refused(LIMIT)),
                made.record("shared", refused(ERRORS), refused(CHANNELS)),
            ],
            [ERRORS, LIMIT, CHANNELS],
            id="the clause that fails in most scenarios",
        ),
    ],
)
def test_the_cause_comes_before_what_follows_from_it(
    records: list[Record], order: list[str]
) -> None:
    for several in (records, [*reversed(records)]):
        assert named(found(*several))[0] == tuple(order)


def test_a_clause_that_blocks_others_comes_first() -> None:
    run = made.run(
        made.record("a", refused(LIMIT), Decision(clause=BEYOND, verdict=Verdict.PASS)),
        made.record("b", refused(ERRORS)),
    )
    results = {
        name: msgspec.structs.replace(result, blocked_by=ERRORS) if name == BEYOND else result
        for name, result in run.clauses.items()
    }
    (group,) = groups(msgspec.structs.replace(run, clauses=results), made.CATALOGUE)
    assert group.clauses == (ERRORS, LIMIT)


def test_what_fails_the_run_comes_first_and_then_the_larger_group() -> None:
    crash = [made.record(f"crash.{n}", made.died("A42-HASH-01")) for n in range(3)]
    several = found(
        made.record("a", made.fails(SHOULD, "nothing")),
        made.record("b", made.errs(Reason.TIMING, "late")),
        made.record("c", missed(MAPPED)),
        *crash,
    )
    assert [group.first.scenario.id for group in several] == ["crash.0", "c", "b", "a"]
    assert [group.is_fatal for group in several] == [True, True, False, False]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("DEADLINE_EXCEEDED: 3, OK: 17", "DEADLINE_EXCEEDED: …, OK: …"),
        ("DEADLINE_EXCEEDED (1 call), OK (17 calls)", "DEADLINE_EXCEEDED (… calls), OK (… calls)"),
        ("127.0.0.1:5 (3 calls), 127.0.0.1:6 (4 calls), 127.0.0.1:7 (1 call)", "… (… calls)"),
        ("127.0.0.1:5: 3, 127.0.0.1:6: 4, 127.0.0.1:7: 1", "…: …"),
        ("the client exited with code 3", "the client exited with code 3"),
        ("the client died by signal 9; its stderr ends:\nx", "the client died by signal 9"),
    ],
)
def test_gist(text: str, said: str) -> None:
    assert gist(text) == said
