"""What a person reads of failures: by causes first, each thing once, and nothing is left out."""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from client_under_test.environments import Identity
from conformance.judging.aborts import NEVER_CONNECTED
from conformance.judging.evidence import JudgedClient, Record
from conformance.judging.verdicts import Decision, Reason, Verdict
from conformance.reporting import console
from conformance.reporting.advice import advice, first_to_read
from conformance.reporting.baseline import Entry
from conformance.reporting.build_run import build_run
from conformance.reporting.failure_texts import (
    SHOWN,
    STOPPED,
    Ignored,
    failures,
    program_of,
)
from conformance.reporting.report import ClientId, Exit, Run, said_of
from conformance.spec.catalogue import load

CATALOGUE = load()
MUST, OTHER = "A42-RING-13", "A42-RING-09"


def record(name: str, *decisions: Decision, served: Iterable[str] = ()) -> Record:
    return Record(
        scenario=name,
        clauses=tuple(dict.fromkeys(decision.clause for decision in decisions)),
        client=JudgedClient(name="some", version="1", variant=None, follows=("A42",)),
        seed=1,
        seconds=1,
        served=tuple(served),
        decisions=decisions,
    )


def run(*records: Record, **more: Any) -> Run:
    return build_run(
        records,
        CATALOGUE,
        client=ClientId("some", "1", None),
        follows=("A42",),
        wall_seconds=1,
        **more,
    )


def texts(made: Run, *, verbose: bool = False, ignored: Ignored | None = None) -> list[str]:
    """The texts of groups; the last text of failures is on the next steps."""
    issues = "https://example.com/issues"
    more: Any = {"verbose": verbose, "ignored": ignored}
    every = [*failures(made, CATALOGUE, "xdspec run some", issues, **more)]
    return [text for text in every if not text.startswith("\nTo debug")]


def fails(clause: str = MUST, saw: str = "three calls elsewhere", **more: Any) -> Decision:
    said = {"reason": Reason.DEVIATES, "wanted": "each call there", **more}
    return Decision(clause=clause, verdict=Verdict.FAIL, saw=saw, **said)


def died(clause: str = MUST, stderr: str = "at 0x1") -> Decision:
    saw = f"the client died by SIGSEGV; its stderr ends:\n{stderr}"
    return fails(clause, saw, reason=Reason.CRASHED, wanted="")


def errs(reason: Reason, saw: str, clause: str = MUST) -> Decision:
    return Decision(clause=clause, verdict=Verdict.ERROR, reason=reason, saw=saw)


def test_what_ended_many_scenarios_is_told_once_and_first() -> None:
    many = [record(f"ring.{n:03}", died(OTHER, f"at 0x{n}"), died(MUST)) for n in range(202)]
    cause, clause = texts(run(*many, record("sums", fails(OTHER))))
    lines = cause.strip().splitlines()
    assert lines[0] == "FAIL (crashed)  202 scenarios: the client died by SIGSEGV"
    assert lines[1].startswith(f"  first     ring.000, for {OTHER}: ")
    assert "at 0x0" in cause
    assert "at 0x1" not in cause.replace("at 0x0", "")
    assert "  also in   ring.001, ring.002, " in cause
    assert f"and {201 - SHOWN} more" in cause
    assert f"  clauses   {OTHER}, {MUST}" in cause or f"  clauses   {MUST}, {OTHER}" in cause
    assert "repeat    xdspec run some --scenario ring.000" in cause
    assert cause.count("upstream  search for a known issue: ") == 1
    assert f"FAIL (deviates)  {OTHER}" in clause
    assert "ring.0" not in clause


@pytest.mark.parametrize(
    ("text", "other", "groups"),
    [
        ("call 3 of 400 did not end within 36 s", "call 41 of 20 did not end within 36 s", 1),
        ("the client exited with code 3", "the client exited with code 4", 2),
        ("the client died by signal 64", "the client died by signal 63", 2),
        ("no program", "no library", 2),
    ],
)
def test_what_is_one_cause(text: str, other: str, groups: int) -> None:
    made = run(
        record("a", errs(Reason.ADAPTER, text)), record("b", errs(Reason.ADAPTER, other, OTHER))
    )
    assert len(texts(made)) == groups


