"""The baseline: failures of a client that are known, exactly. Pure but for reading the file.

An expected failure that passes fails the run too, and so does an entry for a clause that ran and
matched nothing, or whose scenario does not show it: a baseline that nobody has to keep true would
be an amnesty.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

import msgspec
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from client_under_test.complaint import Complaint, converted
from conformance.catalogue import Catalogue
from conformance.verdicts import ClauseResult, Reason, Verdict

FILE = "expected.toml"

REASONS = {
    Reason.DEVIATES,
    Reason.EDITION,
    Reason.CRASHED,
    Reason.EXITED,
    Reason.HUNG,
    Reason.FLOODED,
    Reason.LIED,
}
"""For which a client fails: the others belong to verdicts that are no failure of its."""


Text = Annotated[str, msgspec.Meta(min_length=1)]


class BadBaseline(Exception):
    """A baseline that cannot be used; the text names file and entry."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A failure that is known."""

    clause: str
    reason: Reason
    scenario: Text | None
    """The id of the scenario that shows it alone; None if it has its cause in another's entry."""
    seen: Text
    """What was served and sent there, and what came."""
    words: Text
    """Why: explained by the client's own source, and by which wording of the text."""
    versions: str = ""
    """A version range, as in ``>=1.54,<1.60``; empty means every version."""
    variants: tuple[str, ...] = ()
    """Only with these variants; ``""`` stands for none of them. Empty means all."""
    sometimes: str = ""
    """For a race of the client: how often it was seen, in how many runs. Then its absence is no
    surprise; empty means that it is seen every time."""
    issue: str = ""
    """Where the client's maintainers know of it."""

    def applies_to(self, version: str, variant: str | None) -> bool:
        """Whether the entry speaks of this version and variant."""
        inside = SpecifierSet(self.versions).contains(version, prereleases=True)
        return inside and (not self.variants or (variant or "") in self.variants)


class _Written(Entry, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An entry of the file, for one clause or for several that fail by one and the same cause."""

    also: tuple[str, ...] = ()
    """More clauses; each must fail as if it had an entry of its own, in whatever scenario."""

    def each(self) -> Iterator[Entry]:
        """An entry for each clause."""
        entry = Entry(**{field: getattr(self, field) for field in Entry.__struct_fields__})
        yield entry
        for clause in self.also:
            yield msgspec.structs.replace(entry, clause=clause, scenario=None)


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    expected: tuple[_Written, ...] = ()


def read(path: Path, catalogue: Catalogue) -> tuple[Entry, ...]:
    """The entries of a file; none if there is no such file.

    Raises:
        BadBaseline: the file breaks a rule.
    """
    if not path.exists():
        return ()
    try:
        raw = tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadBaseline(f"{path} cannot be read: {error}") from None
    try:
        written = converted(raw, _File).expected
    except Complaint as wrong:
        raise BadBaseline(f"{path} breaks the rules of a baseline: {wrong}") from None
    entries = tuple(each for entry in written for each in entry.each())
    for entry in entries:
        if entry.clause not in catalogue:
            raise BadBaseline(f"{path} expects a failure of {entry.clause}, which is no clause")
        if entry.reason not in REASONS:
            message = f"{path}: {entry.clause}: a client does not fail because of {entry.reason}"
            raise BadBaseline(message)
        try:
            SpecifierSet(entry.versions)
        except InvalidSpecifier:
            message = f"{path}: {entry.clause} has no version range: {entry.versions!r}"
            raise BadBaseline(message) from None
    return entries


def check_scenarios(entries: Iterable[Entry], scenarios: Collection[str], path: Path) -> None:
    """See that whatever an entry names as its scenario is one.

    Raises:
        BadBaseline: it is none.
    """
    for entry in entries:
        if entry.scenario is not None and entry.scenario not in scenarios:
            raise BadBaseline(f"{path}: {entry.clause}: {no_scenario(entry.scenario, scenarios)}")


def no_scenario(name: str, scenarios: Collection[str]) -> str:
    """That there is none of this name, and what may be meant."""
    near = difflib.get_close_matches(name, scenarios, n=1)
    hint = f"did you mean {near[0]}?" if near else "`xdspec list scenarios` shows all"
    return f"there is no scenario {name}: {hint}"


class Compared(msgspec.Struct, frozen=True):
    """Clause results, those that the baseline expects marked, and what does not match it."""

    clauses: dict[str, ClauseResult]
    known: tuple[Entry, ...]
    """Entries whose failure was seen."""
    surprises: tuple[str, ...]
    """Entries that are not true, as sentences."""


def compare(
    clauses: Mapping[str, ClauseResult],
    shown: Mapping[str, Mapping[str, Verdict]],
    entries: Iterable[Entry],
    version: str,
    variant: str | None,
    *,
    whole: Container[str],
) -> Compared:
    """Mark the failures that the baseline knows, and find the entries that are not true.

    Args:
        clauses: the run's verdicts.
        shown: by clause, the verdict of each scenario on it.
        entries: the baseline.
        version: of the client.
        variant: of the client.
        whole: clauses of which every scenario ran. With another one, an expected failure may be in
            those that did not, and its absence is no surprise.
    """
    marked = dict(clauses)
    known = []
    surprises = []
    for entry in entries:
        result = clauses.get(entry.clause)
        if result is None or not entry.applies_to(version, variant):
            continue
        if result.verdict is Verdict.FAIL and result.reason is entry.reason:
            marked[entry.clause] = msgspec.structs.replace(result, expected=True)
            known.append(entry)
        surprise = _untrue(entry, result, shown[entry.clause])
        is_due = marked[entry.clause].expected or not entry.sometimes
        if surprise and is_due and entry.clause in whole:
            surprises.append(f"{surprise}: mend the entry in {FILE}")
    return Compared(marked, tuple(known), tuple(surprises))


def _untrue(entry: Entry, result: ClauseResult, shown: Mapping[str, Verdict]) -> str | None:
    """What is not true of an entry; nothing is, where its clause or scenario was not judged."""
    unjudged = {Verdict.SKIP, Verdict.ERROR}
    if result.verdict in unjudged:
        return None
    if result.verdict is not Verdict.FAIL or result.reason is not entry.reason:
        was = result.verdict.value + (f" ({result.reason.value})" if result.reason else "")
        return (
            f"{entry.clause} is expected to fail ({entry.reason.value}: {entry.words}), "
            f"but the verdict is {was}"
        )
    verdict = shown.get(entry.scenario) if entry.scenario else Verdict.FAIL
    if verdict is Verdict.FAIL or verdict in unjudged:
        return None
    said = f"says {verdict.value}" if verdict else "does not decide it"
    return f"{entry.clause} fails as expected, but {entry.scenario}, which is to show it, {said}"
