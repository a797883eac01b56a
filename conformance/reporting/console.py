"""What a person sees at the end of a run: clauses, failures and the sum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.markup import escape

from conformance.catalogue import Catalogue, Clause
from conformance.catalogue.editions import ENVOY
from conformance.judging.verdicts import ClauseResult, Reason, Verdict
from conformance.reporting import report
from conformance.reporting.colours import painted
from conformance.reporting.failure_texts import advice, failures
from conformance.reporting.outcome import outcome
from conformance.reporting.report import Exit, NotRun, Run, why_skipped


def show(
    console: Console,
    run: Run,
    catalogue: Catalogue,
    codes: Sequence[Exit],
    *,
    repeat: str,
    issues: str,
    brief: bool,
    strict: bool = False,
) -> None:
    """Print the report of a run.

    Args:
        console: where.
        run: the run.
        catalogue: the clauses' words.
        codes: what is to be said of the run as a whole; the command exits with the first.
        repeat: the beginning of the command that runs one scenario again.
        issues: the client's issue tracker.
        brief: whether clauses that it passes, or may do as it likes, are left out.
        strict: whether a failed SHOULD clause fails the run.
    """
    if not brief:  # else it stands above the progress
        console.print(f"\n{escape(run.title)}", style="bold", highlight=False)
    words = {entry.clause: entry.seen for entry in run.known if not entry.like}
    for clause, result in run.clauses.items():
        is_brief = brief and result.verdict in {Verdict.PASS, Verdict.SEEN}
        if result.blocked_by is None and not is_brief:
            line = _line(catalogue[clause], result, words.get(clause, ""))
            console.print(line, highlight=False, soft_wrap=True)
    for text in _blocked_lines(run, catalogue):
        console.print(text, highlight=False, soft_wrap=True)
    for text in ring_keys(run):
        console.print(f"  {text}", highlight=False, soft_wrap=True, markup=False)
    for text in failures(run, catalogue, repeat, issues):
        console.print(text, highlight=False, soft_wrap=True, markup=False)
    for text in advice(run):
        console.print(text, highlight=False, soft_wrap=True, markup=False)
    for text in () if run.part else not_judged(run, catalogue):  # by the whole run alone
        console.print(f"  {text}", highlight=False, soft_wrap=True, markup=False)
    signed = [("!", text, "magenta") for text in (*run.surprises, *run.endings, *run.troubles)]
    for sign, text, style in (*signed, *(("+", text, "green") for text in run.mended)):
        console.print(f"{sign} {text}", highlight=False, soft_wrap=True, markup=False, style=style)
    show_total(console, run, codes, strict=strict)


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
    begin += f"{run.part}: " if run.part else ""
    said = zip(codes, outcome(run, codes, strict=strict), strict=True)
    ends = ", and ".join(f"[{STYLES[code]}]{escape(words)}[/]" for code, words in said)
    return (
        f"{escape(begin)}{counts or 'nothing ran'}; {len(run.scenarios)} scenarios in "
        f"{run.wall_seconds:.1f} s: {ends}"
    )


ORDER = (Verdict.PASS, Verdict.FAIL, Verdict.ERROR, Verdict.SEEN, Verdict.SKIP)
"""Verdicts, in the order in which a line counts them."""


def _of_which(run: Run, verdict: Verdict) -> str:
    """Return how many of the clauses with this verdict are known failures, or blocked."""
    there = [one for one in run.clauses.values() if one.verdict is verdict]
    known, kept = sum(one.expected for one in there), sum(bool(one.blocked_by) for one in there)
    if known:
        return f" ({'all' if known == len(there) else known} known)"
    return f" ({kept} blocked)" if kept else ""


def show_not_run(console: Console, left: NotRun) -> None:
    """Why a client could not be run."""
    said = painted(left.verdict, f"{left.verdict.value} ({left.reason.value})")
    line = f"\n{said}  {escape(left.client)}: {escape(left.words)}"
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
        (left.client, f"{painted(left.verdict)} ({left.reason.value}): {escape(first_line)}")
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
    """A clause in one line: its verdict, what it is about, and what there is to say of it."""
    said = result.verdict.value + (f" ({result.reason.value})" if result.reason else "")
    said += " expected" if result.expected else ""
    more = ""
    if result.expected:
        more = f": {known}" if known else ""
    elif result.verdict is Verdict.SKIP:
        more = f": {why_skipped(clause, result)}"
    elif result.verdict is Verdict.SEEN:
        more = ": " + ", ".join(result.seen)
    else:
        told = [f"{seconds:.2f} s" for seconds in result.seconds]
        if len(clause.editions) > 1 and result.editions_consistent is not None:
            told.append(f"fits {', '.join(result.editions_consistent) or 'no edition'}")
        more = f": {', '.join(told)}" if told else ""
    return (
        f"  {clause.id:13}  {painted(result.verdict, f'{said:14}')}  {escape(clause.title + more)}"
    )


def _blocked_lines(run: Run, catalogue: Catalogue) -> Iterable[str]:
    """The clauses that are blocked: one by its name, several by their number."""
    for blocker, names in report.blocked(run).items():
        said = painted(Verdict.SKIP, f"{Verdict.SKIP} ({Reason.BLOCKED})")
        if len(names) == 1:
            yield f"  {names[0]:13}  {said}  {escape(catalogue[names[0]].title)}: by {blocker}"
            continue
        why = next(iter(run.clauses[names[0]].seen), "").partition("; its stderr ends:")[0]
        words = escape(f"by {blocker}: {why}")
        yield f"  {f'{len(names)} clauses':13}  {said}  {words}"


def ring_keys(run: Run) -> Iterator[str]:
    """What rings were judged by, if the manifest did not say, or said that nobody knows."""
    keys = run.ring_keys
    if keys.known is None and run.scenarios:
        yield f"rings are judged by their arcs alone, as their key format is unknown: {keys.note}"
    elif keys.is_found:
        yield (
            f"the keys of ring entries look like {keys.format}, as a calibration has found; stated "
            "in client.toml (ring-key-formats) it need not be found again"
        )


def not_judged(run: Run, catalogue: Catalogue) -> Iterator[str]:
    """How many clauses were left out of each edition that the manifest does not state."""
    counts = Counter(
        " or ".join(one for one in catalogue[name].editions if one != ENVOY)
        for name, result in run.clauses.items()
        if result.verdict is Verdict.SKIP
        and result.reason is Reason.EDITION
        and catalogue[name].grpc_only not in result.seen
    )
    for editions, count in counts.most_common():
        clauses = "one clause" if count == 1 else f"{count} clauses"
        were = "was" if count == 1 else "were"
        yield f"{clauses} of {editions} {were} not judged: the manifest does not state it"
