"""What the Java adapter's build relies on, without Maven: that nothing in it is left to chance."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from client_under_test.manifests.clients import find

FOLDER = find("java").folder
NAMES = {"pom": "http://maven.apache.org/POM/4.0.0"}


def versions(kind: str) -> dict[str, str]:
    """Artifact and version of each dependency, or plugin, of the adapter."""
    pom = ET.parse(FOLDER / "pom.xml").getroot()  # noqa: S314 - our own file
    told = pom.find("pom:properties", NAMES)
    assert told is not None
    properties = {f"${{{each.tag.partition('}')[2]}}}": each.text or "" for each in told}
    return {
        artifact: properties.get(version, version)
        for each in pom.iterfind(f".//pom:{kind}", NAMES)
        for artifact in [each.findtext("pom:artifactId", "", NAMES)]
        for version in [each.findtext("pom:version", "", NAMES)]
    }


def test_the_manifest_and_the_pom_speak_of_one_version() -> None:
    assert versions("dependency")["grpc-xds"] == find("java").manifest.version


@pytest.mark.parametrize("kind", ["dependency", "plugin"])
def test_all_versions_are_exact(kind: str) -> None:
    found = versions(kind)
    assert found
    assert [
        name for name, version in found.items() if not re.fullmatch(r"\d+(\.\d+)+", version)
    ] == []


def test_the_jvm_keeps_its_warnings_from_stdout() -> None:
    options = (FOLDER / "java.options").read_text().splitlines()
    logging = [option for option in options if option.startswith("-Xlog")]
    assert logging == ["-Xlog:disable", "-Xlog:all=warning:stderr"]
