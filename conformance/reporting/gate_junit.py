"""The result of a gate as JUnit XML: a case for each clause that differs, and one for the rest."""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element, ElementTree, SubElement

from conformance.reporting.gate import Change, Gate
from conformance.reporting.junit import as_xml, finished
from conformance.runner import atomic_files

SUITE = "xdspec gate"
REST = "unchanged"
"""The case for the clauses that do not differ, so that a suite without differences has one."""


def tree(found: Gate) -> ElementTree[Element]:
    """Return the whole result."""
    fatal = [change for change in found.broken if change.is_fatal]
    suite = Element("testsuite", name=SUITE, tests=f"{len(found.changes) + 1}")
    suite.set("failures", f"{len(fatal)}")
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
    return finished(suite)


def _name(change: Change) -> str:
    return f"{change.clause} {change.title}"


def write(found: Gate, path: Path) -> None:
    """Write it for a CI."""
    atomic_files.write(path, as_xml(tree(found)))
