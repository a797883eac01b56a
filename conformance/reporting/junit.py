"""The report as JUnit XML, for the CI systems that read it: one case a scenario."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent, tostring

from conformance.judging.verdicts import BAD, Verdict
from conformance.reporting.outcome import in_one_line
from conformance.reporting.report import NotRun, Report, Run, Scenario, said_of
from conformance.runner import files

NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot represent, such as terminal escapes."""

ELEMENTS = {Verdict.FAIL: "failure", Verdict.ERROR: "error", Verdict.SKIP: "skipped"}

EXPECTED = "expected"
"""The type of a case whose failures the baseline knows: other skips have the reason of theirs."""

OUTCOME = "outcome"
"""The property of a suite that states the outcome of the run, as on the console."""

BASELINE = "expected.toml"
RUN = "run"
"""Names of cases that are no scenario: an untrue entry of the baseline, and what ended the run."""

COUNTS = {"failure": "failures", "error": "errors", "skipped": "skipped"}
"""A suite's attribute that counts these elements."""


def tree(report: Report) -> ElementTree[Element]:
    """Return the whole report as XML."""
    root = Element("testsuites")
    for run in report.runs:
        _suite(root, run)
    for left in report.not_run:
        _left_out(root, left)
    return finished(root)


def finished(root: Element) -> ElementTree[Element]:
    """Return a tree without characters that XML cannot write, indented."""
    for element in root.iter():  # any of them may have text of a client
        element.attrib.update({name: _written(words) for name, words in element.attrib.items()})
        element.text = element.text and _written(element.text)
    indent(root)
    return ElementTree(root)


def _suite(root: Element, run: Run) -> None:
    name = f"{run.client.name}@{run.client.version}"
    name += f"+{run.client.variant}" if run.client.variant else ""
    suite = SubElement(root, "testsuite", name=name, time=str(run.wall_seconds))
    properties = SubElement(suite, "properties")
    SubElement(properties, "property", name=OUTCOME, value=in_one_line(run, said_of(run)))
    counts = dict.fromkeys(COUNTS, 0)
    cases = [(scenario.id, scenario.seconds, _outcome(scenario, run)) for scenario in run.scenarios]
    # What makes a run fail besides its scenarios: some read this file alone.
    cases += [(BASELINE, 0.0, _told("failure", "baseline", surprise)) for surprise in run.surprises]
    cases += [(RUN, 0.0, _told("error", "suite", trouble)) for trouble in run.troubles]
    if not run.complete and not run.troubles:
        cases.append((RUN, 0.0, _told("error", "interrupted", "the run was interrupted")))
    for case_name, seconds, element in cases:
        case = SubElement(suite, "testcase", classname=name, name=case_name, time=str(seconds))
        if element is not None:
            counts[element.tag] += 1
            case.append(element)
    suite.set("tests", str(len(cases)))
    for kind, name in COUNTS.items():
        suite.set(name, str(counts[kind]))


def _told(tag: str, kind: str, words: str) -> Element:
    return Element(tag, message=words, type=kind)


def _left_out(root: Element, left: NotRun) -> None:
    """Add a suite with one case for a client that could not be run."""
    suite = SubElement(root, "testsuite", name=left.client, time="0", tests="1")
    tag = ELEMENTS[left.verdict]
    for kind, name in COUNTS.items():
        suite.set(name, str(int(kind == tag)))
    case = SubElement(suite, "testcase", classname=left.client, name="start", time="0")
    SubElement(case, tag, message=left.words, type=left.reason.value)


def _written(words: str) -> str:
    return NOT_XML.sub("\N{REPLACEMENT CHARACTER}", words)


def _outcome(scenario: Scenario, run: Run) -> Element | None:
    """Return the element of a case that did not pass.

    A failure that the baseline knows fails nothing: it is skipped, and says by its type what it is.
    """
    bad = [finding for finding in scenario.findings if finding.verdict in BAD]
    news = [finding for finding in bad if not finding.expected]
    tag = ELEMENTS.get(
        min(news or bad, key=lambda finding: finding.rank).verdict if bad else scenario.verdict
    )
    if tag is None:
        return None
    first = min(news or scenario.findings, key=lambda finding: finding.rank)
    known = bool(bad) and not news
    messages = dict.fromkeys(
        f"blocked by {finding.blocked_by}: {finding.saw}" if finding.blocked_by else finding.saw
        for finding in (news or scenario.findings)
        if finding.rank == first.rank
    )
    message = "; ".join(messages)
    reason = first.reason.value if first.reason else first.verdict.value
    lines = [f"evidence: {scenario.evidence}"] if scenario.evidence else []
    if not known:
        element = _told(tag, reason, message)
    else:
        element = _told("skipped", EXPECTED, f"expected failure ({reason}): {message}")
        lines += [
            f"known: {entry.explanation} {entry.issue}".rstrip()
            for entry in run.known
            if any(entry.knows(scenario.id, finding) for finding in bad)
        ]
    element.text = "\n".join(lines) or None
    return element


def as_xml(made: ElementTree[Element]) -> bytes:
    """Return the bytes of a file."""
    text: bytes = tostring(made.getroot(), encoding="utf-8", xml_declaration=True)
    return text


def write(report: Report, path: Path) -> None:
    """Write it."""
    files.write(path, as_xml(tree(report)))
