"""A stranger's report, evidence or bundle runs nothing and reads and writes nothing else."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from conformance.cli import bundles, commands
from conformance.cli.run_options import RunOptions
from conformance.reporting.bundle.expected_failure import FILE, Bundle, Failed
from conformance.reporting.report import Exit
from conformance.runner.evidence_files import BOOTSTRAP
from tests.conformance.cli.mutations import SEEDS, mutated_json

from .test_bundle import ADDRESS, CLAUSE, FAILURE, GO, SCENARIO, ran, response

SECRET = "the content of another file"
ADAPTER = """
name = "evil"
version = "1.0.0"
issues = "https://example.com"
capabilities = []

[start]
command = ["sh", "-c", "touch {folder}/../RAN"]
"""


def xdspec(*words: object, **more: Any) -> Result:
    return CliRunner().invoke(commands.main, [*map(str, words)], **more)


def written(folder: Path, **more: Any) -> Path:
    """A bundle, with an adapter in it."""
    fields: dict[str, Any] = {
        "suite": "xdspec 0.1.0",
        "scenario": SCENARIO,
        "client": "go@1.85.0",
        "is_built_in": True,
        "seed": 1,
        "fast": False,
        "failed": (Failed(clause=CLAUSE, reason=FAILURE.reason, saw=FAILURE.saw),),
    }
    place = folder / "bundle"
    (place / "evil").mkdir(parents=True)
    (place / "evil" / "client.toml").write_text(ADAPTER)
    (place / FILE).write_bytes(msgspec.json.encode(Bundle(**(fields | more))))
    return place


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The clients that a command ran; none is."""
    there: list[tuple[str, ...]] = []

    def run(names: tuple[str, ...], options: RunOptions, *_: Any) -> Exit:
        there.append(names)
        assert options.out.parent.is_dir()
        return Exit.INTERRUPTED

    monkeypatch.setattr(bundles, "run_clients", run)
    return there


CLIENTS: tuple[str, ...] = (
    "{}/evil",
    "./bundle/evil",
    "evil",
    "{}/evil@1.0.0",
    "go/../../evil",
    "",
    "+go",
    ".",
)
CLIENTS += ("go@master", "go@a1b2c3d4", "go@1234567", "go@https://evil.example/x", "python@pre")
CLIENTS += ("go@1.2@../evil", "go@../evil", "go\n@1.2.3", "-go", "go@1.2 --source=x")