def test_a_clause_with_a_failure_and_an_error_shows_both() -> None:
    made = run(record("a", fails()), record("b", errs(Reason.TIMING, "the suite was 3 s late")))
    assert said_of(made) == (Exit.SUITE_TROUBLE, Exit.DEVIATES)
    failed, no_verdict = texts(made)
    assert failed.strip().startswith(f"FAIL (deviates)  {MUST}")
    assert "scenario  a\n" in failed
    assert no_verdict.strip().startswith(f"ERROR (timing)  {MUST}")
    assert "scenario  b\n" in no_verdict
    assert "the suite was 3 s late" in no_verdict


def test_an_error_is_shown_beside_a_failure_that_is_expected() -> None:
    known = Entry(
        clause=MUST,
        reason=Reason.DEVIATES,
        scenarios=("a",),
        seen="so",
        explanation="why",
        shows="calls",
    )
    made = run(record("a", fails()), record("b", errs(Reason.TIMING, "late")), entries=[known])
    (text,) = texts(made)
    assert text.strip().startswith(f"ERROR (timing)  {MUST}")
    assert "known in  a" in text


def shown(made: Run) -> str:
    said = StringIO()
    console.show(
        Console(file=said, width=200),
        made,
        CATALOGUE,
        said_of(made),
        repeat="xdspec run some",
        issues="",
        brief=False,
    )
    return said.getvalue()


def test_failures_are_not_hidden_behind_an_error_of_the_adapter() -> None:
    many = [record(f"ring.{n}", fails()) for n in range(41)]
    made = run(*many, record("sums", errs(Reason.ADAPTER, "a line that is none", OTHER)))
    last = shown(made).strip().splitlines()[-1]
    assert last.endswith(
        "adapter errors left clauses without a verdict (see xdspec doctor), and "
        "does not conform (1 newly failed clause)"
    )


def test_the_doctor_is_named_only_where_it_can_help() -> None:
    never = f"{NEVER_CONNECTED}: 4 of 4 calls ended with UNAVAILABLE"
    last = shown(run(record("sums", errs(Reason.ADAPTER, never, OTHER)))).strip().splitlines()[-1]
    assert last.endswith("adapter errors left clauses without a verdict")


def test_each_served_line_stands_once_and_behind_what_differs() -> None:
    served = ["a ring of three", "a ring of two", "a ring of three", "a ring of three"]
    (text,) = texts(run(record("a", fails(differs="one: 3 wanted, nothing seen"), served=served)))
    lines = [line.strip() for line in text.splitlines()]
    begin = lines.index("scenario  a")
    assert [line.split()[0] for line in lines[begin + 1 : begin + 6]] == [
        *("expected", "observed", "differs", "served", "served")
    ]
    assert "served    a ring of three (3 times)" in lines
    assert "served    a ring of two" in lines


EDITION = msgspec.structs.replace(
    fails("A42-PRO-10"), reason=Reason.EDITION, editions_consistent=("A61",)
)
CHANGED = fails("A42-RING-03", reason=Reason.STATED, choices=("ip:port",))
NO_KEYS = msgspec.structs.replace(CHANGED, choices=("none of the known",))


@pytest.mark.parametrize(
    ("decisions", "words"),
    [
        (
            [EDITION],
            "A42-PRO-10 shows the behavior of A61, but client.toml declares another edition. ",
        ),
        ([EDITION, fails(MUST), fails(OTHER)], "The other 2 newly failed clauses match no"),
        ([EDITION, fails(MUST)], "If a change of the client caused this, it is a regression. "),
        (
            [errs(Reason.TIMING, "late")],
            "1 scenario has no verdict, since this machine",
        ),
    ],
)
def test_advice_follows_the_cause(decisions: list[Decision], words: str) -> None:
    (text,) = advice(run(record("a", *decisions)))
    assert words in text


@pytest.mark.parametrize(
    ("decision", "words"),
    [
        (CHANGED, "The keys of ring entries differ from client.toml (ring-key-formats)"),
        (NO_KEYS, "The client's rings match no known format of ring keys"),
    ],
)
def test_what_explains_failures_on_rings_comes_first(decision: Decision, words: str) -> None:
    (text,) = first_to_read(run(record("a", decision)))
    assert words in text
    assert not [*first_to_read(run(record("a", fails())))]


def test_an_adapter_without_a_baseline_may_declare_the_edition() -> None:
    own = Identity(source="/home/me/adapter", is_adapter=True)
    (text,) = advice(run(record("a", EDITION), identity=own))
    assert "documents claim A61, add it to `follows` in client.toml. Otherwise it is" in text


