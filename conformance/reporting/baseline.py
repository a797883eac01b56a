"""The baseline: failures of a client that are known, exactly. Pure but for reading the file.

An entry names a clause, a scenario and the observation. A failure of the same clause in another
scenario, or with another observation, is new. An expected failure that does not occur fails the run
too: otherwise a stale entry would excuse the failure for ever.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from client_under_test.manifests.toml_errors import BrokenRule, converted
from client_under_test.manifests.toml_file import Unreadable, contents, decoded, place
from client_under_test.manifests.version_ranges import is_range, is_within, newest_known
from conformance.judging.declaration import NONCES
from conformance.judging.evidence import Record
from conformance.judging.former_ids import current_id
from conformance.judging.verdicts import Decision, Reason, Verdict, worst
from conformance.reporting.near_names import no_scenario
from conformance.spec.catalogue import Catalogue

FILE = "expected.toml"

REASONS = {
    Reason.DEVIATES,
    Reason.EDITION,
    Reason.CRASHED,
    Reason.EXITED,
    Reason.HUNG,
    Reason.FLOODED,
    Reason.LIED,
    Reason.STATED,
}
"""For which a client fails: the others belong to verdicts that are no failure of its."""


Text = Annotated[str, msgspec.Meta(min_length=1)]


PORT = re.compile(r"\d+\.\d+\.\d+\.\d+:\d+")


class BadBaseline(Exception):
    """A baseline that cannot be used; the text names file and entry."""


class _Said(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields that an entry of the file shares among its clauses."""

    clause: str
    reason: Reason
    """As the scenario gives it."""
    seen: Text
    """What was served and sent there, and what came, for people."""
    shows: str = ""
    """A piece of what the report says was seen, the same in every run; without it, the failure is
    known whatever was seen. That goes for versions only that are run no more."""
    versions: str = ""
    """A version range, as in ``>=1.54,<1.60``; empty means every version."""
    variants: tuple[str, ...] = ()
    """Only with these variants; ``""`` is the client without a variant. Empty means all."""
    sometimes: str = ""
    """For a race of the client: how often it was seen, in how many runs. Then its absence is no
    surprise; empty means that it is seen every time."""
    issue: str = ""
    """Where the client's maintainers know of it."""
    until: date | None = None
    """The last day on which it is known; None means every day."""


SOON = timedelta(days=14)
"""How long before its end a run reports an entry: time to fix the client or to extend the entry."""


