"""What a person sees at the end of a run: clauses, failures and the sum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Sized

from rich.console import Console
from rich.markup import escape

from conformance.judging.process_comparison import described
from conformance.judging.verdicts import ClauseResult, Reason, Verdict
from conformance.reporting import report
from conformance.reporting.advice import advice, first_to_read
from conformance.reporting.cause_texts import cause_lines
from conformance.reporting.failure_groups import listed
from conformance.reporting.failure_texts import Ignored, failures
from conformance.reporting.outcome import counted, outcome
from conformance.reporting.report import Exit, NotRun, Run, why_skipped
from conformance.reporting.stdout import painted
from conformance.runner.terminal_escape import block
from conformance.spec.catalogue import Catalogue, Clause, Strength
from conformance.spec.catalogue.editions import ENVOY


def show(  # noqa: PLR0913 - all but four by their names
    console: Console,
    run: Run,
    catalogue: Catalogue,
    codes: Sequence[Exit],
    *,
    repeat: str,
    issues: str,
    brief: bool,
    strict: bool = False,
    verbose: bool = False,
    ignored: Ignored | None = None,
) -> None:
    """Print the report of a run: what needs attention, what was not judged, and a summary.

    Args:
        console: where.
        run: the run.
        catalogue: the clauses' words.
        codes: the exit codes that apply to the run; the command exits with the first.
        repeat: the beginning of the command that runs one scenario again.
        issues: the client's issue tracker.
        brief: whether the client is named above, as one of several.
        strict: whether a failed SHOULD clause fails the run.
        verbose: whether clauses that pass, leave a choice or fail as the baseline knows are listed.
        ignored: the baseline, if the run does not use it.
    """
    if not brief:
        _print(console, f"\n[bold]{escape(run.title)}[/]")
    causes = [*cause_lines(run, catalogue)]
    _print(console, *([""] if causes else []), *(escape(f"  {block(text)}") for text in causes))
    if verbose:
        _print(console, *map(block, _clause_lines(run, catalogue)))
    found = (
        *first_to_read(run),
        *failures(
            run,
            catalogue,
            repeat,
            issues,
            verbose=verbose,
            ignored=ignored,
        ),
        *advice(run, repeat),
    )
    _print(console, *map(escape, found))
    warned = (*run.surprises, *run.endings, *run.troubles, *_affected(run))
    _print(console, *(f"[magenta]{escape(block(f'! {text}'))}[/]" for text in warned))
    _print(console, *(f"[green]{escape(block(f'+ {text}'))}[/]" for text in run.mended))
    notes = [*_notes(run, catalogue)]
    _print(console, *([""] if notes and not brief else []), *(f"  {block(text)}" for text in notes))
    if not brief:
        _print(console, *map(block, _document_lines(run, catalogue)))
    show_total(console, run, codes, strict=strict)


def _affected(run: Run) -> Iterator[str]:
    """Return the scenarios that ended differently in a shared process of the client."""
    for scenario in run.scenarios:
        if scenario.in_shared_process:
            own = scenario.verdict, scenario.reason
            evidence = f". Evidence: {scenario.evidence}" if scenario.evidence else ""
            yield (
                described(scenario.id, scenario.in_shared_process, own, scenario.earlier) + evidence
            )


def _print(console: Console, *lines: str) -> None:
    for line in lines:
        console.print(line, highlight=False, soft_wrap=True)


def _clause_lines(run: Run, catalogue: Catalogue) -> Iterator[str]:
    """Return each clause in one line, without those that are blocked."""
    seen = {entry.clause: entry.seen for entry in run.known if not entry.like}
    for clause, result in run.clauses.items():
        if result.blocked_by is None:
            yield _line(catalogue[clause], result, seen.get(clause, ""))


def _notes(run: Run, catalogue: Catalogue) -> Iterator[str]:
    """Return what is known to fail, and what was not judged."""
    yield from _known_lines(run)
    yield from _blocked_lines(run, catalogue)
    yield from _skipped_lines(run, catalogue)
    yield from map(escape, ring_keys(run))
    yield from _shared_lines(run)
    if not run.part:  # a shard does not know what the whole run leaves out
        yield from map(escape, not_judged(run, catalogue))


def show_total(console: Console, run: Run, codes: Sequence[Exit], *, strict: bool = False) -> None:
    """Print a run in one line."""
    line = _total(run, codes, f"{run.title}: ", strict=strict)
    console.print(line, highlight=False, soft_wrap=True)


def _total(run: Run, codes: Sequence[Exit], begin: str, *, strict: bool = False) -> str:
    """Return a run in one line: clauses by verdict, scenarios, and the outcome."""
    counts = ", ".join(
        f"{count} {painted(verdict)}{_of_which(run, verdict)}"
        for verdict in ORDER
        if (count := run.totals.get(verdict, 0))
    )
    if counts:
        counts = f"{counted(sum(run.totals.values()), 'clause')}: {counts}"
    begin += f"{run.part}: " if run.part else ""
    said = zip(codes, outcome(run, codes, strict=strict), strict=True)
    ends = ", and ".join(f"[{STYLES[code]}]{escape(words)}[/]" for code, words in said)
    return (
        f"{escape(begin)}{counts or 'nothing ran'}; {counted(len(run.scenarios), 'scenario')} in "
        f"{run.wall_seconds:.1f} s: {ends}"
    )


ORDER = (Verdict.PASS, Verdict.FAIL, Verdict.ERROR, Verdict.SEEN, Verdict.SKIP)
"""Verdicts, in the order in which a line counts them."""


def _of_which(run: Run, verdict: Verdict) -> str:
    """Return how many of the clauses with this verdict are known failures, or blocked."""
    there = [clause for clause in run.clauses.values() if clause.verdict is verdict]
    known, kept = (
        sum(decision.expected for decision in there),
        sum(bool(decision.blocked_by) for decision in there),
    )
    notes = []
    if verdict is Verdict.FAIL:
        strengths = Counter(decision.strength for decision in there)
        notes = [f"{strengths[each]} {each.value}" for each in Strength if strengths[each]]
        if known:
            notes[-1] += f"; {known} known"
    if verdict is Verdict.SEEN:
        notes = ["the text leaves a choice"]
    notes += [f"{kept} blocked"] if kept else []
    return f" ({', '.join(notes)})" if notes else ""


def show_not_run(console: Console, left: NotRun) -> None:
    """Why a client could not be run."""
    said = painted(left.verdict, f"{left.verdict.value} ({left.reason.value})")
    line = f"\n{said}  {escape(block(f'{left.client}: {left.words}'))}"
    console.print(line, highlight=False, soft_wrap=True)


def summarize(
    console: Console,
    runs: Iterable[tuple[Run, Sequence[Exit]]],
    not_run: Iterable[NotRun],
    *,
    strict: bool = False,
) -> None:
    """Print every client of a command in one line each."""
    rows = [(run.title, _total(run, codes, "", strict=strict)) for run, codes in runs]
    rows += [
        (block(left.client), f"{painted(left.verdict)} ({left.reason.value}): {escape(first_line)}")
        for left in not_run
        for first_line in left.words.splitlines()[:1]
    ]
    width = max((len(name) for name, _ in rows), default=0)
    console.print()
    for name, said in rows:
        console.print(f"{escape(name.ljust(width))}  {said}", highlight=False, soft_wrap=True)


STYLES = {
    Exit.CONFORMS: "green",
    Exit.DEVIATES: "red",
    Exit.INTERRUPTED: "yellow",
    Exit.SUITE_TROUBLE: "magenta",
    Exit.NOTHING_RAN: "yellow",
    Exit.ADAPTER_TROUBLE: "magenta",
}


def _line(clause: Clause, result: ClauseResult, known: str) -> str:
    """Return a clause in one line: its verdict, its title, and a note if it needs one."""
    said = result.verdict.value + (f" ({result.reason.value})" if result.reason else "")
    said += " known" if result.expected else ""
    more = ""
    if result.expected:
        more = f": {known}" if known else ""
    elif result.verdict is Verdict.SKIP:
        more = f": {why_skipped(clause, result)}"
    elif result.verdict is Verdict.SEEN:
        more = ": " + ", ".join(result.seen)
    else:
        facts = [f"{seconds:.2f} s" for seconds in result.seconds]
        consistent = result.editions_consistent
        if consistent is not None and len(consistent) < len(clause.editions) > 1:
            facts.append(f"the behavior of {' and '.join(consistent) or 'no edition'}")
        more = f": {', '.join(facts)}" if facts else ""
    return (
        f"  {clause.id:13}  {painted(result.verdict, f'{said:14}')}  {escape(clause.title + more)}"
    )


def _known_lines(run: Run) -> Iterator[str]:
    """Return the failures that the baseline knows, in one line."""
    known = [name for name, clause in run.clauses.items() if clause.expected]
    if known:
        names = escape(listed(known, KNOWN_SHOWN))
        yield f"{painted(Verdict.FAIL)} known: {names} (-v explains {_them(known)})"


def _shared_lines(run: Run) -> Iterator[str]:
    """Return how many scenarios shared processes of the client, if any did."""
    shared = sum(scenario.shared_process for scenario in run.scenarios)
    if shared:
        yield f"client processes: shared by {shared} of {len(run.scenarios)} scenarios"


KNOWN_SHOWN = 20
"""Known failures that are named without ``--verbose``."""


def _them(several: Sized) -> str:
    return "it" if len(several) == 1 else "them"


def _blocked_lines(run: Run, catalogue: Catalogue) -> Iterator[str]:
    """Return the clauses that are blocked: one by its name, several by their number."""
    for blocker, names in report.blocked(run).items():
        said = painted(Verdict.SKIP, f"{Verdict.SKIP} ({Reason.BLOCKED})")
        if len(names) == 1:
            title = escape(catalogue[names[0]].title)
            yield f"{said}  {names[0]} {title}: blocked by the failure of {blocker}"
            continue
        why = next(iter(run.clauses[names[0]].seen), "").partition("; its stderr ends:")[0]
        what = f"blocked by the failure of {blocker}: {why}"
        yield f"{said}  {len(names)} clauses: {escape(what)}"


def _skipped_lines(run: Run, catalogue: Catalogue) -> Iterator[str]:
    """Return why clauses were skipped, a line for each reason; `not_judged` has the editions."""
    found: dict[tuple[Reason | None, str], list[str]] = {}
    for name, result in run.clauses.items():
        is_own = result.reason not in {Reason.BLOCKED, Reason.EDITION}
        if result.verdict is Verdict.SKIP and is_own:
            why = why_skipped(catalogue[name], result)
            found.setdefault((result.reason, why), []).append(name)
    for (reason, why), names in found.items():
        said = painted(Verdict.SKIP, f"skip ({reason.value})" if reason else "skip")
        which = names[0] if len(names) == 1 else f"{len(names)} clauses"
        yield f"{said}  {which}: {escape(why)}"


def _document_lines(run: Run, catalogue: Catalogue) -> Iterator[str]:
    """Return a table of the verdicts by document, if there are several documents."""
    rows: dict[str, Counter[str]] = {}
    for name, result in run.clauses.items():
        row = rows.setdefault(catalogue[name].document, Counter())
        row["known" if result.expected else result.verdict.value] += 1
    if len(rows) < 2:  # noqa: PLR2004 - the last line says the same of one document
        return
    heads = [name for name in COLUMNS if any(row[name] for row in rows.values())]
    width = max(map(len, (*rows, "document")))
    yield ""
    titles = ("new" if head == "fail" and "known" in heads else head for head in heads)
    yield f"  {'document':{width}}  " + "  ".join(f"{title:>5}" for title in titles)
    for document, row in rows.items():
        cells = (f"{row[head] or '-':>5}" for head in heads)
        painted_cells = [
            f"[red]{cell}[/]" if head in {"fail", "error"} and row[head] else cell
            for head, cell in zip(heads, cells, strict=True)
        ]
        yield f"  {document:{width}}  " + "  ".join(painted_cells)
    yield ""


COLUMNS = ("pass", "fail", "known", "error", "seen", "skip")
"""Columns of the table by document: verdicts. Known failures have their own; the others are new."""


def ring_keys(run: Run) -> Iterator[str]:
    """Return how rings were judged, unless the manifest states the format of their keys."""
    keys = run.ring_keys
    if keys.known is None and run.scenarios:
        yield (
            "the format of the ring's keys is unknown, so only the sizes of its arcs are judged: "
            f"{keys.note}"
        )
    elif keys.is_found:
        yield (
            f"the keys of ring entries look like {keys.format} (measured). Optional: write "
            f'`format = "{keys.format}"` under [[ring-key-formats]] in client.toml. A run then '
            "measures nothing, and the format is binding"
        )


def not_judged(run: Run, catalogue: Catalogue) -> Iterator[str]:
    """Return how many clauses of each edition were skipped, since client.toml lacks it."""
    counts = Counter(
        " or ".join(edition for edition in catalogue[name].editions if edition != ENVOY)
        for name, result in run.clauses.items()
        if result.verdict is Verdict.SKIP
        and result.reason is Reason.EDITION
        and catalogue[name].grpc_only not in result.seen
    )
    for editions, count in counts.most_common():
        yield f"{counted(count, 'clause')} of {editions} skipped: client.toml does not declare it"
