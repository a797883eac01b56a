"""Summarize a scenario in phases: an action of the suite and its result up to the next one. Pure.

A timeline has a mark for each of thousands of calls. Here they are counted, so that a reader sees
which endpoints were in use, which were lost, and what was judged when.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

import msgspec

from conformance.judging.observations import Calls, Contrast, Observation
from conformance.judging.verdicts import BAD, Check, Decision, Verdict
from conformance.reporting.rendering.addresses import clusters_of, priorities_of
from conformance.reporting.rendering.folder import (
    Call,
    EndpointAttempt,
    Event,
    Folder,
    GateAction,
    ReportedCluster,
    State,
)
from conformance.reporting.rendering.served import Sent, type_of
from conformance.reporting.rendering.timeline import beginning, few

MOST: Final = 24
"""The most phases that are listed: if there are more, the failing, the first and the last ones."""

MOST_LINES: Final = 12
"""Sentences on what was done in a phase, or on what came of it: of more, the first and the last."""

LETTERS: Final = 300
"""Letters of the details of failed calls that are shown."""

MOST_STATES: Final = 8
"""States of a channel in one phase: of more, the last."""


class Verdicts(msgspec.Struct, frozen=True):
    """How one clause was decided on calls of a phase, or on something else than calls."""

    clause: str
    verdict: Verdict
    calls: int = 0
    of: int = 0
    """All calls of the phase."""
    overdue: bool = False
    """True if they are the last of the rounds that were made until time was up."""

    def __str__(self) -> str:
        """By which calls, in words; empty if by something else, such as attempts or reports."""
        if not self.calls:
            return ""
        if self.of <= self.calls:
            among = _calls_of(self.calls)
        else:
            last = "the last " if self.overdue else ""
            among = f"{last}{self.calls} of {self.of} calls"
        return f"{among}, at the deadline" if self.overdue else among

    @property
    def is_bad(self) -> bool:
        """Return whether the verdict is a failure or an error."""
        return self.verdict in BAD


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """From something that the suite did until it did something else."""

    at: float | None
    """Seconds since the scenario began; None: in the whole of it."""
    actions: tuple[str, ...] = ()
    """What the suite did, in sentences."""
    outcome: tuple[str, ...] = ()
    """What the client did then."""
    judged: tuple[Verdicts, ...] = ()
    left_out: int = 0
    """How many phases before it are not listed."""

    @property
    def is_bad(self) -> bool:
        """Return whether a clause that is judged by this phase failed."""
        return any(verdict.is_bad for verdict in self.judged)


def in_words(several: Iterable[Phase]) -> Iterator[tuple[str, bool]]:
    """Yield the phases as lines of text, and for each line whether it reports a failure."""
    for phase in several:
        if phase.left_out:
            yield f"{'':11}… {phase.left_out} more …", False
        judged = [
            f"{each.verdict.value.upper()}  {each.clause}" + (f", {each}" if each.calls else "")
            for each in phase.judged
        ]
        at = "overall" if phase.at is None else f"{phase.at:.3f} s"
        for who, said in (("suite", phase.actions), ("client", phase.outcome), ("judged", judged)):
            for number, words in enumerate(said):
                begun = f"{at:>9}  {'' if number else who:6}  "
                is_bad = who == "judged" and phase.judged[number].is_bad
                yield begun + words.replace("\n", f"\n{'':{len(begun)}}"), is_bad
                at = ""


def _calls_of(count: int) -> str:
    return f"{count} call{'s' if count > 1 else ''}"


_Done = Event | GateAction
_Came = Event | EndpointAttempt | State | Call


class _Span(msgspec.Struct, kw_only=True):
    """A phase as it is gathered."""

    at: float
    done: list[_Done] = []
    came: list[_Came] = []
    is_answered: bool = False
    """True if the phase has a result, so that the suite's next action starts another phase."""


