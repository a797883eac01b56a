"""The report as JUnit XML, for the CI systems that read it: one case a scenario."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from conformance.report import Report, Run, Scenario
from conformance.verdicts import Verdict

NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 has no way to write, such as those that colour a terminal."""

ELEMENTS = {Verdict.FAIL: "failure", Verdict.ERROR: "error", Verdict.SKIP: "skipped"}


def tree(report: Report) -> ElementTree[Element]:
    """The whole report."""
    root = Element("testsuites")
    for run in report.runs:
        _suite(root, run)
    indent(root)
    return ElementTree(root)


def _suite(root: Element, run: Run) -> None:
    name = f"{run.client.name}@{run.client.version}"
    name += f"+{run.client.variant}" if run.client.variant else ""
    suite = SubElement(root, "testsuite", name=name, time=str(run.wall_seconds))
    counts = dict.fromkeys(ELEMENTS.values(), 0)
    for scenario in run.scenarios:
        element = _outcome(scenario, run)
        case = SubElement(
            suite, "testcase", classname=name, name=scenario.id, time=str(scenario.seconds)
        )
        if element is not None:
            counts[element.tag] += 1
            case.append(element)
    suite.set("tests", str(len(run.scenarios)))
    suite.set("failures", str(counts["failure"]))
    suite.set("errors", str(counts["error"]))
    suite.set("skipped", str(counts["skipped"]))


def _outcome(scenario: Scenario, run: Run) -> Element | None:
    """The element of a case that did not pass; a failure that the baseline knows is skipped."""
    tag = ELEMENTS.get(scenario.verdict)
    if tag is None:
        return None
    failed = [clause for clause, verdict in scenario.clauses.items() if verdict is Verdict.FAIL]
    known = failed and all(run.clauses[clause].expected for clause in failed)
    if tag == "failure" and known:
        tag = "skipped"
    message = "; ".join(
        dict.fromkeys(one.saw for one in scenario.findings if one.verdict is scenario.verdict)
    )
    message = NOT_XML.sub("\N{REPLACEMENT CHARACTER}", message)
    reason = scenario.reason.value if scenario.reason else scenario.verdict.value
    element = Element(tag, message=message, type=reason)
    element.text = f"evidence: {scenario.evidence}" if scenario.evidence else None
    return element


def write(report: Report, path: Path) -> None:
    """Write it."""
    tree(report).write(path, encoding="unicode", xml_declaration=True)
