"""``xdspec history``: versions of a client, run or read from reports, and where they differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console

from client_under_test.contract.exceptions import without_last_words
from client_under_test.environments import Prepared
from conformance.cli.failures import Failure, require_machine
from conformance.cli.run_clients import baselines
from conformance.cli.run_options import RunOptions
from conformance.cli.session import Session
from conformance.cli.versions import Commits, VersionEntry, clients, places, places_of
from conformance.reporting import history as histories
from conformance.reporting.history import History, Version
from conformance.reporting.report import Exit, Report
from conformance.reporting.stdout import echo
from conformance.runner.interruption import last_words
from conformance.runner.jobs import default_jobs
from conformance.spec.catalogue import Catalogue

FEWEST: Final = 2
"""Versions, for anything to have changed."""

TROUBLES: Final = {Exit.INTERRUPTED, Exit.SUITE_TROUBLE, Exit.ADAPTER_TROUBLE}


class HistoryOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The output that the user requests, and its format."""

    bisect: str | None
    """A clause, of which it is wanted since when it is as it is."""
    json_path: Path | None
    markdown: bool


def history(
    name: str,
    named: Sequence[str] | Commits,
    options: RunOptions,
    wish: HistoryOptions,
    catalogue: Catalogue,
    screen: Console,
) -> Exit:
    """Run what has to be run of a client's versions, and say where they differ.

    Args:
        name: of the client.
        named: its versions, variants and folders, and reports; or commits of a checkout.
        options: of the runs.
        wish: the requested output.
        catalogue: the clauses.
        screen: the console that shows the runs.

    Raises:
        Failure: what was named is not there, or is of another client.
    """
    title, there = places_of(name, named) if isinstance(named, Commits) else places(name, named)
    if len(there) < FEWEST:
        raise Failure(f"one version of {title} has no history: name more versions or reports")
    if clients(there):
        require_machine(options.jobs or default_jobs())
    entries = baselines(clients(there), catalogue, options.scenario_patterns, None)
    past = Past(title, there, wish, catalogue)
    session = Session(options, catalogue, screen, entries, several=True, conclude=past.tell)
    with last_words(session.break_off):
        past.look(session)
        code = session.end()
    return past.exit_of(code, session.made)


class Past:
    """The versions of a client, and what is known of them so far."""

    def __init__(
        self, title: str, there: Sequence[VersionEntry], wish: HistoryOptions, catalogue: Catalogue
    ) -> None:
        self._title = title
        self._places = there
        self._wish = wish
        self._order = [clause.id for clause in catalogue]
        self._ran: list[int] = []
        """The versions that were run, in the order of the report's runs."""
        self._why: dict[int, str] = {}
        """Those that could not be run."""

    def look(self, session: Session) -> None:
        """Run what has to be run."""
        if not self._wish.bisect:
            # All that may be wrong with a version is found out before the first one runs.
            chosen = [number for number, place in enumerate(self._places) if place.client]
            there = [(number, made) for number in chosen if (made := self._made(number, session))]
            for number, made in there:
                self._run(number, made, session)
            return
        while (next_one := self._next(session.made)) is not None:
            if made := self._made(next_one, session):
                self._run(next_one, made, session)

    def _next(self, report: Report) -> int | None:
        assert self._wish.bisect, "asked for only then"
        return histories.bisection(self._seen(report), self._wish.bisect).next

    def _made(self, number: int, session: Session) -> Prepared | None:
        client = self._places[number].client
        assert client, "what is in reports alone is known"
        made = session.prepare(client)
        if made is None:
            self._why[number] = session.made.not_run[-1].words
        return made

    def _run(self, number: int, made: Prepared, session: Session) -> None:
        if session.comes_up(made):
            self._ran.append(number)
            session.run(made)
        else:
            self._why[number] = session.made.not_run[-1].words

    def _seen(self, report: Report) -> History:
        """Return the history so far."""
        runs = [[*place.recorded] for place in self._places]
        why = {number: without_last_words(words) for number, words in self._why.items()}
        for number, run in zip(self._ran, report.runs, strict=False):
            if run.complete:
                runs[number].append(run)
            else:
                why[number] = "; ".join(("its run broke off", *run.troubles))
        versions = [
            Version(
                label=place.label,
                client=there[0].client if there else None,
                why=why.get(number, ""),
            )
            for number, (place, there) in enumerate(zip(self._places, runs, strict=True))
        ]
        return histories.history(self._title, [*zip(versions, runs, strict=True)], self._order)

    def _told(self, report: Report) -> History:
        """Return the history to print at the end."""
        seen = self._seen(report)
        if self._wish.bisect:
            found = histories.bisected(seen, self._wish.bisect)
            seen = msgspec.structs.replace(seen, bisected=found)
        return seen

    def tell(self, _: Console, report: Report) -> None:
        """Print the history, and write it as JSON if the user wants that."""
        found = self._told(report)
        if self._wish.json_path:
            histories.write_json(found, self._wish.json_path)
        for line in _lines(found, is_markdown=self._wish.markdown):
            echo(line)

    def exit_of(self, code: Exit, report: Report) -> Exit:
        """Return the exit code: it reports errors of the runs, but no failures of the client.

        Args:
            code: that of the runs.
            report: with the runs.
        """
        found = self._told(report)
        if found.bisected and found.bisected.change:
            return code if code in TROUBLES and found.bisected.between else Exit.CONFORMS
        if code in TROUBLES:
            return code
        if found.bisected:
            return Exit.NOTHING_RAN if found.bisected.untold_end else Exit.DEVIATES
        return Exit.CONFORMS if found.clauses else Exit.NOTHING_RAN


def _lines(found: History, *, is_markdown: bool) -> Iterator[str]:
    if not found.bisected:
        yield from (histories.markdown if is_markdown else histories.lines)(found)
    elif is_markdown:
        yield from histories.bisected_markdown(found.bisected, found.client)
    else:
        yield from histories.bisected_lines(found.bisected, found.client)
