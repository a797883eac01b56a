"""What ended several scenarios is told once, by one clause, and that is no amnesty."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from xml.etree.ElementTree import tostring

import msgspec
import pytest
from rich.console import Console

from client_under_test.contract.exceptions import ClientCrashed, ClientExited, ClientHung
from conformance.judging import blocking, causes
from conformance.judging.aborts import ResourceRejected
from conformance.judging.evidence import JudgedClient, Record, Trouble, decisions_of
from conformance.judging.expectations import EndsWith
from conformance.judging.observations import Call, Calls
from conformance.judging.verdicts import Cause, Check, Reason, Verdict
from conformance.mutation.results import DeclaredMutant, MutantResult, result_of
from conformance.reporting import console, junit, live
from conformance.reporting.baseline import Entry
from conformance.reporting.build_run import build_run
from conformance.reporting.provenance import provenance
from conformance.reporting.report import ClientId, Exit, Report, Run, exit_of
from conformance.spec.catalogue import load

CATALOGUE = load()
CALLS = Calls((Call(id="call-0", channel="channel-1", path="/s/m", metadata=(), status="OK"),))
UNKNOWN_POLICY = Cause(resource="cluster", words="…: unsupported policy: 2")
OTHER_WORDS = Cause(resource="cluster", words="…: no such discovery")
OF_ENDPOINTS = Cause(resource="endpoints", words="…: no locality")
CRASH = Cause(words="SIGSEGV")
MUST_OF_ROUTES, FIRST_OF_CLUSTERS, MUST_OF_LOCALITIES = "A42-HASH-01", "A42-CDS-01", "A42-LOC-01"
SHOULD, FREE, OF_A76 = "A42-RING-04", "A42-RING-03", "A76-KEY-01"

BLOCKED = (Verdict.SKIP, Reason.BLOCKED)
REFUSED = (Verdict.FAIL, Reason.DEVIATES)
CRASHED = (Verdict.FAIL, Reason.CRASHED)
PASSED = (Verdict.PASS, None)


def check(clause: str, *, holds: bool) -> Check:
    return Check(
        clause=clause, seen=CALLS, expected={"A42": EndsWith("OK" if holds else "INTERNAL")}
    )


def record(
    name: str,
    *clauses: str,
    cause: Cause | None = None,
    checks: Sequence[Check] = (),
    follows: tuple[str, ...] = ("A42",),
) -> Record:
    """A scenario that ended by a cause, or else passed its clauses."""
    ended = None
    if cause is not None:
        reason = Reason.DEVIATES if cause.resource else Reason.CRASHED
        what = f"so it ended: {cause.words}"
        ended = Trouble(verdict=Verdict.FAIL, reason=reason, what=what, cause=cause)
    made = Record(
        scenario=name,
        clauses=clauses,
        client=JudgedClient(name="some", version="1", variant=None, follows=follows),
        seed=1,
        seconds=0.1,
        checks=tuple(checks) or tuple(check(clause, holds=True) for clause in clauses if not cause),
        trouble=ended,
    )
    return msgspec.structs.replace(made, decisions=decisions_of(made, CATALOGUE))


def run(*records: Record, entries: Sequence[Entry] = ()) -> Run:
    client = ClientId("some", "1", None)
    return build_run(
        records, CATALOGUE, client=client, follows=("A42",), wall_seconds=1, entries=entries
    )


def verdicts(made: Run) -> dict[str, tuple[Verdict, Reason | None]]:
    return {name: (clause.verdict, clause.reason) for name, clause in made.clauses.items()}


def test_the_clauses_used_here_are_what_their_names_say() -> None:
    about = [
        CATALOGUE[clause].about
        for clause in (MUST_OF_ROUTES, FIRST_OF_CLUSTERS, MUST_OF_LOCALITIES)
    ]
    assert about == ["route", "cluster", "endpoints"]
    assert [CATALOGUE[clause].strength.value for clause in (SHOULD, FREE)] == [
        "SHOULD",
        "UNSPECIFIED",
    ]
    assert [clause.about for clause in CATALOGUE].count("cluster") > 10


TWICE = (
    record("a.hash", MUST_OF_ROUTES, FREE, cause=UNKNOWN_POLICY),
    record("b.cluster", FIRST_OF_CLUSTERS, cause=UNKNOWN_POLICY),
)


def test_the_first_that_is_about_it_fails_and_the_others_are_blocked() -> None:
    made = run(*TWICE, record("c.fine", MUST_OF_LOCALITIES))
    assert verdicts(made) == {
        MUST_OF_ROUTES: BLOCKED,
        FREE: BLOCKED,
        FIRST_OF_CLUSTERS: REFUSED,
        MUST_OF_LOCALITIES: PASSED,
    }
    assert {made.clauses[clause].blocked_by for clause in (MUST_OF_ROUTES, FREE)} == {
        FIRST_OF_CLUSTERS
    }
    assert made.clauses[FIRST_OF_CLUSTERS].blocked_by is None
    assert [(scenario.verdict, scenario.reason) for scenario in made.scenarios[:2]] == [
        BLOCKED,
        REFUSED,
    ]
    assert exit_of(made) is Exit.DEVIATES
    # Nothing but that failure counts: known, it leaves a run that conforms.
    known = Entry(
        clause=FIRST_OF_CLUSTERS,
        reason=Reason.DEVIATES,
        scenarios=("b.cluster",),
        seen="s",
        explanation="w",
        shows="unsupported policy: 2",
    )
    expected = run(*TWICE, entries=[known])
    assert exit_of(expected, strict=True) is Exit.CONFORMS
    assert expected.surprises == ()
    also = msgspec.structs.replace(known, clause=MUST_OF_ROUTES, scenarios=("a.hash",))
    assert run(*TWICE, entries=[known, also]).surprises == ()


@pytest.mark.parametrize(
    ("records", "failed"),
    [
        # One scenario that ends early speaks for itself, with each of its clauses.
        ([TWICE[0]], {MUST_OF_ROUTES}),
        # Of two causes each has its own.
        (
            [TWICE[0], record("b.cluster", FIRST_OF_CLUSTERS, cause=OTHER_WORDS)],
            {MUST_OF_ROUTES, FIRST_OF_CLUSTERS},
        ),
        # With none about it, the first of all.
        ([TWICE[1], record("c.locality", MUST_OF_LOCALITIES, cause=UNKNOWN_POLICY)],
         {FIRST_OF_CLUSTERS}),
        (
            [
                record("a.hash", MUST_OF_ROUTES, cause=OF_ENDPOINTS),
                record("b.cluster", FIRST_OF_CLUSTERS, cause=OF_ENDPOINTS),
            ],
            {MUST_OF_ROUTES},
        ),
        # A refusal without words may be another one.
        (
            [
                record("a.hash", MUST_OF_ROUTES, cause=Cause(resource="cluster", words="")),
                record("b.cluster", FIRST_OF_CLUSTERS, cause=Cause(resource="cluster", words="")),
                record("c.locality", MUST_OF_LOCALITIES),
                record("d.ring", "A42-RING-05"),
            ],
            {MUST_OF_ROUTES, FIRST_OF_CLUSTERS},
        ),
        # No amnesty: a MUST that the client states fails, or all that would.
        (
            [
                record("a.key", OF_A76, FREE, cause=CRASH),
                record("b.ring", "A42-RING-05", SHOULD, cause=CRASH),
            ],
            {"A42-RING-05"},
        ),
        (
            [
                record("a.ring", SHOULD, cause=UNKNOWN_POLICY),
                record("b.ring", SHOULD, FREE, cause=UNKNOWN_POLICY),
            ],
            {SHOULD},
        ),
        # A death has no words: it is one cause only if most scenarios end by it.
        (
            [
                record("a.hash", MUST_OF_ROUTES, cause=CRASH),
                record("b.cluster", FIRST_OF_CLUSTERS, cause=CRASH),
                record("c.locality", MUST_OF_LOCALITIES),
                record("d.ring", "A42-RING-05"),
            ],
            {MUST_OF_ROUTES, FIRST_OF_CLUSTERS},
        ),
        (
            [
                record("a.hash", MUST_OF_ROUTES, cause=CRASH),
                record("b.cluster", FIRST_OF_CLUSTERS, cause=CRASH),
                record("c.locality", MUST_OF_LOCALITIES),
                record("d.ring", "A42-RING-05", follows=()),
            ],
            {MUST_OF_ROUTES},
        ),
    ],
)  # fmt: skip
def test_what_fails_for_a_cause(records: list[Record], failed: set[str]) -> None:
    made = run(*records)
    found = {name for name, clause in made.clauses.items() if clause.verdict is Verdict.FAIL}
    assert found == failed
    assert all(
        clause.reason is not Reason.BLOCKED or clause.blocked_by for clause in made.clauses.values()
    )


def test_what_was_judged_before_stays() -> None:
    failed = record(
        "a.hash",
        MUST_OF_ROUTES,
        SHOULD,
        cause=UNKNOWN_POLICY,
        checks=(check(MUST_OF_ROUTES, holds=False), check(SHOULD, holds=True)),
    )
    made = run(failed, TWICE[1])
    assert verdicts(made)[MUST_OF_ROUTES] == REFUSED
    assert made.clauses[MUST_OF_ROUTES].seen == ("OK (1 call)",)
    assert verdicts(made)[SHOULD] == BLOCKED


def test_a_clause_that_is_blocked_in_one_scenario_is_not_passed() -> None:
    made = run(*TWICE, record("c.hash", MUST_OF_ROUTES))
    assert verdicts(made)[MUST_OF_ROUTES] == BLOCKED
    failed = record("c.hash", MUST_OF_ROUTES, checks=(check(MUST_OF_ROUTES, holds=False),))
    assert verdicts(run(*TWICE, failed))[MUST_OF_ROUTES] == REFUSED


def test_a_crash_before_anything_was_seen() -> None:
    clauses = [clause.id for clause in CATALOGUE if clause.document == "A42" and clause.seen_by]
    made = run(*(record(f"some.{clause}", clause, cause=CRASH) for clause in clauses))
    assert verdicts(made).pop("A42-HASH-01") == CRASHED
    assert made.totals[Verdict.FAIL] == 1
    assert made.totals[Verdict.SKIP] == len(clauses) - 1


# What rests on another clause: the same fact is told once.


@pytest.mark.parametrize(
    ("gives_result", "verdict"), [(True, (Verdict.FAIL, Reason.DEVIATES)), (False, BLOCKED)]
)
def test_a_clause_that_rests_on_another(
    gives_result: bool,  # noqa: FBT001  # a parameter of pytest
    verdict: tuple[Verdict, Reason | None],
) -> None:
    checks = (check("A42-HDR-08", holds=gives_result), check("A42-HDR-09", holds=False))
    made = run(record("header.content_type", "A42-HDR-08", "A42-HDR-09", checks=checks))
    assert verdicts(made)["A42-HDR-09"] == verdict
    assert made.clauses["A42-HDR-09"].blocked_by == (None if gives_result else "A42-HDR-08")


def test_a_clause_that_was_not_asked_as_the_one_below_it_failed() -> None:
    checks = (check("A42-HDR-08", holds=False),)
    made = run(record("header.content_type", "A42-HDR-08", "A42-HDR-09", checks=checks))
    assert verdicts(made)["A42-HDR-09"] == BLOCKED


NO_SUCH_NAME = Cause(resource="cluster", words="…: no such policy in the registry")


@pytest.mark.parametrize("scenarios", [1, 2])
def test_a_refusal_for_what_a_clause_rests_on_says_nothing_of_it(scenarios: int) -> None:
    ended = [
        record(f"a.config-{number}", "A42-CONF-06", "A52-CUSTOM-13", cause=NO_SUCH_NAME,
               follows=("A42", "A52"))
        for number in range(scenarios)
    ]  # fmt: skip
    made = run(*ended)
    assert verdicts(made) == {"A42-CONF-06": BLOCKED, "A52-CUSTOM-13": REFUSED}
    assert made.clauses["A42-CONF-06"].blocked_by == "A52-CUSTOM-13"


def test_a_clause_fails_itself_where_the_one_below_it_is_not_stated() -> None:
    made = run(record("a.config", "A42-CONF-06", "A52-CUSTOM-13", cause=NO_SUCH_NAME))
    assert verdicts(made)["A42-CONF-06"] == REFUSED


def test_the_cause_goes_before_what_a_clause_rests_on() -> None:
    both = record("header.content_type", "A42-HDR-08", "A42-HDR-09", cause=UNKNOWN_POLICY)
    made = run(both, TWICE[1])
    blockers = {made.clauses[clause].blocked_by for clause in ("A42-HDR-08", "A42-HDR-09")}
    assert blockers == {FIRST_OF_CLUSTERS}


# How a cause is told from another.


@pytest.mark.parametrize(
    ("text", "other", "same"),
    [
        ("cluster: unsupported policy: 2", "other: unsupported policy: 2", True),
        ("cluster: unsupported policy: 2", "cluster: unsupported policy: 5", False),
        ("cluster: bad", "cluster: bad; other: bad", True),
        ("cluster: bad\nother: bad", "[other: bad]", True),
        ("cluster: bad", "cluster: bad; other: worse", False),
        ("version 3 of cluster: bad", "version 12 of cluster: bad", True),
        ("resource index 0: cluster: bad", "resource index 4: other: bad", True),
        ("127.0.0.1:4711 is no address", "127.0.0.1:4712 is no address", True),
        ("other: bad", "brother: bad", False),
    ],
)
def test_words_of_a_refusal(text: str, other: str, *, same: bool) -> None:
    names = {"cluster", "other"}
    first = blocking.refusal("cluster", text, names)
    assert (first == blocking.refusal("cluster", other, names)) is same
    assert first != blocking.refusal("endpoints", text, names)


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (ClientCrashed(11, hello_said=True), CRASH),
        (ClientExited(2, hello_said=True), Cause(words="exit code 2")),
        (ClientHung("hung", hello_said=True), None),
        (ClientCrashed(11, hello_said=False), None),
        (ResourceRejected("a NACK", UNKNOWN_POLICY), UNKNOWN_POLICY),
    ],
)
def test_the_cause_of_an_exception(error: Exception, cause: Cause | None) -> None:
    assert causes.of(error, nothing_seen=True).cause == cause
    seen = causes.of(error).cause
    assert seen == (cause if isinstance(error, ResourceRejected) else None)


def test_a_mutant_is_not_killed_by_a_clause_that_is_blocked() -> None:
    def fate_of(clause: str, cause: Cause) -> MutantResult:
        mutant = DeclaredMutant(
            id="m.x", clause=clause, broken="b", variant="seed", reports="", issue="", place="p"
        )
        records = [
            msgspec.structs.replace(ended_record, mutant="m.x") for ended_record in ended_by(cause)
        ]
        return result_of(mutant, records, CATALOGUE)

    def ended_by(cause: Cause) -> list[Record]:
        return [
            record("a.hash", MUST_OF_ROUTES, cause=cause),
            record("b.cluster", FIRST_OF_CLUSTERS, cause=cause),
        ]

    assert fate_of(MUST_OF_ROUTES, UNKNOWN_POLICY).verdict == "survived"
    assert fate_of(FIRST_OF_CLUSTERS, UNKNOWN_POLICY).by == ("b.cluster",)
    assert fate_of(MUST_OF_ROUTES, CRASH).verdict == "survived"


# How it is told.

MANY = [
    record(f"ring.some-{number}", clause.id, cause=UNKNOWN_POLICY)
    for number, clause in enumerate(CATALOGUE)
    if clause.id.startswith("A42-RING") and clause.seen_by
]
TOLD = run(*MANY, *TWICE)


def test_the_console_tells_it_once() -> None:
    said = StringIO()
    screen = Console(file=said, width=200)
    console.show(screen, TOLD, CATALOGUE, [Exit.DEVIATES], repeat="x", issues="", brief=False)
    lines = said.getvalue().splitlines()
    count = TOLD.totals[Verdict.SKIP]
    assert count > len(MANY)
    why = f"blocked by the failure of {FIRST_OF_CLUSTERS}: so it ended: …: unsupported policy: 2"
    blocked_lines = [line.strip() for line in lines if "(blocked)" in line]
    assert blocked_lines == [f"skip (blocked)  {count} clauses: {why}"]
    assert not any("A42-RING" in line for line in lines)
    assert f"1 fail (1 MUST), {count} skip ({count} blocked)" in lines[-1]


def test_one_that_is_blocked_is_told_by_its_name() -> None:
    said = StringIO()
    made = run(record("a.hash", MUST_OF_ROUTES, cause=UNKNOWN_POLICY), TWICE[1])
    screen = Console(file=said, width=200)
    console.show(screen, made, CATALOGUE, [Exit.DEVIATES], repeat="x", issues="", brief=True)
    title = CATALOGUE[MUST_OF_ROUTES].title
    line = f"  skip (blocked)  {MUST_OF_ROUTES} {title}: blocked by the failure of A42-CDS-01"
    assert line in said.getvalue().splitlines()


def test_progress_names_the_first_that_ended_so() -> None:
    said = StringIO()
    with live.Live(Console(file=said, width=200), "some", verbose=True) as shown:
        shown.planned(2)
        for ended_record in TWICE:
            shown.finished(ended_record)
    first, second = said.getvalue().splitlines()
    assert "fail (deviates)  a.hash" in first
    assert "fail (deviates) like a.hash  b.cluster" in second


ORIGIN = provenance(CATALOGUE, seed=1)


def test_junit_skips_what_is_blocked() -> None:
    report = Report(provenance=ORIGIN, runs=(run(*TWICE),))
    (suite,) = junit.tree(report).getroot()
    skipped, failed = (case[0] for case in suite.iter("testcase"))
    assert (skipped.tag, skipped.get("type")) == ("skipped", "blocked")
    assert skipped.get("message") == "blocked by A42-CDS-01: so it ended: …: unsupported policy: 2"
    assert (failed.tag, failed.get("type")) == ("failure", "deviates")
    assert b'failures="1"' in tostring(suite)


def test_a_report_keeps_the_cause() -> None:
    read = msgspec.json.decode(msgspec.json.encode(TOLD), type=Run)
    assert read == TOLD
    (failed,) = (scenario for scenario in read.scenarios if scenario.verdict is Verdict.FAIL)
    assert [finding.cause for finding in failed.findings] == [UNKNOWN_POLICY]