def test_an_adapter_of_the_users_own_is_to_be_doubted_first() -> None:
    lied = fails(reason=Reason.LIED, saw="four calls that no backend received")
    own = Identity(source="/home/me/my adapter", is_adapter=True)
    (text,) = advice(run(record("a", lied), identity=own))
    assert "the adapter usually has a bug: `xdspec doctor '/home/me/my adapter'`" in text
    assert not [*advice(run(record("a", lied)))]
    assert not [*advice(run(record("a", fails()), identity=own))]


@pytest.mark.parametrize(
    ("decision", "words"),
    [(CHANGED, ": correct the client, or that line"), (NO_KEYS, ": correct the client\n")],
)
def test_a_manifest_is_to_be_mended_only_for_another_choice(decision: Decision, words: str) -> None:
    (text,) = texts(run(record("a", decision)))
    assert words in text


def test_the_next_steps_stand_once_behind_all_failures() -> None:
    made = run(record("ring.a[1]", fails()), record("b", died(OTHER)))
    every = [*failures(made, CATALOGUE, "A=1 ./xdspec run some --seed 7", "")]
    assert [text.startswith("\nTo debug") for text in every] == [False, False, True]
    assert "add --hold" in every[-1]
    assert every[-1].endswith("./xdspec serve b --with some"), "what crashed comes first"
    repeat = "./xdspec run go --source '/my go' --commit HEAD --seed 7"
    assert [*failures(made, CATALOGUE, repeat, "")][-1].endswith(
        "./xdspec serve b --with go --source '/my go' --commit HEAD"
    )


@pytest.mark.parametrize(
    ("consistent", "lines"),
    [
        ((), ["requires  The client must not have more than max_requests"]),
        (
            ("envoy",),
            [
                "requires  edition A32: The client must",
                "matches   edition envoy: Envoy has no more",
            ],
        ),
    ],
)
def test_the_wording_of_envoy_is_shown_only_if_it_explains_something(
    consistent: tuple[str, ...], lines: list[str]
) -> None:
    reason = Reason.EDITION if consistent else Reason.DEVIATES
    failed = fails(
        "A32-CB-01", "OPEN", reason=reason, edition="A32", editions_consistent=consistent
    )
    (text,) = texts(run(record("a", failed)))
    labels = ("  requires", "  says", "  matches")
    shown = [line.strip() for line in text.splitlines() if line.startswith(labels)]
    assert all(line.startswith(begin) for line, begin in zip(shown, lines, strict=True))
    assert ("  judged" in text) == bool(consistent)


def test_a_scenario_has_the_wordings_that_judge_and_match_it() -> None:
    of_all, of_one = [
        fails("A42-PRO-10", "no attempt", reason=Reason.EDITION, edition="A61", wanted="one")
        for _ in range(2)
    ]
    of_all = msgspec.structs.replace(of_all, editions_consistent=("A42",), saw="one attempt")
    of_one = msgspec.structs.replace(of_one, editions_consistent=("A61-2023",))
    for text in texts(run(record("a", of_all), record("b", of_one))):
        assert "FAIL (deviates)  A42-PRO-10" in text
        assert ", but no one wording fits all 2 scenarios of the clause" in text
        assert "fits no wording" not in text
    (alone,) = texts(run(record("b", of_one)))
    assert "\n  requires  edition A61: " in alone.partition("\n  matches   edition A61-2023: ")[0]
    assert "\n  matches   edition A61-2023: " in alone
    assert "edition A42: " not in alone
    assert "by the wording of A61; the behavior is that of A61-2023\n" in alone


def test_a_clause_whose_check_no_scenario_reached_is_counted_so() -> None:
    saw = "expected connection attempts: 1 or more in all within 10 s, saw no attempt, though A"
    stopped = [record(name, fails(OTHER, saw, wanted="")) for name in ("a", "b")]
    made = run(*stopped, record("c", fails()))
    assert "(2 newly failed clauses, 1 of them before its check)" in shown(made)
    _, text = texts(made)
    begin = "\nFAIL (deviates)  2 scenarios stopped before their check: no attempt, though A\n"
    assert text.startswith(begin)
    assert "\n  rule      A42, " in text
    assert "\n  clauses " not in text
    reached = run(*stopped, record("c", fails()), record("d", fails(OTHER)))
    assert "before" not in shown(reached).splitlines()[-1]


def test_a_checkout_is_compared_with_its_base() -> None:
    repeat = "xdspec run go+key --source '/my go' --seed 7"
    own = run(record("ring.a", fails()), identity=Identity(source="/my go", commit="d549eec5"))
    every = [*failures(own, CATALOGUE, repeat, "")]
    gate = "? xdspec gate go+key --source '/my go' --base origin/master --scenario ring.a"
    assert every[-1].endswith(gate)
    release = run(record("ring.a", fails()))
    assert "gate" not in [*failures(release, CATALOGUE, "xdspec run go@1.85.0", "")][-1]