class Entry(_Said, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A failure that is known: of one clause, in these scenarios, by these words."""

    scenarios: Annotated[tuple[Text, ...], msgspec.Meta(min_length=1)]
    """The ids of all that show it; the first of them shows it best."""
    explanation: Text = msgspec.field(name="words")
    """Why the client fails: the place in its source, and the wording of the text. Reports keep
    the key's former name."""
    like: str = ""
    """The clause whose entry has the same cause, if that is where it is written."""

    def is_over(self, today: date) -> bool:
        """Return whether the entry's last day has passed."""
        return self.until is not None and self.until < today

    def applies_to(self, version: str, variant: str | None) -> bool:
        """Return whether the entry covers this version and variant."""
        inside = is_within(version, self.versions)
        return inside and (not self.variants or (variant or "") in self.variants)

    def knows(self, scenario: str, decision: Decision) -> bool:
        """Return whether a decision of this scenario is the failure that the entry describes."""
        return (
            decision.verdict is Verdict.FAIL
            and decision.clause == self.clause
            and decision.reason is self.reason
            and scenario in self.scenarios
            and (self.shows in decision.saw or uniform(self.shows) in uniform(decision.saw))
        )


FORMER: Final[tuple[tuple[str, str], ...]] = (
    ("calls elsewhere than by the ring that fits best", "calls went elsewhere"),
    ("calls elsewhere than by", "calls went elsewhere"),
    ("one hash reached two endpoints", "calls with one expected hash reached two endpoints"),
)
"""Texts of findings that changed: baselines written before still match."""


_COUNT: Final = re.compile(r" ?\((\d+) (?:calls?|streams?|attempts?|hash values?)\)")
"""A count as findings write it now, ``OK (3 calls)``; they wrote ``OK: 3`` before."""


def uniform(finding: str) -> str:
    """Return a finding, or a piece of one, so that texts of all versions of the suite agree."""
    for former, now in FORMER:
        finding = finding.replace(former, now)
    return _COUNT.sub(r": \1", finding)


Scenarios = Annotated[tuple[Text, ...], msgspec.Meta(min_length=1)]


class _Written(_Said, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An entry of the file, for one clause or for several that fail by one and the same cause."""

    scenario: Text | Scenarios
    """One that shows it, or all that do."""
    also: dict[str, Text | Scenarios] = {}
    """More clauses, each with the scenario, or all, that show it alike."""
    explanation: Text | None = None
    """Why the client fails: the place in its source, and the wording of the text."""
    words: Text | None = None
    """The former name of `explanation`, as older files have it."""

    def __post_init__(self) -> None:
        """Refuse an entry without an explanation, or with two."""
        if (self.explanation is None) == (self.words is None):
            raise ValueError("write why the client fails into `explanation`, once")

    def each(self) -> Iterator[Entry]:
        """Yield an entry for each clause."""
        said = {field: getattr(self, field) for field in _Said.__struct_fields__}
        said["explanation"] = self.explanation or self.words
        yield Entry(**said, scenarios=several(self.scenario, self.clause))
        for clause, shown_by in self.also.items():
            more = {"clause": clause, "scenarios": several(shown_by, clause), "like": self.clause}
            yield Entry(**said | more)


def several(scenarios: str | tuple[str, ...], clause: str) -> tuple[str, ...]:
    """Return the present ids of one or several scenarios that decide a clause."""
    named = (scenarios,) if isinstance(scenarios, str) else scenarios
    return tuple(dict.fromkeys(current_id(scenario, clause) for scenario in named))


class Fixed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A failure in the client's own baseline that the user's build of the client does not show."""

    clause: str
    scenario: Text | Scenarios
    explanation: str = ""
    """Since when, or by what, for people."""
    words: str = ""
    """The former name of `explanation`, as older files have it."""


def entries_of(table: Mapping[str, Any]) -> tuple[Entry, ...]:
    """Return the entries of one table of a valid file."""
    return tuple(msgspec.convert(table, _Written).each())


def places(entries: Iterable[Entry]) -> set[tuple[str, str]]:
    """Return the pairs of clause and scenario of these entries."""
    return {(entry.clause, scenario) for entry in entries for scenario in entry.scenarios}


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    expected: tuple[_Written, ...] = ()
    fixed: tuple[Fixed, ...] = ()


def read_over(path: Path, catalogue: Catalogue, below: Collection[Entry]) -> tuple[Entry, ...]:
    """Return the entries of a user's file, and the entries below it that it does not override.

    Raises:
        BadBaseline: there is no such file, it breaks a rule, or calls fixed what was not broken.
    """
    try:
        return parsed(contents(path), catalogue, path, below=below)
    except OSError as error:
        raise BadBaseline(f"{path} cannot be read: {error.strerror}") from None


def read(path: Path, catalogue: Catalogue) -> tuple[Entry, ...]:
    """Return the entries of a file; none if the file does not exist.

    Raises:
        BadBaseline: the file breaks a rule.
    """
    try:
        content = contents(path)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise BadBaseline(f"{path} cannot be read: {error.strerror}") from None
    return parsed(content, catalogue, path)


def parsed(
    content: bytes, catalogue: Catalogue, path: Path, *, below: Collection[Entry] = ()
) -> tuple[Entry, ...]:
    """Return the entries of a file with this content.

    Args:
        content: of the file.
        catalogue: the clauses.
        path: of the file, for what is said of it.
        below: entries of the baseline that this one is laid over, which stand but for those
            scenarios of a clause that this one knows itself, or calls fixed.

    Raises:
        BadBaseline: it breaks a rule.
    """
    try:
        found = converted(decoded(content), _File)
    except Unreadable as wrong:
        raise BadBaseline(f"{path} cannot be read: {wrong}") from None
    except BrokenRule as wrong:
        where = place(content, str(wrong))
        raise BadBaseline(f"{path} breaks the rules of a baseline: {wrong}{where}") from None
    for number, entry in enumerate(found.expected):
        where = place(content, f"expected[{number}]")
        for each in entry.each():
            if each.clause not in catalogue:
                message = f"{path} expects a failure of {each.clause}, which is not a clause{where}"
                raise BadBaseline(message)
            if complaint := _complaint(each):
                raise BadBaseline(f"{path}: {each.clause}{complaint}{where}")
    own = tuple(each for entry in found.expected for each in entry.each())
    known, covered = places(below), places(own)
    for number, fix in enumerate(found.fixed):
        for scenario in several(fix.scenario, fix.clause):
            if (fix.clause, scenario) not in known:
                where = place(content, f"fixed[{number}]")
                raise BadBaseline(
                    f"{path} marks {fix.clause} as fixed in {scenario}, but the client's baseline "
                    f"has no such failure{where}"
                )
            covered.add((fix.clause, scenario))
    return (*own, *_without(below, covered))


def _without(entries: Iterable[Entry], covered: Collection[tuple[str, str]]) -> Iterator[Entry]:
    """Entries without these scenarios of clauses."""
    for entry in entries:
        left = tuple(
            scenario for scenario in entry.scenarios if (entry.clause, scenario) not in covered
        )
        if left:
            yield msgspec.structs.replace(entry, scenarios=left)


def _complaint(entry: Entry) -> str | None:
    """Return what is wrong with an entry, after the clause's id; None if it is valid."""
    if entry.reason not in REASONS:
        return f": a client does not fail because of {entry.reason}"
    if not is_range(entry.versions):
        return f" has no version range: {entry.versions!r}"
    if not (entry.shows or entry.versions):
        return (
            ": set `shows` to a piece of what the report observed, so that no other failure of "
            "the clause matches this entry"
        )
    if port := PORT.search(entry.shows):
        return f": `shows` has {port[0]}, an address that another run will not have"
    return None


def check_scenarios(
    entries: Iterable[Entry], decided: Mapping[str, Collection[str]], path: Path
) -> None:
    """See that whatever an entry names as its scenarios decides its clause.

    Args:
        entries: of the file.
        decided: every scenario by its id, with the clauses that it decides.
        path: of the file.

    Raises:
        BadBaseline: it does not, or there is none of that name.
    """
    for entry in entries:
        for name in entry.scenarios:
            if name not in decided:
                raise BadBaseline(f"{path}: {entry.clause}: {no_scenario(name, decided)}")
            if entry.clause not in {*decided[name], NONCES}:
                message = f"{path}: {name} does not decide {entry.clause}: see `xdspec explain`"
                raise BadBaseline(message)


def marked(record: Record, entries: Collection[Entry]) -> Record:
    """Return a record with the failures that the baseline lists marked as expected."""
    decisions = tuple(
        msgspec.structs.replace(decision, expected=True)
        if any(entry.knows(record.scenario, decision) for entry in entries)
        else decision
        for decision in record.decisions
    )
    return msgspec.structs.replace(record, decisions=decisions)


def applying(
    entries: Collection[Entry], version: str, variant: str | None, released: str | None = None
) -> tuple[Entry, ...]:
    """Return the entries that cover a version and variant.

    An unreleased version uses the entries of the newest known version before it.

    Args:
        entries: of a baseline.
        version: of the client.
        variant: of the client.
        released: the newest version that the client's manifest knows, if it tells.
    """
    known = newest_known(version, (entry.versions for entry in entries), released)
    return tuple(entry for entry in entries if entry.applies_to(known, variant))


def endings(records: Iterable[Record], entries: Collection[Entry], today: date) -> Iterator[str]:
    """Which failures were seen of which an entry ends soon, or has ended, as sentences.

    Args:
        records: of a run, with what is blocked.
        entries: those that apply to the client, whether they are over or not.
        today: the day of the run.
    """
    seen = [(record.scenario, decision) for record in records for decision in record.decisions]
    for entry in entries:
        if entry.until is None or entry.until - today > SOON:
            continue
        if any(entry.knows(scenario, finding) for scenario, finding in seen):
            is_over = entry.is_over(today)
            left = "and is not any more" if is_over else f"in {(entry.until - today).days} days"
            was = "was" if is_over else "is"
            yield f"{entry.clause} {was} known until {entry.until}, {left}: {entry.explanation}"


def surprises(
    records: Iterable[Record], entries: Iterable[Entry], *, is_release: bool = True
) -> Iterator[str]:
    """Yield a sentence for each untrue entry among the scenarios that ran.

    Args:
        records: of a run, with what is blocked.
        entries: those that apply to the client.
        is_release: whether the client is a release, of which the baseline must be true; else what
            it has mended is none of them.
    """
    for entry, scenario, decisions in _judged(records, entries):
        words = _untrue(entry, scenario, decisions)
        if words and (is_release or not _is_mended(decisions)):
            yield f"{words}: update the entry of the baseline"


def mended(records: Iterable[Record], entries: Iterable[Entry]) -> Iterator[str]:
    """Return sentences for the entries whose failure a client that is no release does not show."""
    for entry, scenario, decisions in _judged(records, entries):
        if _untrue(entry, scenario, decisions) and _is_mended(decisions):
            yield f"{entry.clause} does not fail in {scenario} any more: {entry.explanation}"


def _is_mended(decisions: Iterable[Decision]) -> bool:
    return worst(decisions)[0] is not Verdict.FAIL


def _judged(
    records: Iterable[Record], entries: Iterable[Entry]
) -> Iterator[tuple[Entry, str, list[Decision]]]:
    """Yield the entries with each of their scenarios that ran, and its decisions."""
    decisions = {record.scenario: record.decisions for record in records}
    for entry in entries:
        for scenario in entry.scenarios:
            there = [
                decision
                for decision in decisions.get(scenario, ())
                if decision.clause == entry.clause
            ]
            if there:
                yield entry, scenario, there


def _untrue(entry: Entry, scenario: str, decisions: Collection[Decision]) -> str | None:
    """Return what is untrue of an entry; None if its scenario did not judge the clause."""
    verdict, reason = worst(decisions)
    is_judged = verdict not in {Verdict.SKIP, Verdict.ERROR}
    is_known = any(entry.knows(scenario, decision) for decision in decisions)
    if is_known or not is_judged or entry.sometimes:
        return None
    said = verdict.value + (f" ({reason.value})" if reason else "")
    if verdict is Verdict.FAIL and reason is entry.reason:
        said += f", without {entry.shows!r} in what was observed"
    return (
        f"{entry.clause} is expected to fail in {scenario} "
        f"({entry.reason.value}: {entry.explanation}), but the verdict is {said}"
    )
