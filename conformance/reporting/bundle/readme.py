"""The page of a bundle, in Markdown that can be pasted into a tracker. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from conformance.judging.verdicts import Decision, Verdict
from conformance.reporting.baseline import Entry
from conformance.reporting.markdown import code, escaped, fenced, link
from conformance.reporting.provenance import Provenance
from conformance.reporting.rendering.folder import Folder
from conformance.reporting.rendering.phases import Phase, in_words
from conformance.reporting.report import ClientId
from conformance.spec.catalogue import Catalogue


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario that failed, with all that a report and its evidence know of it."""

    origin: Provenance
    client: ClientId
    is_built_in: bool
    built_from: str = ""
    """What the client was built from, in words, if it is no release."""
    folder: Folder
    bootstrap: bytes
    """The JSON text, which is well formed; empty in evidence of a suite that did not keep it."""
    stderr: str
    entries: tuple[Entry, ...]
    """Failures that the baseline of the run knew."""

    @property
    def failures(self) -> tuple[Decision, ...]:
        """What failed."""
        return tuple(
            decision
            for decision in self.folder.record.decisions
            if decision.verdict is Verdict.FAIL
        )

    @property
    def named(self) -> str:
        """The client as a command names it."""
        version = f"@{self.client.version}" if self.client.version else ""
        variant = f"+{self.client.variant}" if self.client.variant else ""
        return f"{self.client.name}{version}{variant}"

    @property
    def suite(self) -> str:
        """The suite that saw it."""
        commit = self.origin.suite.commit
        return f"xdspec {self.origin.suite.version}" + (f", commit {commit}" if commit else "")


SHOWN = 40
"""Files with resources that are named on the page."""

REASONS = {
    "deviates": "the client does otherwise",
    "edition": "the client follows another edition of the text than the one that it declares",
    "crashed": "the client died",
    "exited": "the client exited on its own",
    "hung": "the client did not go on",
    "flooded": "the client wrote without end",
    "lied": "what the client reported is not what the backends saw",
    "stated": "the text leaves a choice, and the client makes another than it is known to make",
}


def readme(
    case: Case, catalogue: Catalogue, happened: Sequence[Phase], served: Sequence[str]
) -> str:
    """Return the page.

    Args:
        case: what it is about.
        catalogue: the clauses.
        happened: what happened, phase by phase.
        served: the files with the resources.
    """
    lines = [
        *_head(case, catalogue),
        *(line for failure in case.failures for line in _failure(failure, case, catalogue)),
        *_served(case, served),
        *_happened(happened),
        *_versions(case),
        *_again(case),
    ]
    return "\n".join(lines) + "\n"


def _head(case: Case, catalogue: Catalogue) -> Iterator[str]:
    titles = dict.fromkeys(catalogue[failure.clause].title for failure in case.failures)
    yield f"# {escaped(str(case.client))}: {escaped('; '.join(titles))}"
    yield ""
    yield (
        "The client received a bootstrap with one xDS server on loopback, and made calls to real "
        "gRPC backends. The suite compared what the client sent to the xDS server and to the "
        "backends with what the specification requires."
    )


