"""A baseline brought up to what reports show: new failures are written into it, untrue entries go.

Works on the text of the file, so that its words, links, order and comments stay. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import tomlkit
from packaging.version import Version
from tomlkit.items import AoT, Table

from conformance.judging.expectations.ring_descriptions import MET_TWICE
from conformance.judging.expectations.ring_mapping import CLOSEST, PATTERN
from conformance.judging.verdicts import Decision, Reason, Verdict
from conformance.reporting import baseline
from conformance.reporting.baseline import Entry
from conformance.reporting.report import ClientId, Run, Scenario

JUDGED: Final = {Verdict.PASS, Verdict.FAIL, Verdict.SEEN}
VARYING: Final = re.compile(r"\(keys [^)]*\)|\s\(\d+ [a-z ]+\)|\S*\d\S*|\n")
"""What another run has otherwise: numbers and all words that they are in; and which known way of
building a ring comes nearest to one that fits none: on other ports it is another."""
LOCAL: Final = "127.0.0.1:"
LONGEST: Final = 300
"""Characters of an observation in an entry that is written here."""


class Refused(Exception):
    """Nothing is written; the text says what a person has to say or do first."""


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """The user's explanations and issue links for clauses that newly fail."""

    explanations: Mapping[str, str] = {}
    """By clause: why the client fails."""
    issues: Mapping[str, str] = {}
    """By clause: where the client's maintainers know of it."""


NOTHING: Final = Said()


class Updated(msgspec.Struct, frozen=True, kw_only=True):
    """The file as it should be, and how it came to that."""

    text: str
    changes: tuple[str, ...]
    """Sentences; none if all of it was true and complete."""


class _Shown(msgspec.Struct, frozen=True):
    """One failure, or its absence, in one scenario of one run."""

    client: ClientId
    is_there: bool


def update(
    text: str, runs: Sequence[Run], said: Said = NOTHING, below: Sequence[Entry] = ()
) -> Updated:
    """Bring a baseline up to date.

    An entry stays as far as a run shows it, or none could. What no run shows any more goes; what
    only some versions show is bounded by them; and what comes and goes in one version gets the
    number of runs, as `sometimes`.

    Args:
        text: of the file, which has been read without a complaint; empty if there is none.
        runs: of one client, complete, in any versions and variants, one or more of each.
        said: of the new failures.
        below: entries of the baseline that this one is laid over, if it is; the runs were judged by
            both. What of them is not true any more is called fixed.

    Raises:
        Refused: runs are of several clients or broke off, a new failure has no words, or only a
            person can tell where an entry holds.
    """
    _check(runs)
    document = tomlkit.parse(text)
    written = document.setdefault("expected", tomlkit.aot())
    changes = [*_without_untrue(written, runs), *_with_new(written, runs, said)]
    if not written:
        del document["expected"]
    changes += _with_fixed(document, below, runs)
    return Updated(text=tomlkit.dumps(document).lstrip("\n"), changes=tuple(changes))


def _check(runs: Sequence[Run]) -> None:
    names = sorted({run.client.name for run in runs})
    if not runs:
        raise Refused("the reports have no run: nothing can be said of a baseline")
    if len(names) > 1:
        raise Refused(f"the reports have runs of {' and '.join(names)}: choose one with --client")
    for run in runs:
        if not run.complete:
            raise Refused(f"the run of {run.client} broke off: run it again")


# What is not true any more.


def _without_untrue(written: AoT, runs: Sequence[Run]) -> Iterator[str]:
    for table in list(written):
        entries = baseline.entries_of(table.unwrap())
        seen = {
            (entry.clause, scenario): shown
            for entry in entries
            for scenario in entry.scenarios
            if (shown := [*_shown(entry, scenario, runs)])
        }
        gone = {
            at
            for at, shown in seen.items()
            if not any(observation.is_there for observation in shown) and "sometimes" not in table
        }
        for clause, scenario in sorted(gone):
            yield f"{clause} does not fail in {scenario} any more: taken out"
        left = {
            entry.clause: where
            for entry in entries
            if (
                where := [
                    scenario for scenario in entry.scenarios if (entry.clause, scenario) not in gone
                ]
            )
        }
        if gone:
            _leave(written, table, left)
        if left and "sometimes" not in table:
            mixed = [shown for at, shown in seen.items() if at not in gone]
            yield from _bounded(table, entries[0].clause, mixed)