@pytest.mark.parametrize("client", CLIENTS)
def test_a_bundle_names_no_adapter(
    tmp_path: Path, runs: list[tuple[str, ...]], client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = written(tmp_path, client=client.format(tmp_path / "bundle"))
    for more in ((), ("--yes",)):
        ended = xdspec("replay", place, *more)
        assert ended.exit_code == Exit.BAD_INPUT, ended.output
        assert "is no release of one that comes with xdspec: name it" in ended.output
    assert not runs
    assert not (place / "RAN").exists()


def test_what_will_run_is_shown_and_asked_for(tmp_path: Path, runs: list[tuple[str, ...]]) -> None:
    place = written(tmp_path)
    ended = xdspec("replay", place)
    assert (ended.exit_code, runs) == (Exit.BAD_INPUT, [])
    assert "builds    sh" in ended.output
    assert "starts    '{output}/adapter'" in ended.output
    assert "add --yes" in ended.output
    ended = xdspec("replay", place, place / "evil", "--yes")
    assert runs == [(str(place / "evil"),)]
    assert "starts    sh -c 'touch {folder}/../RAN'" in ended.output


def test_a_replay_asks_who_can_answer(
    tmp_path: Path, runs: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundles, "_can_answer", lambda: True)
    place = written(tmp_path)
    for said, code, count in (("n\n", Exit.BAD_INPUT, 0), ("y\n", Exit.INTERRUPTED, 1)):
        ended = xdspec("replay", place, input=said)
        assert (ended.exit_code, len(runs)) == (code, count), ended.output


@pytest.mark.parametrize("scenario", ["*", "ring.*", "ring.size", "", "../x", "ring.searc?"])
def test_a_bundle_names_one_scenario(
    tmp_path: Path, runs: list[tuple[str, ...]], scenario: str
) -> None:
    ended = xdspec("replay", written(tmp_path, scenario=scenario), "--yes")
    assert (ended.exit_code, runs) == (Exit.BAD_INPUT, [])
    assert "which there is not" in ended.output


def test_a_replay_writes_in_a_folder_of_its_own(
    tmp_path: Path, runs: list[tuple[str, ...]]
) -> None:
    place, elsewhere = written(tmp_path), tmp_path / "elsewhere"
    elsewhere.mkdir()
    (place / "replayed").symlink_to(elsewhere)
    xdspec("replay", place, "--yes")
    assert len(runs) == 1
    assert not any(elsewhere.iterdir())
    assert (place / "replayed-2").is_dir()


def test_a_bundle_that_is_a_link_inside_is_not_read(tmp_path: Path) -> None:
    place = written(tmp_path)
    (place / FILE).rename(tmp_path / FILE)
    (place / FILE).symlink_to(tmp_path / FILE)
    ended = xdspec("replay", place, "--yes")
    assert ended.exit_code == Exit.BAD_INPUT
    assert "it is a link" in ended.output


def renamed(report: Path, evidence: Path, **client: str) -> None:
    """Give the client of a report and its evidence another name."""
    made = json.loads(report.read_bytes())
    made["runs"][0]["client"].update(client)
    report.write_text(json.dumps(made))
    record = json.loads((evidence / "scenario.json").read_bytes())
    record["client"].update(client)
    (evidence / "scenario.json").write_text(json.dumps(record))


@pytest.mark.parametrize("name", ["../../outside", "/outside", "..", "-rf", "a/b", "x" * 300])
def test_a_bundle_is_written_here_whatever_its_client_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    here = tmp_path / "a" / "here"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    report = ran(tmp_path / "from", FAILURE)
    renamed(report, tmp_path / "from/out/go" / SCENARIO, name=name)
    before = {*tmp_path.rglob("*")}
    ended = xdspec("bundle", report, SCENARIO)
    assert ended.exit_code == 0, ended.output
    (place,) = here.iterdir()
    assert not place.name.startswith(("-", "."))
    assert all(path.is_relative_to(place) for path in {*tmp_path.rglob("*")} - before)


@pytest.mark.parametrize("version", ["/../../../outside", "/abs", "..", "a\0b", "\n", "x" * 300])
def test_resources_are_written_in_their_folder(tmp_path: Path, version: str) -> None:
    report = ran(tmp_path / "from", FAILURE)
    event = response(100.1, version, {"name": "n", "type_url": "t", "base64": "AAEC"})
    (tmp_path / "from/out/go" / SCENARIO / "transcript.jsonl").write_text(json.dumps(event))
    before = {*tmp_path.rglob("*")}
    ended = xdspec("bundle", report, SCENARIO, "-o", tmp_path / "b")
    assert ended.exit_code == 0, ended.output
    assert all(path.is_relative_to(tmp_path / "b") for path in {*tmp_path.rglob("*")} - before)
    assert len([*(tmp_path / "b/resources").iterdir()]) == 1


@pytest.mark.parametrize("name", ["stderr.log", BOOTSTRAP, "transcript.jsonl", "calls.jsonl"])
def test_no_link_of_evidence_is_followed(tmp_path: Path, name: str) -> None:
    report = ran(tmp_path / "from", FAILURE)
    (tmp_path / "secret").write_text(json.dumps({"secret": SECRET}))
    link = tmp_path / "from/out/go" / SCENARIO / name
    link.unlink(missing_ok=True)
    link.symlink_to(tmp_path / "secret")
    ended = xdspec("bundle", report, SCENARIO, "-o", tmp_path / "b")
    assert ended.exit_code == Exit.BAD_INPUT
    assert f"{name} cannot be read: it is a link" in ended.output
    assert not (tmp_path / "b").exists()
    assert xdspec("site", tmp_path / "site", report).exit_code == 0
    pages = "".join(path.read_text() for path in (tmp_path / "site").rglob("*.html"))
    assert SECRET not in pages


def test_a_folder_of_evidence_that_is_a_link_is_not_there(tmp_path: Path) -> None:
    report = ran(tmp_path / "from", FAILURE)
    folder = tmp_path / "from/out/go" / SCENARIO
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    ended = xdspec("bundle", report, SCENARIO, "-o", tmp_path / "b")
    assert (ended.exit_code, "is gone" in ended.output) == (Exit.BAD_INPUT, True)


def fifo(place: Path) -> None:
    place.unlink(missing_ok=True)
    os.mkfifo(place)


@pytest.mark.parametrize("make", [fifo, lambda place: (place.unlink(), place.mkdir())])
@pytest.mark.parametrize("name", [BOOTSTRAP, "calls.jsonl", "scenario.json"])
def test_evidence_that_is_no_file_is_told_of(
    tmp_path: Path, name: str, make: Callable[[Path], None]
) -> None:
    report = ran(tmp_path / "from", FAILURE)
    make(tmp_path / "from/out/go" / SCENARIO / name)
    ended = xdspec("bundle", report, SCENARIO, "-o", tmp_path / "b")
    assert ended.exit_code == Exit.BAD_INPUT, ended.output


def test_mangled_evidence_makes_a_bundle_or_a_sentence(tmp_path: Path) -> None:
    report = ran(tmp_path / "from", FAILURE)
    folder = tmp_path / "from/out/go" / SCENARIO
    good = {path.name: path.read_bytes() for path in folder.iterdir()}
    good[BOOTSTRAP] = json.dumps(
        {"xds_servers": [{"server_uri": ADDRESS}], "node": {"id": GO.name, "n": [1, 2.5, None]}}
    ).encode()
    wrong = []
    for seed in SEEDS:
        for name, content in good.items():
            chance = random.Random(f"bundle {name} {seed}")
            lines = content.splitlines() if name.endswith(".jsonl") else [content]
            place = chance.randrange(len(lines))
            lines[place] = mutated_json(lines[place], chance)
            (folder / name).write_bytes(b"\n".join(lines))
            ended = xdspec("bundle", report, SCENARIO, "-o", tmp_path / f"{name} {seed}")
            if ended.exit_code not in {0, Exit.BAD_INPUT} or "Traceback" in ended.output:
                wrong.append(f"{name} {seed}: {ended.exit_code} {ended.output[-300:]}")
            (folder / name).write_bytes(content)
    assert not wrong


def test_a_mangled_bundle_is_one_sentence(tmp_path: Path, runs: list[tuple[str, ...]]) -> None:
    place = written(tmp_path)
    good = (place / FILE).read_bytes()
    wrong = []
    for seed in SEEDS:
        (place / FILE).write_bytes(mutated_json(good, random.Random(f"replay {seed}")))
        ended = xdspec("replay", place, "--yes")
        if ended.exit_code not in {Exit.INTERRUPTED, Exit.BAD_INPUT}:
            wrong.append(f"{seed}: {ended.exit_code} {ended.output[-300:]}")
    assert not wrong
    assert {name.partition("@")[0] for (name,) in runs} <= {"go"}
