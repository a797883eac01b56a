"""The result of a gate as JUnit XML: a case for each clause that differs, and one for the rest."""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element, ElementTree, SubElement

from conformance.reporting.gate import Change, Gate
from conformance.reporting.junit import as_xml, finished
from conformance.runner import files

SUITE = "xdspec gate"
REST = "unchanged"
"""The case for the clauses that do not differ, so that a suite without differences has one."""

LEFT_OUT = "left out by --quick"
"""The case for the clauses that were selected, but not judged."""


def tree(found: Gate) -> ElementTree[Element]:
    """Return the whole result."""
    fatal = [change for change in found.broken if change.is_fatal]
    count = len(found.changes) + 1 + bool(found.left_out)
    suite = Element("testsuite", name=SUITE, tests=f"{count}")
    suite.set("failures", f"{len(fatal)}")
    suite.set("skipped", f"{int(bool(found.left_out))}")
    properties = SubElement(suite, "properties")
    for name, value in (
        ("change", found.head),
        ("base", found.base),
        ("outcome", found.last_word),
    ):
        SubElement(properties, "property", name=name, value=value)
    for change in found.changes:
        case = SubElement(suite, "testcase", classname=SUITE, name=_name(change))
        if change in fatal:
            SubElement(case, "failure", message=f"{change}", type=change.kind.value)
    SubElement(suite, "testcase", classname=SUITE, name=REST)
    if found.left_out:
        case = SubElement(suite, "testcase", classname=SUITE, name=LEFT_OUT)
        SubElement(case, "skipped", message=", ".join(found.left_out))
    return finished(suite)


def _name(change: Change) -> str:
    return f"{change.clause} {change.title}"


def write(found: Gate, path: Path) -> None:
    """Write it for a CI."""
    files.write(path, as_xml(tree(found)))