def _shown(entry: Entry, name: str, runs: Iterable[Run]) -> Iterator[_Shown]:
    """Yield, for each run that the entry covers and that judged the clause, whether it failed."""
    for run in runs:
        if not entry.applies_to(run.client.version, run.client.variant):
            continue
        for scenario in run.scenarios:
            if scenario.id == name and scenario.clauses.get(entry.clause) in JUDGED:
                yield _Shown(
                    run.client, any(entry.knows(name, finding) for finding in scenario.findings)
                )


def _leave(written: AoT, table: Table, left: Mapping[str, Sequence[str]]) -> None:
    """Only these clauses and scenarios of an entry; without any it goes."""
    if not left:
        written.remove(table)
        return
    own = table["clause"] if table["clause"] in left else next(iter(left))
    table["clause"], table["scenario"] = own, _one_or_several(left[own])
    table.pop("also", None)
    if len(left) > 1:
        more = tomlkit.inline_table()
        more.update({key: _one_or_several(where) for key, where in left.items() if key != own})
        table["also"] = more


def _bounded(table: Table, clause: str, seen: Sequence[Sequence[_Shown]]) -> Iterator[str]:
    """Limit an entry to where it was seen, if that is not everywhere."""
    if all(observation.is_there for shown in seen for observation in shown):
        return
    limits = {tuple(sorted(_limits(clause, shown).items())) for shown in seen}
    if len(limits) > 1:
        raise Refused(
            f"{clause}: the scenarios of one entry differ in where they show it: "
            "make several entries of it by hand"
        )
    for key, value in limits.pop():
        table[key] = f"{table['versions']},{value}" if table.get(key) else value
        yield f"{clause} fails {_in_words(key, value)}: the entry says so"


def _limits(clause: str, shown: Iterable[_Shown]) -> dict[str, Any]:
    """Return the versions and variants of an entry, from the runs that show the failure or not."""
    shown = [*shown]
    there = {observation.client for observation in shown if observation.is_there}
    not_there = {observation.client for observation in shown if not observation.is_there}
    if not not_there:
        return {}
    if there == not_there and len(there) == 1:
        (client,) = there
        count = sum(observation.is_there for observation in shown)
        return {"sometimes": f"in {count} of {len(shown)} runs of {client.version}"}
    variants, without = (
        {observation.variant or "" for observation in them} for them in (there, not_there)
    )
    if not variants & without:
        return {"variants": tuple(sorted(variants))}
    versions, others = (
        sorted({Version(observation.version) for observation in them})
        for them in (there, not_there)
    )
    if versions[-1] < others[0]:
        return {"versions": f"<{others[0]}"}
    if others[-1] < versions[0]:
        return {"versions": f">={versions[0]}"}
    raise Refused(
        f"{clause} fails in {_several(there)} and not in {_several(not_there)}, which is no range: "
        "say by hand where the entry holds"
    )


def _with_fixed(
    document: tomlkit.TOMLDocument, below: Iterable[Entry], runs: Sequence[Run]
) -> Iterator[str]:
    """Yield the known failures of the baseline below that no run shows."""
    own = [
        observation
        for table in document.get("expected", ())
        for observation in baseline.entries_of(table.unwrap())
    ]
    covered = baseline.places(own)
    covered |= {
        (table["clause"], scenario)
        for table in document.get("fixed", ())
        for scenario in baseline.several(table["scenario"], table["clause"])
    }
    for entry in below:
        for scenario in entry.scenarios:
            shown = [*_shown(entry, scenario, runs)]
            is_gone = (
                shown
                and not any(observation.is_there for observation in shown)
                and not entry.sometimes
            )
            if is_gone and (entry.clause, scenario) not in covered:
                covered.add((entry.clause, scenario))
                table = tomlkit.table()
                table.update({"clause": entry.clause, "scenario": scenario})
                if "fixed" not in document:
                    if document:
                        document.add(tomlkit.nl())
                    document.append("fixed", tomlkit.aot())
                elif len(document["fixed"]):
                    document["fixed"][-1].add(tomlkit.nl())
                document["fixed"].append(table)
                yield f"{entry.clause} does not fail in {scenario} any more: called fixed"


