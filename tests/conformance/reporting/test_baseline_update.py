"""`xdspec baseline update`: what it writes, what it takes out, and what only a person can say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from client_under_test.manifests.clients import BUILT_IN
from conformance.cli.commands import main
from conformance.judging.evidence import JudgedClient, Record
from conformance.judging.verdicts import Decision, Reason, Verdict
from conformance.reporting import baseline, report
from conformance.reporting.baseline_update import Refused, Said, update
from conformance.reporting.build_run import build_run
from conformance.reporting.provenance import provenance
from conformance.reporting.report import ClientId, Report, Run
from conformance.spec.catalogue import load

KNOWN, OTHER = "A42-RING-05", "A42-RING-06"
FILE = Path("expected.toml")
SAID = Said(
    explanations={KNOWN: "has no ring", OTHER: "counts wrong"}, issues={OTHER: "https://a.test/1"}
)

ENTRY = """\
# What a client is known to do otherwise.

[[expected]]  # since ever
clause = "A42-RING-05"
reason = "deviates"
scenario = ["ring.one", "ring.two"]
shows = "ring of none"
seen = 'Four endpoints: \\0.'
explanation = "has no ring"
issue = "https://a.test/0"
"""

OK, FAILS = Verdict.PASS, Verdict.FAIL
Seen = Mapping[str, tuple[str, Verdict, str]]
"""By scenario: the clause, what became of it, and what was seen."""


def run(
    seen: Seen,
    text: str = "",
    *,
    version: str = "1.5",
    variant: str | None = None,
    name: str = "it",
) -> Run:
    """What a run with this baseline says."""
    judged = JudgedClient(name=name, version=version, variant=variant, follows=("A42",))
    records = [
        Record(
            scenario=scenario,
            clauses=(clause,),
            client=judged,
            seed=1,
            seconds=0.1,
            served=("RING_HASH",),
            decisions=(
                Decision(
                    clause=clause,
                    verdict=verdict,
                    reason=Reason.DEVIATES if verdict is FAILS else None,
                    edition="A42",
                    saw=saw,
                ),
            ),
        )
        for scenario, (clause, verdict, saw) in seen.items()
    ]
    return build_run(
        records,
        load(),
        client=ClientId(name, version, variant),
        follows=("A42",),
        wall_seconds=1,
        entries=baseline.parsed(text.encode(), load(), FILE),
    )


ONE = {"ring.one": (KNOWN, FAILS, "a ring of none, at 127.0.0.1:4711")}
BOTH = ONE | {"ring.two": (KNOWN, FAILS, "a ring of none")}
FIRST_ALONE = ONE | {"ring.two": (KNOWN, OK, "")}
NEITHER = {"ring.one": (KNOWN, OK, ""), "ring.two": (KNOWN, OK, "")}
ANEW = BOTH | {"ring.three": (OTHER, FAILS, "127.0.0.1:4711 (3 calls)")}


def is_true(text: str, *runs: tuple[Seen, str]) -> bool:
    """Whether runs with this baseline have nothing that is new and nothing untrue."""
    ended = [run(seen, text, version=version) for seen, version in runs]
    return not any(
        ended_run.surprises
        or any(not found.expected for each in ended_run.scenarios for found in each.findings)
        for ended_run in ended
    )


def test_what_is_true_stays_byte_for_byte() -> None:
    assert update(ENTRY, [run(BOTH, ENTRY)]).text == ENTRY
    assert update(ENTRY, [run(BOTH, ENTRY)]).changes == ()


@pytest.mark.parametrize("entry", sorted(BUILT_IN.glob("*/expected.toml")), ids=str)
def test_of_what_did_not_run_nothing_is_said(entry: Path) -> None:
    text = entry.read_text("utf-8")
    assert update(text, [run({}, version="0.0.1")]).text == text


@pytest.mark.parametrize(
    ("before", "seen", "kept"),
    [
        ("", BOTH, ()),
        (ENTRY, ANEW, ("# What a client", "# since ever", r"'Four endpoints: \0.'", "test/0")),
        (ENTRY, FIRST_ALONE, ("# What a client", 'scenario = "ring.one"', "test/0")),
        (ENTRY, NEITHER, ("# What a client",)),
        (
            ENTRY + 'also = { A42-RING-06 = "ring.three" }\n',
            NEITHER | {"ring.three": (OTHER, FAILS, "a ring of none")},
            ('clause = "A42-RING-06"', 'scenario = "ring.three"', "test/0"),
        ),
        (
            ENTRY + 'also = { A42-RING-06 = ["ring.three", "ring.four"] }\n',
            FIRST_ALONE | {"ring.three": (OTHER, FAILS, "a ring of none")},
            ('scenario = "ring.one"', '["ring.three", "ring.four"]', "test/0"),
        ),
    ],
)
def test_a_run_with_what_was_written_conforms(before: str, seen: Seen, kept: Sequence[str]) -> None:
    found = update(before, [run(seen, before)], SAID)
    assert found.changes
    assert is_true(found.text, (seen, "1.5"))
    assert all(line in found.text for line in kept), found.text
    assert update(found.text, [run(seen, found.text)], SAID).changes == ()


def test_what_is_new_is_told_with_what_another_run_will_show() -> None:
    (entry,) = baseline.parsed(update("", [run(ONE)], SAID).text.encode(), load(), FILE)
    assert entry.shows == "a ring of none, at"
    assert entry.seen == "RING_HASH: a ring of none, at 127.0.0.1:4711"
    assert (entry.explanation, entry.versions, entry.scenarios) == (
        "has no ring",
        "",
        ("ring.one",),
    )
    nearest = "calls went elsewhere"
    saw = f"9 calls {nearest} (keys {{address}}_{{i}}, search clamp, weights raw): call-0"
    other = {"ring.one": (KNOWN, FAILS, saw)}
    (entry,) = baseline.parsed(update("", [run(other)], SAID).text.encode(), load(), FILE)
    assert entry.shows == f"calls {nearest}"
    first = f"9 of 48 calls {nearest}: call-0"
    for varying in ("Pattern: ", "The nearest known ring (39 of 48 calls fit): "):
        other = {"ring.one": (KNOWN, FAILS, f"{first}\n{varying}all of them reached the other")}
        (entry,) = baseline.parsed(update("", [run(other)], SAID).text.encode(), load(), FILE)
        assert entry.shows in first
    found = update(ENTRY, [run(ANEW, ENTRY)], SAID)
    assert found.text.startswith(ENTRY)
    assert found.text.endswith('issue = "https://a.test/1"\n')
    assert 'shows = "127.0.0.1:"' in found.text


@pytest.mark.parametrize(
    ("seen", "limit"),
    [
        ((("1.4", BOTH), ("1.5", NEITHER)), 'versions = "<1.5"'),
        ((("1.10", BOTH), ("1.9", NEITHER)), 'versions = ">=1.10"'),
        ((("1.5", BOTH), ("1.5", NEITHER), ("1.5", BOTH)), 'sometimes = "in 2 of 3 runs of 1.5"'),
    ],
)
@pytest.mark.parametrize("before", ["", ENTRY], ids=["written", "bounded"])
def test_it_holds_where_it_was_seen(
    before: str, seen: Sequence[tuple[str, Seen]], limit: str
) -> None:
    found = update(before, [run(result, before, version=version) for version, result in seen], SAID)
    assert limit in found.text
    assert is_true(found.text, *((result, version) for version, result in seen))


@pytest.mark.parametrize("before", ["", ENTRY], ids=["written", "bounded"])
def test_it_holds_with_the_variants_that_show_it(before: str) -> None:
    runs = [run(BOTH, before, variant="slow"), run(NEITHER, before)]
    assert 'variants = ["slow"]' in update(before, runs, SAID).text


def test_a_race_may_stay_away() -> None:
    text = ENTRY + 'sometimes = "once in 20 runs"\n'
    assert update(text, [run(NEITHER, text)]).changes == ()


@pytest.mark.parametrize(
    ("text", "runs", "words"),
    [
        ("", [], "no run"),
        ("", [run(ONE)], r"new failures of A42-RING-05: explain it.*--explanation 'A42-RING-05=…'"),
        ("", [run(ONE), run(ONE, name="other")], "runs of it and other: choose one with --client"),
        ("", [msgspec.structs.replace(run(ONE), complete=False)], "it 1.5 broke off"),
        (
            ENTRY,
            [run(BOTH, ENTRY, version=version) for version in ("1.4", "1.6")]
            + [run(NEITHER, ENTRY)],
            "fails in it 1.4, it 1.6 and not in it 1.5, which is no range",
        ),
        (
            ENTRY,
            [run(BOTH, ENTRY, version="1.4"), run(FIRST_ALONE, ENTRY)],
            "differ in where they show it",
        ),
    ],
)
def test_what_only_a_person_can_say(text: str, runs: list[Run], words: str) -> None:
    with pytest.raises(Refused, match=words):
        update(text, runs)


def written(folder: Path, *runs: Run) -> Path:
    path = folder / "report.json"
    report.write_json(Report(provenance=provenance(load(), 1), runs=runs), path)
    return path


def test_the_command(tmp_path: Path) -> None:
    file, json = tmp_path / "expected.toml", str(written(tmp_path, run(ONE)))
    words = ["--explanation", f"{KNOWN}=has no ring"]

    def ended(*arguments: str) -> tuple[int, str]:
        result = CliRunner().invoke(main, ["baseline", "update", str(file), json, *arguments])
        return result.exit_code, result.output

    code, said = ended()
    assert code == 4
    assert "no explanation for new failures" in said
    assert not file.exists()
    code, said = ended(*words, "--check")
    assert (code, said) == (1, f"{KNOWN} fails in ring.one: written\n")
    assert not file.exists()
    assert ended(*words) == (0, said)
    assert is_true(file.read_text("utf-8"), (ONE, "1.5"))
    # The report is one without the baseline: with it the failure is expected.
    json = str(written(tmp_path, run(ONE, file.read_text("utf-8"))))
    assert ended("--check") == (0, f"{file} is up to date\n")
    assert [*tmp_path.glob(".*")] == []
    file.write_text("[[expected]]\n")
    code, said = ended(*words)
    assert code == 4
    assert "breaks the rules" in said


def test_over_another_baseline_what_it_knows_is_called_fixed() -> None:
    below = baseline.parsed(ENTRY.encode(), load(), Path("below.toml"))
    seen = FIRST_ALONE | {"ring.three": (OTHER, FAILS, "a ring of six")}
    found = update("", [run(seen, ENTRY)], SAID, below)
    assert found.changes == (
        f"{OTHER} fails in ring.three: written",
        f"{KNOWN} does not fail in ring.two any more: called fixed",
    )
    entries = baseline.parsed(found.text.encode(), load(), FILE, below=below)
    assert [(entry.clause, entry.scenarios) for entry in entries] == [
        (OTHER, ("ring.three",)),
        (KNOWN, ("ring.one",)),
    ]
    assert update(found.text, [run(seen, ENTRY)], SAID, below).changes[1:] == ()