@pytest.mark.parametrize(
    ("repeat", "program"),
    [
        ("./xdspec run go --seed 7", "./xdspec"),
        ("XDSPEC_SOAK=3 xdspec run go", "xdspec"),
        ("'../a run b/xdspec' run go", "'../a run b/xdspec'"),
        ("something else", "xdspec"),
    ],
)
def test_the_program_that_a_repeat_command_starts(repeat: str, program: str) -> None:
    assert program_of(repeat) == program


def test_values_that_a_report_withholds_are_asked_for() -> None:
    made = run(record("ring.a", fails()))
    hint = "Fill in the values of --env"
    (with_value, _) = failures(made, CATALOGUE, "xdspec run some --env 'KEY=…'", "")
    (without, _) = failures(made, CATALOGUE, "xdspec run some", "")
    assert hint in with_value
    assert hint not in without


def test_evidence_in_the_current_folder_has_a_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    kept = msgspec.structs.replace(record("a", fails()), evidence=str(tmp_path / "out" / "a"))
    (text,) = texts(run(kept))
    assert "    evidence  xdspec show out/a" in text.splitlines()


def test_evidence_is_shown_by_a_command() -> None:
    kept = msgspec.structs.replace(record("a", fails()), evidence="/some where/a")
    (text,) = texts(run(kept))
    assert "    evidence  xdspec show '/some where/a'" in text.splitlines()


KNOWN = Entry(
    clause=MUST,
    scenarios=("a",),
    reason=Reason.DEVIATES,
    seen="calls",
    explanation="A loop ends too early.",
    issue="https://example.com/issues/7",
)
BASELINE = Ignored((KNOWN,), "clients/some/expected.toml")


def test_a_clause_that_fails_in_two_ways_has_its_rule_once() -> None:
    made = run(record("a", fails(saw="three calls elsewhere")), record("b", fails(saw="no call")))
    first, second = texts(made)
    assert "\n  requires  " in first
    assert "\n  requires  " not in second
    assert "\n  rule      as above: " in second


def test_a_failure_of_a_baseline_that_is_not_used_has_its_description() -> None:
    new, known = texts(run(record("a", fails(MUST)), record("b", died(OTHER))), ignored=BASELINE)
    lines = known.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("  known     "))
    assert lines[at].endswith(" (clients/some/expected.toml): calls")
    assert lines[at].startswith("  known     failure of ")
    assert lines[at + 1] == "  cause     A loop ends too early."
    assert "  issue     https://example.com/issues/7" in known.splitlines()
    assert "upstream" not in known
    assert "known     " not in new


def test_no_tracker_is_named_for_a_build_of_the_users_own() -> None:
    own = msgspec.structs.replace(
        run(record("a", fails())), identity=Identity(source="/home/me/grpc-go")
    )
    assert "upstream" not in "".join(texts(own))


def test_a_precondition_says_what_was_expected_and_what_was_observed() -> None:
    saw = "expected every call ends OK within 5 s, saw UNAVAILABLE: 3, though it was ACKed"
    (text,) = texts(run(record("a", fails(saw=saw, wanted=""))))
    assert "    expected  every call ends OK within 5 s\n" in text
    assert "    observed  UNAVAILABLE: 3, though it was ACKed\n" in text
    assert f"    stopped   {STOPPED}\n" in text
    assert STOPPED not in texts(run(record("a", fails())))[0]


def test_many_configurations_are_counted() -> None:
    served = [f"offer {number}" for number in range(9)]
    (text,) = texts(run(record("a", fails(), served=served)))
    assert "served    offer 2" in text
    assert "offer 3" not in text
    assert "and 6 more configurations" in text


def test_every_clause_of_a_group_is_described_in_a_verbose_report() -> None:
    made = run(record("a", fails(MUST), fails(OTHER)))
    (brief,) = texts(made)
    assert "likewise  1 more clause fails in the same way:\n" in brief
    other = CATALOGUE[next(id_ for id_ in (MUST, OTHER) if f"  {id_}  " not in brief[:60])]
    assert f"\n{'':12}{other.id:14}{other.title} [{other.strength.value}] in a\n" in brief + "\n"
    assert f"explain {MUST})" in brief or f"explain {OTHER})" in brief
    assert len(texts(made, verbose=True)) == 2