# What is new.


def _with_new(written: AoT, runs: Sequence[Run], said: Said) -> Iterator[str]:
    found = _new_failures(runs)
    if unexplained := sorted({clause for clause, *_ in found} - set(said.explanations)):
        hint = f"explain it by the client's source or the text: --explanation '{unexplained[0]}=…'"
        raise Refused(f"no explanation for new failures of {', '.join(unexplained)}: {hint}")
    for (clause, reason, shows), shown in found.items():
        scenarios = sorted({scenario.id for _, scenario, _ in shown})
        _, best, decision = min(shown, key=lambda pair: pair[1].id)
        entry = tomlkit.table()
        entry["clause"], entry["reason"] = clause, reason.value
        for key, value in _where(clause, scenarios, shown, runs).items():
            entry[key] = list(value) if isinstance(value, tuple) else value
        entry["scenario"], entry["shows"] = _one_or_several(scenarios), shows
        entry["seen"] = _short(
            f"{best.served[-1]}: {decision.saw}" if best.served else decision.saw
        )
        entry["explanation"] = said.explanations[clause]
        if clause in said.issues:
            entry["issue"] = said.issues[clause]
        if written:
            written[-1].add(tomlkit.nl())
        written.append(entry)
        yield f"{clause} fails in {', '.join(scenarios)}: written"


_Found = tuple[Run, Scenario, Decision]


def _new_failures(runs: Iterable[Run]) -> Mapping[tuple[str, Reason, str], Sequence[_Found]]:
    """By clause, reason, and a piece of what was seen."""
    found: dict[tuple[str, Reason], list[_Found]] = {}
    for run in runs:
        for scenario in run.scenarios:
            for finding in scenario.findings:
                if finding.verdict is Verdict.FAIL and finding.reason and not finding.expected:
                    found.setdefault((finding.clause, finding.reason), []).append(
                        (run, scenario, finding)
                    )
    by_piece: dict[tuple[str, Reason, str], list[_Found]] = {}
    for (clause, reason), shown in found.items():
        together = _piece(finding.saw for *_, finding in shown)
        for failure in shown:
            shows = together or _piece([failure[2].saw])
            by_piece.setdefault((clause, reason, shows), []).append(failure)
    return by_piece


def _piece(saws: Iterable[str]) -> str:
    """Return the longest text that all contain and that other runs will repeat; may be empty."""
    first, *others = dict.fromkeys(_repeated(text) for text in saws)
    pieces = {piece.strip(" ,;:") for piece in VARYING.split(first)} | {LOCAL} & {
        first[: len(LOCAL)]
    }
    common = [piece for piece in pieces if piece and all(piece in other for other in others)]
    return max(common, key=lambda piece: (len(piece), piece), default="")


def _repeated(text: str) -> str:
    """Return the part of a finding without what may differ in the next run."""
    for varying in (PATTERN, CLOSEST, FORMER_CLOSEST, MET_TWICE):
        text = text.partition(varying)[0] or text
    return text


FORMER_CLOSEST = "The closest known ring"
"""As findings of former versions have it."""


def _where(
    clause: str, scenarios: Collection[str], shown: Iterable[_Found], runs: Iterable[Run]
) -> Mapping[str, Any]:
    """Limits of a new entry: those of all runs that judged the clause in one of its scenarios."""
    failed = {id(run) for run, *_ in shown}
    return _limits(
        clause,
        [
            _Shown(run.client, id(run) in failed)
            for run in runs
            if any(
                scenario.id in scenarios and scenario.clauses.get(clause) in JUDGED
                for scenario in run.scenarios
            )
        ],
    )


# Words.


def _one_or_several(scenarios: Sequence[str]) -> str | list[str]:
    return scenarios[0] if len(scenarios) == 1 else list(scenarios)


def _several(clients: Iterable[ClientId]) -> str:
    return ", ".join(sorted(map(str, clients)))


def _in_words(key: str, value: Any) -> str:
    return {"versions": f"from versions {value} alone", "sometimes": f"{value}"}.get(
        key, f"with variants {', '.join(item or 'none' for item in value)} alone"
    )


def _short(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
