"""Generate the compliance pages from the recorded results, the baselines and the catalogue.

`python -m ci.documentation.compliance REPORT...` (`ci/results`) records the results of whole runs.
"""

from __future__ import annotations

import datetime as dt
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ci.documentation.markdown import escaped, table
from client_under_test.manifests.clients import find
from conformance.judging.verdicts import Verdict
from conformance.reporting.baseline import Entry
from conformance.reporting.baseline import read as read_baseline
from conformance.reporting.outcome import counted
from conformance.reporting.report import BadReport, Report, require_clauses
from conformance.reporting.report import read as read_report
from conformance.runner.collection import scenarios
from conformance.spec.catalogue import Catalogue, Clause, edition_for, load

if TYPE_CHECKING:
    from ci.documentation.facts import Facts

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs/compliance/results.json"
FOLDERS = {"interop-java": "client_under_test/adapters/interop/java"}
"""Clients that are named by their folder, not by their name."""

BAD_INPUT = 4


class Result(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one whole run of a client found.

    Attributes:
        documents: clauses by verdict, for each gRFC.
        released: the day on which this version of the client was released, if it is known.
    """

    client: str
    version: str
    variant: str | None = None
    released: dt.date | None = None
    judged: dt.date
    suite: str
    commit: str | None = None
    editions: tuple[str, ...]
    documents: dict[str, dict[Verdict, int]]

    @property
    def name(self) -> str:
        """The client with its exact version."""
        return f"{self.client} {self.version}" + (f" +{self.variant}" if self.variant else "")

    @property
    def page(self) -> Path:
        """The page of its deviations."""
        variant = f"-{self.variant}" if self.variant else ""
        return ROOT / f"docs/compliance/{self.client}{variant}.md"

    @property
    def totals(self) -> Counter[Verdict]:
        """All clauses by verdict."""
        return sum((Counter(document) for document in self.documents.values()), Counter[Verdict]())


def results() -> tuple[Result, ...]:
    """Read the recorded results."""
    return msgspec.json.decode(RESULTS.read_bytes(), type=tuple[Result, ...])


def of_report(report: Report, known: Catalogue) -> Iterator[Result]:
    """Yield the results of each run of a report.

    Raises:
        BadReport: a run has a clause that the catalogue does not have, or lacks one that a scenario
            decides.
    """
    require_clauses(report, known)
    made = report.provenance
    decided = {clause for claims in scenarios().values() for clause in claims.clauses}
    for run in report.runs:
        if missing := decided - run.clauses.keys():
            raise BadReport(
                f"the run of {run.client} is not whole: it lacks {len(missing)} clauses that "
                f"scenarios decide, such as {min(missing)}; run all scenarios of this checkout"
            )
        documents: dict[str, Counter[Verdict]] = {}
        for clause in known:
            if clause.id in run.clauses:
                verdict = run.clauses[clause.id].verdict
                documents.setdefault(clause.document, Counter())[verdict] += 1
        yield Result(
            client=run.client.name,
            version=run.client.version,
            variant=run.client.variant,
            judged=dt.date.fromisoformat(made.started[:10]),
            suite=made.suite.version,
            commit=made.suite.commit,
            editions=run.follows,
            documents={name: dict(counts) for name, counts in documents.items()},
        )


def record(new: Iterable[Result], old: Iterable[Result]) -> tuple[Result, ...]:
    """Return the results with new ones in the place of older ones of the same client."""
    found = {(earlier.client, earlier.variant): earlier for earlier in old}
    for result in new:
        before = found.get((result.client, result.variant))
        if before and before.version == result.version:
            result = msgspec.structs.replace(result, released=before.released)  # noqa: PLW2901
        found[result.client, result.variant] = result
    return tuple(found.values())


def make_pages() -> None:
    """Create the page of each client that has none yet."""
    for result in results():
        if not result.page.exists():
            result.page.write_text(
                f"# Deviations of {result.client}\n\n<!-- begin generated deviations "
                f"{result.page.stem} -->\n<!-- end generated -->\n",
                "utf-8",
            )


# Parts of pages.

_SHOWN = (Verdict.PASS, Verdict.FAIL, Verdict.SEEN)


def summary(known: Facts) -> str:
    """Return the table of clients: totals, dates and the page of deviations."""
    del known
    head = ("client", "released", "judged", "pass:", "fail:", "seen:", "skip:", "error:")
    rows = (
        (
            f"[{result.name}](/{result.page.relative_to(ROOT)})",
            f"{result.released or 'not recorded'}",
            f"{result.judged} by {result.suite}"
            + (f" ({result.commit[:12]})" if result.commit else ""),
            *(f"{result.totals[verdict]}" for verdict in (*_SHOWN, Verdict.SKIP, Verdict.ERROR)),
        )
        for result in results()
    )
    return table(head, rows)


def by_document(known: Facts) -> str:
    """Return the table clients x gRFCs: pass, fail, seen."""
    found = results()
    documents = [
        name
        for name in dict.fromkeys(clause.document for clause in known.known)
        if any(name in result.documents for result in found)
    ]

    def counts(result: Result, document: str) -> str:
        of = result.documents.get(document, {})
        if not any(of.get(verdict) for verdict in _SHOWN):
            return "skip" if of else "-"
        pass_, fail, seen = (of.get(verdict, 0) for verdict in _SHOWN)
        return f"{pass_} / {f'**{fail}**' if fail else 0} / {seen}"

    rows = (
        (
            f"[{name}]({link})" if (link := known.known.editions.link(name)) else name,
            *(counts(result, name) for result in found),
        )
        for name in sorted(documents, key=lambda name: int(name[1:].partition("-")[0]))
    )
    return table(("gRFC", *(result.name for result in found)), rows)


def stated(known: Facts) -> str:
    """Return a list of the editions that each client states."""
    order = known.known.editions.ids
    return "\n".join(
        f"- {result.name}: {', '.join(sorted(result.editions, key=order.index))}"
        for result in results()
    )


def clients(known: Facts) -> str:
    """Return the table of clients for the README."""
    del known
    rows = (
        (
            f"`{result.client}`",
            f"{_IMPLEMENTATIONS.get(result.client, '')} {result.version}".strip(),
            f"{result.totals[Verdict.PASS]}",
            f"[{result.totals[Verdict.FAIL]}](/{result.page.relative_to(ROOT)})",
            f"{result.totals[Verdict.SEEN]}",
            f"{result.totals[Verdict.SKIP]}",
        )
        for result in results()
    )
    return table(("client", "implementation", "pass:", "fail:", "seen:", "skip:"), rows)


_IMPLEMENTATIONS = {
    "python": "grpcio (C-core)",
    "cpp": "gRPC C++ (C-core)",
    "go": "grpc-go",
    "java": "grpc-java",
    "node": "grpc-js-xds",
    "rust": "tonic-xds",
    "envoy": "Envoy",
    "interop-java": "grpc-java's stock interop client",
    "reference": "the suite's own client",
}


def deviations(known: Facts, page: str) -> str:
    """Return the deviations of a client, one section for each cause."""
    row = next(row for row in results() if row.page.stem == page)
    entries = _entries(row, known.known)
    now = [entry for entry in entries if entry.applies_to(row.version, row.variant)]
    past = [
        entry for entry in entries if not entry.applies_to(row.version, None) and entry.versions
    ]
    of_now = len({entry.clause for entry in now})
    failed = row.totals[Verdict.FAIL]
    text = f"For maintainers of `{row.client}` and readers of its results. On {row.judged}, "
    text += f"{row.name} failed {counted(failed, 'clause')}. Today's baseline has "
    text += f"{counted(of_now, 'clause')}. "
    if failed != of_now:
        text += "The numbers can differ: clauses and scenarios change, and some failures do not "
        text += "happen in every run. "
    text += "Each section has one cause: what the rule says, what the client does, why, in which "
    text += "versions, and the issue. [Compliance](/docs/compliance.md) says how to dispute one.\n"
    if now:
        text += f"\n## Version {row.version}\n" + _paragraphs(now, row, known)
    if past:
        text += "\n## Other versions\n" + _paragraphs(past, row, known)
    return text


def _entries(result: Result, known: Catalogue) -> tuple[Entry, ...]:
    folder = find(
        result.client if result.client not in FOLDERS else str(ROOT / FOLDERS[result.client])
    )
    return read_baseline(folder.folder / "expected.toml", known)


def _paragraphs(entries: Iterable[Entry], result: Result, known: Facts) -> str:
    listed = list(entries)
    text = ""
    for entry in listed:
        if entry.like:
            continue
        clause = known.known[entry.clause]
        more = [other.clause for other in listed if _has_same_cause(other, entry)]
        text += f"\n### {clause.id} {escaped(clause.title)}\n\n"
        text += f"- **Rule** ({known.link(clause.id)}, {clause.strength.value}): "
        text += f"{escaped(_wording(clause, result))}\n"
        text += f"- **Observed**: {escaped(entry.seen)}\n"
        text += f"- **Cause**: {escaped(entry.explanation)}\n"
        versions = f"`{entry.versions}`" if entry.versions else "all that were judged"
        text += f"- **Versions**: {versions}\n"
        if entry.sometimes:
            text += f"- **How often**: {escaped(entry.sometimes)}\n"
        if more:
            links = ", ".join(known.link(other) for other in dict.fromkeys(more))
            text += f"- **Same cause**: {links}\n"
        text += f"- **Issue**: {f'<{entry.issue}>' if entry.issue else 'none known'}\n"
        text += f"- **Repeat**: `xdspec run {_named(result)} --scenario '{entry.scenarios[0]}'`\n"
    return text


def _has_same_cause(other: Entry, entry: Entry) -> bool:
    return other.like == entry.clause and other.explanation == entry.explanation


def _wording(clause: Clause, result: Result) -> str:
    edition = edition_for(clause, result.editions)
    return clause.worded(edition) if edition else next(iter(clause.wordings.values()))


def _named(result: Result) -> str:
    return FOLDERS.get(result.client, result.client) + (
        f"+{result.variant}" if result.variant else ""
    )


GENERATED: Mapping[str, Callable[..., str]] = {
    "clients": clients,
    "compliance-documents": by_document,
    "compliance-editions": stated,
    "compliance-summary": summary,
    "deviations": deviations,
}
"""Generators by the name that a page's marker has."""


def main(arguments: list[str]) -> int:
    """Record the results of reports; the exit code."""
    if not arguments or arguments[0].startswith("-"):
        print("usage: ci/results REPORT...", file=sys.stderr)
        return BAD_INPUT
    known = load()
    try:
        new = [result for path in arguments for result in of_report(read_report(Path(path)), known)]
    except BadReport as trouble:
        print(f"ci/results: {trouble}", file=sys.stderr)
        return BAD_INPUT
    text = msgspec.json.format(msgspec.json.encode(record(new, results())), indent=1)
    RESULTS.write_bytes(text + b"\n")
    print(f"wrote {RESULTS.relative_to(ROOT)}; run `ci/docs --refresh` to bring it into the pages")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
