"""Let scenarios of one run learn from each other what the client never does."""

from __future__ import annotations

import time
from typing import Final

import pytest

from conformance import timing
from conformance.judging.aborts import (
    CauseIsKnown,
    NoAckOrNack,
    PreconditionTimeout,
    WrongOutcome,
)
from conformance.judging.declaration import declaration_of, scenario_id
from conformance.judging.verdicts import Cause, leaves_a_choice
from conformance.runner.interaction import interaction_of
from conformance.runner.known_causes import KnownCauses, waits_to_the_end
from conformance.runner.plugin.items import CATALOGUE, SETTINGS, subject_of
from conformance.spec.catalogue import edition_for
from conformance.world import World
from conformance.world.references import NEVER, EarlyEnd
from conformance.xds_config.references import NO_LOAD_STREAM, Ignored

IN_VAIN: Final = (CauseIsKnown, NoAckOrNack, PreconditionTimeout, WrongOutcome)
"""How a scenario ends that did not get what it waited for."""


def early_end_of(item: pytest.Item, known: KnownCauses) -> EarlyEnd:
    """Return when a scenario does not wait to its end.

    One scenario in eight confirms the cause. Where a clause can fail, it waits to its end, and the
    choice is the same in each run, so that a baseline fits each run.
    """
    settings, subject, scenario = item.config.stash[SETTINGS], subject_of(item), scenario_id(item)
    if (
        settings.all_wait
        or subject.label
        or interaction_of(item.config) is not None
        or scenario in settings.known_failures
    ):
        return NEVER
    can_fail = _can_fail(item)
    if not waits_to_the_end(scenario, seed=None if can_fail else settings.seed):
        return EarlyEnd(known.known)
    return NEVER if can_fail else EarlyEnd(known.known, after=timing.CONFIRMED_CAUSE)


def _can_fail(item: pytest.Item) -> bool:
    """Return whether a clause of the scenario can fail for not being reached."""
    follows = subject_of(item).judged.follows
    clauses = (item.config.stash[CATALOGUE][name] for name in declaration_of(item).clauses)
    return any(
        (edition := edition_for(clause, follows)) and not leaves_a_choice(clause, edition)
        for clause in clauses
    )


def learn(
    item: pytest.Item, made: World, error: BaseException | None, known: KnownCauses
) -> tuple[Cause, ...]:
    """Add to what the run knows; return what the client ignored up to the scenario's end.

    Args:
        item: the scenario.
        made: its world, in which everything still runs.
        error: what ended it early, if anything did.
        known: what the run knows.
    """
    if subject_of(item).label or made.clock.lateness.worst > timing.LATE:
        return ()
    now, scenario = time.monotonic(), scenario_id(item)
    for cause in made.control.references.followed(before=now - timing.KNOWN_CAUSE):
        known.refute(cause, scenario)
    found: list[Cause] = []
    if not (everything := made.control.references.ignored()):
        return ()
    seen = _Outcomes(made)
    for ignored in everything:
        if ignored.cause != NO_LOAD_STREAM and seen.served(ignored):
            known.refute(ignored.cause, scenario)
        elif now - ignored.since > timing.EVENT and seen.suffered(ignored, error):
            known.confirm(ignored.cause, scenario)
            found.append(ignored.cause)
    return tuple(found)


class _Outcomes:
    """How the calls of a scenario ended, by what they had to do with an ignored reference."""

    def __init__(self, made: World) -> None:
        spans = made.calls.spans()
        self._changed = made.control.references.changed_clusters()
        targets = made.control.references.targets
        self._calls = tuple(
            (spans[call.id][0], call.status, targets(call.path, call.metadata))
            for call in (*made.calls.made, *made.calls.unsettled())
            if call.id in spans
        )

    def served(self, ignored: Ignored) -> bool:
        """Return whether a call succeeded that could not, if the reference was needed."""
        roots = ignored.roots - self._changed
        return any(
            status == "OK" and targets and targets <= roots
            for began, status, targets in self._calls
            if began > ignored.since
        )

    def suffered(self, ignored: Ignored, error: BaseException | None) -> bool:
        """Return whether something failed, since the client ignored the reference."""
        later = [(status, targets) for at, status, targets in self._calls if at > ignored.since]
        if ignored.cause == NO_LOAD_STREAM:
            return any(status == "OK" for status, _ in later)
        failed = any(status != "OK" and targets & ignored.roots for status, targets in later)
        return failed or isinstance(error, IN_VAIN)