def phases(
    folder: Folder, judged: Iterable[tuple[Decision, Check | None]], most: int = MOST
) -> tuple[Phase, ...]:
    """Return the phases of a scenario, oldest first.

    A call is of the phase in which it ended, as what the suite did last may be why; one that has
    not ended, of that in which it began. What failed by something else than calls comes last.

    Args:
        folder: its files.
        judged: its decisions, each with the check that it is on, if it is on one.
        most: the number of phases that are listed.
    """
    places = _Places(folder)
    judged = tuple(judged)
    verdicts = _verdicts(judged)
    began = beginning(folder)
    sent = Sent()
    everything = [
        Phase(
            at=max(0.0, span.at - began),
            actions=_cut(_actions(span.done, places, sent)),
            outcome=_cut(_outcome(span.came, places)),
            judged=tuple(_judged(span.came, verdicts)),
        )
        for span in _spans(folder)
    ]
    kept = _kept([phase for phase in everything if phase.actions or phase.outcome], most)
    named = {each.clause for phase in kept for each in phase.judged if each.is_bad}
    beside = dict.fromkeys(
        Verdicts(decision.clause, decision.verdict)
        for decision, _ in judged
        if decision.verdict in BAD and decision.clause not in named
    )
    return (*kept, Phase(at=None, judged=tuple(beside))) if beside else kept


def _spans(folder: Folder) -> list[_Span]:
    """Return the actions and observations, split where the suite acts after an observation."""
    rows: list[tuple[float, bool, _Done | _Came]] = [
        *((event.at, _is_the_suites(event), event) for event in folder.events if _is_told(event)),
        *((action.at, True, action) for action in folder.actions),
        *((row.attempt.accepted_at, False, row) for row in folder.attempts),
        *((state.at, False, state) for state in folder.states),
        *(
            (call.started_at if call.ended_at is None else call.ended_at, False, call)
            for call in folder.calls
            if call.started_at is not None
        ),
    ]
    rows.sort(key=lambda row: row[0])
    spans: list[_Span] = []
    for at, is_the_suites, item in rows:
        if not spans or (is_the_suites and spans[-1].is_answered):
            spans.append(_Span(at=at))
        if is_the_suites:
            spans[-1].done.append(item)  # type: ignore[arg-type]
        else:
            spans[-1].came.append(item)  # type: ignore[arg-type]
            spans[-1].is_answered |= _counts(item)  # type: ignore[arg-type]
    return spans


def _is_told(event: Event) -> bool:
    others = {"Response", "StreamClosed", "LoadRequest", "LoadResponse"}
    return event.event in others or event.answer == "nack"


def _is_the_suites(event: Event) -> bool:
    if event.event == "StreamClosed":
        return event.by != "client"
    return event.event in {"Response", "LoadResponse"}


def _counts(item: _Came) -> bool:
    """States, load reports and the ends of streams go on by the way."""
    return isinstance(item, EndpointAttempt | Call) or (
        isinstance(item, Event) and item.answer == "nack"
    )


def _cut(lines: Iterable[str]) -> tuple[str, ...]:
    """Sentences, the middle left out if there are many."""
    sentences = [*lines]
    if len(sentences) <= MOST_LINES:
        return tuple(sentences)
    half = MOST_LINES // 2
    return (*sentences[:half], f"… {len(sentences) - 2 * half} more …", *sentences[-half:])


# What is judged.


def _calls_in(seen: Observation | None) -> tuple[str, ...]:
    """Return the ids of the calls in a check."""
    match seen:
        case Calls():
            return tuple(call.id for call in seen)
        case Contrast(before=before, after=after):
            return (*(call.id for call in before), *(call.id for call in after))
        case _:
            return ()


_Said = tuple[str, Verdict, bool]
"""A clause, how it was decided, and whether its calls are overdue."""


def _verdicts(judged: Iterable[tuple[Decision, Check | None]]) -> dict[str, dict[_Said, None]]:
    """By call: what was decided on it."""
    found: dict[str, dict[_Said, None]] = {}
    for decision, check in judged:
        seen = check.seen if check else None
        overdue = isinstance(seen, Calls) and seen.overdue
        for call in _calls_in(seen):
            found.setdefault(call, {})[decision.clause, decision.verdict, overdue] = None
    return found


