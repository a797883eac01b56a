"""The report as JUnit XML, for the CI systems that read it: one case a scenario."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from conformance.judging.verdicts import Verdict
from conformance.reporting.report import NotRun, Report, Run, Scenario

NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 has no way to write, such as those that colour a terminal."""

ELEMENTS = {Verdict.FAIL: "failure", Verdict.ERROR: "error", Verdict.SKIP: "skipped"}

COUNTS = {"failure": "failures", "error": "errors", "skipped": "skipped"}
"""A suite's attribute that counts these elements."""


def tree(report: Report) -> ElementTree[Element]:
    """The whole report."""
    root = Element("testsuites")
    for run in report.runs:
        _suite(root, run)
    for left in report.not_run:
        _left_out(root, left)
    indent(root)
    return ElementTree(root)


def _suite(root: Element, run: Run) -> None:
    name = f"{run.client.name}@{run.client.version}"
    name += f"+{run.client.variant}" if run.client.variant else ""
    suite = SubElement(root, "testsuite", name=name, time=str(run.wall_seconds))
    counts = dict.fromkeys(COUNTS, 0)
    for scenario in run.scenarios:
        element = _outcome(scenario, run)
        case = SubElement(
            suite, "testcase", classname=name, name=scenario.id, time=str(scenario.seconds)
        )
        if element is not None:
            counts[element.tag] += 1
            case.append(element)
    suite.set("tests", str(len(run.scenarios)))
    for kind, name in COUNTS.items():
        suite.set(name, str(counts[kind]))


def _left_out(root: Element, left: NotRun) -> None:
    """A suite of one case, for a client that could not be run."""
    suite = SubElement(root, "testsuite", name=left.client, time="0", tests="1")
    tag = ELEMENTS[left.verdict]
    for kind, name in COUNTS.items():
        suite.set(name, str(int(kind == tag)))
    case = SubElement(suite, "testcase", classname=left.client, name="start", time="0")
    SubElement(case, tag, message=_written(left.words), type=left.reason.value)


def _written(words: str) -> str:
    return NOT_XML.sub("\N{REPLACEMENT CHARACTER}", words)


def _outcome(scenario: Scenario, run: Run) -> Element | None:
    """The element of a case that did not pass; a failure that the baseline knows is skipped."""
    tag = ELEMENTS.get(scenario.verdict)
    if tag is None:
        return None
    failed = [one for one in scenario.findings if one.verdict is Verdict.FAIL]
    known = bool(failed) and all(one.expected for one in failed)
    if tag == "failure" and known:
        tag = "skipped"
    decisive = min(one.rank for one in scenario.findings)
    told = dict.fromkeys(
        f"blocked by {one.blocked_by}: {one.saw}" if one.blocked_by else one.saw
        for one in scenario.findings
        if one.rank == decisive
    )
    message = "; ".join(told)
    reason = scenario.reason.value if scenario.reason else scenario.verdict.value
    element = Element(tag, message=_written(message), type=reason)
    lines = [f"evidence: {scenario.evidence}"] if scenario.evidence else []
    lines += [
        f"known: {entry.words} {entry.issue}".rstrip()
        for entry in (run.known if known else ())
        if any(entry.knows(scenario.id, one) for one in failed)
    ]
    element.text = "\n".join(lines) or None
    return element


def write(report: Report, path: Path) -> None:
    """Write it."""
    tree(report).write(path, encoding="unicode", xml_declaration=True)
