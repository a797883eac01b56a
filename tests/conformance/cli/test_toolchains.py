"""Toolchains that are missing, and clients that cannot run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree.ElementTree import parse

import pytest

from client_under_test import doctor
from client_under_test.doctor.check import Finding
from client_under_test.environments import Prepared, prepare
from client_under_test.manifests.clients import find
from tests.conformance.cli.invocation import MANIFEST, invoke, manifest

TOOLS = """
[build]
command = ["sh", "-c", "COMMAND"]
tools = [
    { program = "PROGRAM", get = "ask for it" },
    { program = "sh", ask = ["echo", "shell 1.2.3"], at-least = "LEAST", get = "get a new one" },
]
"""


@pytest.fixture
def clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Makes clients, all of them built in, with a cache of their own."""
    monkeypatch.setenv("XDSPEC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("client_under_test.manifests.clients.BUILT_IN", tmp_path / "clients")

    def make(name: str, program: str = "sh", least: str = "1.2", command: str = "true") -> str:
        folder = tmp_path / "clients" / name
        folder.mkdir(parents=True)
        text = (MANIFEST + TOOLS).replace('"some"', f'"{name}"')
        for place, word in (("PROGRAM", program), ("LEAST", least), ("COMMAND", command)):
            text = text.replace(place, word)
        return manifest(folder, text)

    return make


def test_doctor_tells_of_all_toolchains(clients: Callable[..., str]) -> None:
    clients("well")
    assert invoke("doctor").exit_code == 0
    clients("poor", program="no-such-compiler")
    clients("old", least="1.10")
    ended = invoke("doctor")
    assert ended.exit_code == 4
    of_clients = ended.output.partition("Clients:\n")[2]
    rows = [" ".join(line.split()) for line in of_clients.splitlines()]
    assert rows == [
        "old cannot be built here",
        "found sh of unknown version",
        "too old sh 1.2.3, not sh 1.10 or newer: get a new one",
        "poor cannot be built here",
        "missing no-such-compiler: ask for it",
        "found sh 1.2.3 (at least 1.2)",
        "well built: not yet",
        "found sh of unknown version",
        "found sh 1.2.3 (at least 1.2)",
    ]


def test_doctor_of_one_client_begins_with_its_toolchain(clients: Callable[..., str]) -> None:
    clients("poor", program="no-such-compiler")
    clients("well")
    ended = invoke("doctor", "poor")
    assert ended.exit_code == 4
    assert "missing   no-such-compiler: ask for it" in ended.output
    assert "well" not in ended.output


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    """The reference client; `clients` hides it."""
    return prepare(find("reference"))


def test_doctor_says_that_a_cached_build_needs_no_toolchain(
    prepared: Prepared, clients: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clients("poor", program="no-such-compiler")
    monkeypatch.setattr("conformance.cli.development.prepare", lambda _: prepared)

    async def examine(*_: object, **__: object) -> tuple[Finding, ...]:
        return ()

    monkeypatch.setattr(doctor, "examine", examine)
    ended = invoke("doctor", "poor")
    assert ended.exit_code == 0
    assert "    uses      the build in the cache, which needs no toolchain" in ended.output


def test_all_leaves_out_what_cannot_be_had(
    clients: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    clients("poor", program="no-such-compiler")
    clients("broken", command="echo line 7: no such thing; exit 1")
    clients("reference", command="exit 1")
    ended = invoke("run", "--all", "--json", "r.json", "--junit", "r.xml")
    assert ended.exit_code == 6
    report = json.loads((tmp_path / "r.json").read_text())
    assert [
        (skipped["client"], skipped["verdict"], skipped["reason"]) for skipped in report["not_run"]
    ] == [
        ("broken", "error", "adapter"),
        ("poor", "skip", "environment"),
    ]
    assert "error (adapter)  broken: client broken could not be built: line 7: no" in ended.output
    lack = "client poor needs no-such-compiler, which is not on this machine: ask for it"
    assert f"skip (environment)  poor: {lack}" in ended.output
    assert f"poor    skip (environment): {lack}" in ended.output
    suites = parse("r.xml").getroot()  # noqa: S314  # written here
    assert [
        (suite.get("name"), suite.get("errors"), suite.get("skipped"), suite[0][0].tag)
        for suite in suites
    ] == [("broken", "1", "0", "error"), ("poor", "0", "1", "skipped")]
    assert suites[1][0][0].get("message") == lack


def test_nothing_can_be_had_at_all(clients: Callable[..., str]) -> None:
    clients("poor", program="no-such-compiler")
    assert invoke("run", "--all").exit_code == 5


def test_a_client_that_was_named_must_be_there(clients: Callable[..., str]) -> None:
    clients("poor", program="no-such-compiler")
    clients("broken", command="exit 1")
    ended = invoke("run", "broken", "poor")
    assert ended.exit_code == 4
    assert ended.output.splitlines()[-1] == (
        "xdspec: client poor needs no-such-compiler, which is not on this machine: ask for it"
    )