def _failure(decision: Decision, case: Case, catalogue: Catalogue) -> Iterator[str]:
    clause = catalogue[decision.clause]
    edition = decision.edition or clause.editions[0]
    text = catalogue.editions.link(edition)
    name = f"gRFC {clause.document}"
    name += f", edition {edition}" if edition != clause.document else ""
    where = f"[{name}]({text})" if text else name
    yield from ("", f"## {escaped(clause.title)} ({decision.clause})", "")
    yield (
        f"**Rule** ({where}, section “{clause.section}”, {clause.strength.value}; summarized): "
        f"{escaped(clause.worded(edition))}"
    )
    if clause.basis:
        yield f"**Basis**: {escaped(clause.paraphrase)}"
    why = (
        REASONS.get(decision.reason.value, decision.reason.value)
        if decision.reason
        else "it differs"
    )
    yield from ("", f"**Observed**: {why}.", "", *fenced(decision.saw))
    if decision.wanted:
        by = f", computed from {escaped(decision.oracle)}" if decision.oracle else ""
        yield from ("", f"**Expected**{by}", "", *fenced(decision.wanted))
    if decision.differs:
        yield from ("", "**The difference**", "", *fenced(decision.differs))
    for entry in case.entries:
        if entry.knows(case.folder.record.scenario, decision):
            yield from (
                "",
                f"**Known**: {escaped(entry.seen)} {escaped(entry.explanation)}",
            )
            if entry.sometimes:
                yield f"It does not happen in every run: {escaped(entry.sometimes)}."
            if entry.issue:
                yield f"See also {link(entry.issue)}"


def _served(case: Case, served: Sequence[str]) -> Iterator[str]:
    yield from ("", "## What was served", "")
    yield from (
        f"{number}. {escaped(text)}" for number, text in enumerate(case.folder.record.served, 1)
    )
    yield ""
    yield (
        "`resources/` has the discovery responses with new resources, numbered in their order, as "
        "protojson. A resource that JSON cannot express is in base64."
        + (" `bootstrap.json` is the bootstrap of the client." if case.bootstrap else "")
    )
    if len(served) <= SHOWN:
        yield from ("", *(f"- {code(text)}" for text in served))


def _happened(happened: Sequence[Phase]) -> Iterator[str]:
    yield from ("", "## What happened", "")
    yield (
        "Times are in seconds since the scenario began. Each endpoint has a *gate*: a proxy that "
        "forwards, closes or holds connections to the backend, and records every attempt. Each "
        "call is listed in the phase in which it ended."
    )
    yield from ("", *fenced("\n".join(words for words, _ in in_words(happened))))
    yield from ("", "`timeline.txt` lists every call.")


def _versions(case: Case) -> Iterator[str]:
    machine = case.origin.machine
    yield from ("", "## Versions", "")
    built = f", built from {case.built_from}" if case.built_from else ""
    yield f"- client: {escaped(f'{case.client}{built}')}"
    suite = f"{case.suite}, {case.origin.started}, seed {case.folder.record.seed}"
    yield f"- suite: {escaped(suite)}"
    on = f"{machine.system} {machine.release}, {machine.architecture}, {machine.cores} cores"
    yield f"- {escaped(on)}"
    follows = escaped(", ".join(case.folder.record.client.follows))
    yield f"- editions that the client declares: {follows}"


def _again(case: Case) -> Iterator[str]:
    yield from ("", "## How to repeat it", "")
    yield (
        f"Install {escaped(case.suite)}, a Python package with the control plane and the "
        "backends. Then run in this folder:"
    )
    named = "" if case.is_built_in else " PATH/TO/ITS/ADAPTER"
    if case.built_from:
        named = f" {case.client.name} --source PATH/TO/ITS/SOURCES"
    yield from ("", *fenced(f"xdspec replay .{named}", "sh"), "")
    yield (
        "The command runs this scenario against the client, with the same random numbers, and "
        "prints whether the same clauses fail for the same reason. Ports may differ, so the suite "
        "computes rings and header values again. To try another version or a fixed client, name "
        "it, or the folder of its adapter, after the dot: "
        f"{code(f'xdspec replay . {case.client.name}@VERSION')}."
    )
    yield (
        "`xdspec replay` prints what it will run, asks first, and runs no program of this folder. "
        "`replay.py` does the same, but it is a program: read it first if a stranger sent it."
    )
    if case.folder.record.fast:
        yield "The client's timers were shortened where it has a knob for that (`--fast`)."
    if case.client.settings:
        yield f"The client's settings were {code(case.client.settings)}; pass them with `--env`."
    yield "Values of `--env` are not recorded: pass them again if they matter."
