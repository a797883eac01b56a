"""Compute all that pages show of one scenario. Pure but for reading its evidence folder."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from conformance.judging import evidence
from conformance.judging.evidence import BadEvidence, JudgedClient, Record
from conformance.judging.expectations import Expectation, LoadMatches, MatchesRing
from conformance.judging.verdicts import Check, Decision, Verdict, expectation_of, leaves_a_choice
from conformance.reporting.client_log import quoted
from conformance.reporting.rendering.comparison import Compared, compared
from conformance.reporting.rendering.folder import Folder, read_folder
from conformance.reporting.rendering.loads import LoadPicture, load_picture
from conformance.reporting.rendering.phases import Phase, phases
from conformance.reporting.rendering.ring import RingPicture, ring_picture
from conformance.reporting.rendering.served import Pushed, pushes
from conformance.reporting.rendering.shares import SharesPicture, shares_picture
from conformance.reporting.rendering.timeline import Timeline, timeline
from conformance.reporting.report import command, shown_command
from conformance.runner.selection import with_scenario
from conformance.spec.catalogue import Catalogue, Clause, edition_for
from regular_files import UntrustedFolder


class Drawn(msgspec.Struct, frozen=True, kw_only=True):
    """What can be drawn of a check."""

    ring: RingPicture | None = None
    shares: SharesPicture | None = None
    loads: LoadPicture | None = None
    why_not: str = ""
    """Why the ring is not drawn."""

    @property
    def is_empty(self) -> bool:
        """Return whether there is no picture, and no reason for that."""
        return not (self.ring or self.shares or self.loads or self.why_not)


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """A decision of the scenario, with its clause and its picture."""

    decision: Decision
    clause: Clause
    words: Compared
    drawn: Drawn
    number: int = 1
    """Its position among the checks of its clause in the scenario, from 1."""
    count: int = 1
    """How many checks its clause has."""

    @property
    def text(self) -> str:
        """The clause in our words, by the edition that the client is judged by."""
        return self.clause.worded(self.decision.edition)


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario as it is shown."""

    scenario: str
    client: JudgedClient
    mutant: str
    seed: int
    seconds: float
    lateness: float
    starved: float
    trouble: str
    shown: tuple[Shown, ...]
    """Its decisions, failures first."""
    phases: tuple[Phase, ...]
    timeline: Timeline
    pushed: tuple[Pushed, ...]
    notes: tuple[str, ...]
    served: tuple[str, ...]
    left: tuple[str, ...]
    logs: tuple[str, ...] = ()
    """What the client wrote to stderr: each file, with a line of it."""
    told_repeat: str = ""
    """The command that runs it again, as the record has it."""

    @property
    def name(self) -> str:
        """The client, as it is named elsewhere."""
        variant = f" +{self.client.variant}" if self.client.variant else ""
        return f"{self.client.name} {self.client.version}{variant}"

    @property
    def repeat(self) -> str:
        """The command that runs it again."""
        if self.told_repeat:
            return self.told_repeat
        if self.mutant:
            return shlex.join(("xdspec", "mutants", "--mutant", self.mutant))
        client = self.client
        begun = command(client.name, client.version, client.variant, self.seed)
        return with_scenario(begun, self.scenario)


RANKS = (Verdict.FAIL, Verdict.ERROR, Verdict.SEEN, Verdict.PASS, Verdict.SKIP)
"""Failures are read first, and what was not judged last."""


def scene(path: Path, catalogue: Catalogue) -> Scene:
    """Return the scene of an evidence folder, after weighing its decisions again.

    Raises:
        BadEvidence: the folder or a file in it is broken, or the catalogue lacks its clauses.
    """
    try:
        place = UntrustedFolder(path)
    except OSError as error:
        raise BadEvidence(f"{path / evidence.FILE} cannot be read: {error.strerror}") from None
    with place:
        record = evidence.read_in(place)
        if not record.clauses:  # a user's own scenario, which asserts on its own
            return recorded(place, catalogue)
        record, decisions = evidence.weighed(record, path, catalogue)
        return _drawable(place, record, decisions or record.decisions, catalogue)