def _judged(came: Iterable[_Came], verdicts: Mapping[str, Iterable[_Said]]) -> Iterator[Verdicts]:
    """Yield the decisions on the calls of a phase, failures first."""
    calls = [item for item in came if isinstance(item, Call)]
    counts = Counter(each for call in calls for each in verdicts.get(call.id, ()))
    every = [
        Verdicts(clause, verdict, count, len(calls), overdue)
        for (clause, verdict, overdue), count in counts.items()
    ]
    yield from sorted(every, key=lambda verdict: not verdict.is_bad)


# What the suite did.


ALL: Final = {2: "both"}


class _Places:
    """What addresses are called: by the clusters that have had them."""

    def __init__(self, folder: Folder) -> None:
        several = clusters_of(folder.events)
        ranks = priorities_of(folder.events)
        self._clusters = {
            address: few(names) + (f", priority {ranks[address]}" if address in ranks else "")
            for address, names in several.items()
        }
        self._members = Counter(self._clusters.values())

    def of(self, address: str) -> str:
        """Return the clusters of an address; empty if no EDS resource has it."""
        return self._clusters.get(address, "")

    def describe(self, addresses: Iterable[str]) -> str:
        """Several addresses, cluster by cluster."""
        by_cluster: dict[str, list[str]] = {}
        for address in dict.fromkeys(addresses):
            by_cluster.setdefault(self.of(address), []).append(address)
        return " and ".join(self._group(name, ones) for name, ones in by_cluster.items())

    def _group(self, name: str, addresses: Collection[str]) -> str:
        if not name:
            return few(addresses)
        if 1 < len(addresses) == self._members[name]:
            return f"{ALL.get(len(addresses), f'all {len(addresses)}')} endpoints of {name}"
        return f"{few(addresses)} of {name}"


GATES: Final = {
    "SERVE": "serving",
    "CLOSE": "closing each new connection",
    "REFUSE": "refusing connections",
    "STALL": "accepting connections without an answer",
    "HOLD": "holding each new connection",
    "kill": "cutting all connections",
    "go away": "GOAWAY on all connections",
}
"""What gates do and what is done to them, in words."""


def _actions(done: Iterable[_Done], places: _Places, sent: Sent) -> Iterator[str]:
    """Yield the suite's actions, in the order of their start."""
    actions: dict[str, dict[str, None]] = {}
    at: dict[str, dict[str, None]] = {}  # of these the values are endpoints
    modes: dict[str, str] = {}
    for item in done:
        if isinstance(item, GateAction):
            what = item.mode.mode if item.mode else item.what
            words = GATES.get(what, what)
            if item.mode:  # of several the last: nothing has come of those before
                at.get(modes.get(item.endpoint, ""), {}).pop(item.endpoint, None)
                modes[item.endpoint] = words
            at.setdefault(words, actions.setdefault(words, {}))[item.endpoint] = None
        else:
            words, names = _pushed(item, sent) if item.event == "Response" else (_asked(item), ())
            if words:
                actions.setdefault(words, {}).update(dict.fromkeys(names))
    for words, names in actions.items():
        if words not in at:
            yield f"{words}: {few(names)}" if names else words
        elif names:
            yield f"{places.describe(names)}: {words}"


def _asked(event: Event) -> str:
    """Describe the control plane's other actions: it requested load reports, or ended a stream."""
    if event.event == "StreamClosed":
        return f"ends stream {event.stream}" + (f" with {event.code}" if event.code else "")
    of = few(map(_cluster_of, event.clusters)) or "all clusters"
    return f"asks for load reports of {of}, every {event.interval:g} s"


def _pushed(event: Event, sent: Sent) -> tuple[str, Iterable[str]]:
    """Describe a response and its new resources; empty if it changes nothing."""
    # A response of these kinds contains all resources.
    gone = sent.gone_with(event) if event.kind in {"listener", "cluster"} else ()
    new = [resource.name for resource in sent.new_in(event)]
    words = f"sends {type_of(event)} version {event.version}"
    words += f" ({event.fault})" if event.fault else ""
    words += f" without {few(gone)}" if gone else ""
    if not (new or gone or event.fault) and event.resources:
        return "", ()
    return words if event.resources or gone else f"{words}, without any", new