def recorded(place: UntrustedFolder, catalogue: Catalogue) -> Scene:
    """Return the scene of an evidence folder with the recorded verdicts; faster than `scene`.

    Raises:
        BadEvidence: the folder or a file in it is broken, or the catalogue lacks its clauses.
    """
    record = evidence.read_in(place)
    if unknown := [
        decision.clause for decision in record.decisions if decision.clause not in catalogue
    ]:
        raise BadEvidence(f"{place.place} judges {unknown[0]}, which the catalogue does not know")
    return _drawable(place, record, record.decisions, catalogue)


def _drawable(
    place: UntrustedFolder, record: Record, decisions: tuple[Decision, ...], catalogue: Catalogue
) -> Scene:
    """Return the scene of a folder whose record was read; raise BadEvidence if there is none."""
    folder = read_folder(place, record)
    try:
        drawn = scene_of(folder, decisions, catalogue)
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise BadEvidence(f"{place.place} cannot be drawn: {error}") from None
    return msgspec.structs.replace(drawn, logs=tuple(quoted(place)))


def scene_of(folder: Folder, decisions: tuple[Decision, ...], catalogue: Catalogue) -> Scene:
    """Return the scene of evidence files that were read before."""
    record = folder.record
    judged = tuple(checked(decisions, record.checks))
    shown = []
    counts, numbers = Counter(decision.clause for decision, _ in judged), Counter[str]()
    for decision, check in judged:
        clause = catalogue[decision.clause]
        numbers[clause.id] += 1
        shown.append(
            Shown(
                decision=decision,
                clause=clause,
                words=compared(
                    decision.wanted, decision.saw, is_alike=decision.verdict is Verdict.PASS
                ),
                drawn=_drawn(check, clause, record.client) if check else Drawn(),
                number=numbers[clause.id],
                count=counts[clause.id],
            )
        )
    return Scene(
        scenario=record.scenario,
        client=record.client,
        mutant=record.mutant,
        seed=record.seed,
        seconds=record.seconds,
        lateness=record.lateness,
        starved=record.starved,
        trouble=record.trouble.what if record.trouble else "",
        shown=tuple(sorted(shown, key=lambda entry: RANKS.index(entry.decision.verdict))),
        phases=phases(folder, judged),
        timeline=timeline(folder),
        pushed=pushes(folder.events, record.began),
        notes=record.notes,
        served=record.served,
        left=record.left,
        told_repeat=shown_command(record.repeat),
    )


def checked(
    decisions: Iterable[Decision], checks: Iterable[Check]
) -> Iterator[tuple[Decision, Check | None]]:
    """Decisions, each with the check that it is on; None if it is on none."""
    left = list(checks)
    for decision in decisions:
        check = next((check for check in left if _is_of(check, decision)), None)
        if check is not None:
            left.remove(check)
        yield decision, check


def _is_of(check: Check, decision: Decision) -> bool:
    """Return whether a decision belongs to a check; some decisions have no check."""
    return check.clause == decision.clause and bool(decision.wanted or decision.choices)


def judged_by(check: Check, clause: Clause, client: JudgedClient) -> Expectation | None:
    """Return the expectation of a check, or for a choice the declared expectation or any."""
    if not check.expected:
        return None
    if leaves_a_choice(clause):
        stated = client.choices.get(clause.id, "")
        return check.expected.get(stated, next(iter(check.expected.values())))
    edition = edition_for(clause, client.follows)
    found = expectation_of(clause, check.expected, edition) if edition else None
    return found or next(iter(check.expected.values()))


def _drawn(check: Check, clause: Clause, client: JudgedClient) -> Drawn:
    expected = judged_by(check, clause, client)
    if isinstance(expected, MatchesRing):
        ring = ring_picture(expected, check.seen)
        if isinstance(ring, str):
            return Drawn(why_not=ring)
        return Drawn(ring=ring)
    if isinstance(expected, LoadMatches):
        return Drawn(loads=load_picture(expected, check.seen))
    return Drawn(shares=shares_picture(expected, check.seen) if expected else None)