# What came of it.


def _outcome(came: Collection[_Came], places: _Places) -> Iterator[str]:
    """Yield the client's actions, by kind."""
    for item in came:
        if isinstance(item, Event) and item.answer == "nack":
            nonce = f" with nonce {item.nonce}" if item.nonce else ""
            yield f"rejected {type_of(item)} version {item.answered_version}{nonce}"
        elif isinstance(item, Event) and item.event == "StreamClosed":
            yield f"ended stream {item.stream}"
    yield from _attempts([item for item in came if isinstance(item, EndpointAttempt)], places)
    yield from _calls([item for item in came if isinstance(item, Call)], places)
    yield from _reports([item for item in came if isinstance(item, Event)])
    states: dict[str, list[str]] = {}
    for item in came:
        if isinstance(item, State):
            states.setdefault(item.channel, []).append(item.state)
    for channel, several in states.items():
        begun = "… " if len(several) > MOST_STATES else ""
        yield f"{channel} reports {begun}{', '.join(several[-MOST_STATES:])}"


def _attempts(attempts: Iterable[EndpointAttempt], places: _Places) -> Iterator[str]:
    """Yield the endpoints that the client connected to, and those that it tried without success."""
    by_mode: dict[str, Counter[str]] = {}
    for attempt in attempts:
        by_mode.setdefault(attempt.attempt.mode.mode, Counter())[attempt.endpoint] += 1
    for mode, counts in by_mode.items():
        total = counts.total()
        often = f", {total} attempts in all" if total > len(counts) else ""
        if mode == "SERVE":
            yield f"connected to {places.describe(counts)}{often}"
        else:
            in_vain = "" if mode == "HOLD" else ", without success"  # a held one is let go later
            yield f"tried {places.describe(counts)}{often}{in_vain} ({GATES.get(mode, mode)})"


UNNAMED: Final = "an endpoint that no EDS resource names"


def _calls(calls: Iterable[Call], places: _Places) -> Iterator[str]:
    """How calls ended, and where."""
    by_end: dict[tuple[str, str], list[Call]] = {}
    for call in calls:
        where = places.of(call.endpoint) or UNNAMED if call.endpoint else ""
        by_end.setdefault((call.status, where), []).append(call)
    for (status, where), several in by_end.items():
        counts = Counter(call.endpoint for call in several if call.endpoint)
        each = few(f"{count} at {endpoint}" for endpoint, count in counts.most_common())
        outcome = f"{_calls_of(len(several))} {status}"
        if where:
            yield f"{outcome} at {where} ({each})"
        else:
            details = Counter(call.details for call in several if call.details).most_common(1)
            yield outcome + (f": {details[0][0][:LETTERS]}" if details else "")


def _reports(events: Iterable[Event]) -> Iterator[str]:
    """How often it has reported the load of each cluster."""
    reports = [event for event in events if event.event == "LoadRequest"]
    counts = Counter(name for report in reports for name in {*map(_cluster_of, report.clusters)})
    if reports:
        clusters = (
            few(f"{count} of {name}" for name, count in counts.most_common()) or "of no cluster"
        )
        yield f"load reports: {len(reports)} ({clusters})"


def _cluster_of(cluster: ReportedCluster | str) -> str:
    return cluster if isinstance(cluster, str) else cluster.cluster


def _kept(all_phases: list[Phase], most: int) -> tuple[Phase, ...]:
    """Return the first phase, the last, and the phases with a failure between them."""
    if len(all_phases) <= most:
        return tuple(all_phases)
    ends = {*range(most // 4), *range(len(all_phases) - most // 4, len(all_phases))}
    bad = [number for number, phase in enumerate(all_phases) if phase.is_bad and number not in ends]
    before = [number - 1 for number in bad if number - 1 not in ends]
    kept = sorted(ends | {*[*bad, *before][: most - len(ends)]})
    made, last = [], -1
    for number in kept:
        made.append(msgspec.structs.replace(all_phases[number], left_out=number - last - 1))
        last = number
    return tuple(made)
