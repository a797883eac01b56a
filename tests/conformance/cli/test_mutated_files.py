"""Whatever is wrong with a file that the command reads, it says so in one sentence.

Resources are in `tests/fake_control_plane/test_files.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from client_under_test.contract.exceptions import NotStarted
from client_under_test.environments import Prepared
from client_under_test.launching.process import ClientProcess
from client_under_test.manifests.clients import BUILT_IN
from client_under_test.reference.editions.behavior import MUTANT_VARIABLE
from conformance.cli import commands, run_clients
from conformance.runner.collection import scenarios

from .mutations import SEEDS, mutated, mutated_json

SCENARIOS: tuple[str, ...] = (
    "cluster.environment_guard",
    "cluster.sizes[[]no-config]",
    "header.empty_value",
)
SCENARIOS += ("ring.size[[]by-weight]", "load_report.drops", "aggregated_state.one_ready")
BROKEN = f"{MUTANT_VARIABLE}=conformance.mutation.mutants.ring_hash.ring:weights_ignored"
FORESEEN = {0, 1, 4, 5, 6}
"""Exit codes: 3 would be trouble of the suite, and so what nobody foresaw."""

WEIGHED_ANEW = "These verdicts differ from those of the run"
"""Of evidence in which other things were seen: it may have no verdict of a clause, which is 3."""


def at_a_loss(seed: int, *words: str) -> Iterator[str]:
    """What the command says to these words, if it is not what it should say to anything."""
    ended = CliRunner().invoke(commands.main, words)
    said = ended.output
    foreseen = ended.exit_code in FORESEEN or WEIGHED_ANEW in said
    if not foreseen or "Traceback" in said or "\x1b" in said:
        yield f"{seed}: {words[0]} ends with {ended.exit_code}: {said[-400:]}"


@pytest.fixture(scope="module")
async def kept(xdspec: Any) -> Any:
    """A run with all evidence: of what fails and of what is left open, too."""
    named = [word for name in SCENARIOS for word in ("--scenario", name)]
    words = [*named, "--env", BROKEN, "--keep-evidence", "--fast", "--seed", "1"]
    return await xdspec.run("run", "reference", *words)


def test_reports(kept: Any, tmp_path: Path) -> None:
    good = kept.folder / "r.json"
    path = tmp_path / "r.json"
    wrong: list[str] = []
    for seed in SEEDS:
        path.write_bytes(mutated_json(good.read_bytes(), random.Random(f"report {seed}")))
        wrong += at_a_loss(seed, "summary", str(path))
        wrong += at_a_loss(seed, "site", str(tmp_path / "site"), str(path))
        wrong += at_a_loss(seed, "diff", str(good), str(path))
        wrong += at_a_loss(seed, "diff", str(path), str(good))
    assert not wrong


def test_evidence(kept: Any, tmp_path: Path) -> None:
    folders = sorted((kept.evidence / "reference").iterdir())
    wrong: list[str] = []
    for seed in SEEDS:
        chance = random.Random(f"evidence {seed}")
        content = (chance.choice(folders) / "scenario.json").read_bytes()
        (tmp_path / "scenario.json").write_bytes(mutated_json(content, chance))
        wrong += at_a_loss(seed, "judge", str(tmp_path))
        wrong += at_a_loss(seed, "show", str(tmp_path), "--html", str(tmp_path / "page.html"))
    assert not wrong


def test_files_for_people(kept: Any, tmp_path: Path) -> None:
    names = ("transcript", "calls", "attempts", "rpcs", "states", "load", "gates", "suite")
    folders = sorted((kept.evidence / "reference").iterdir())
    wrong: list[str] = []
    for seed in SEEDS:
        chance = random.Random(f"files {seed}")
        folder = chance.choice(folders)
        for name in ("scenario.json", *(f"{name}.jsonl" for name in names)):
            (tmp_path / name).write_bytes((folder / name).read_bytes())
        spoiled = tmp_path / f"{chance.choice(names)}.jsonl"
        lines = spoiled.read_bytes().splitlines() or [b'{"at": 1}']
        place = chance.randrange(len(lines))
        lines[place] = mutated_json(lines[place], chance)
        spoiled.write_bytes(b"\n".join(lines))
        wrong += at_a_loss(seed, "show", str(tmp_path), "--trace", str(tmp_path / "trace.json"))
        wrong += at_a_loss(seed, "show", str(tmp_path), "--html", str(tmp_path / "page.html"))
        wrong += at_a_loss(seed, "show", str(tmp_path))
    assert not wrong


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No client is started, but what it would be started with is looked at as the system does."""

    async def start(prepared: Prepared, **_: Any) -> None:
        process = await asyncio.create_subprocess_exec(
            "true", *prepared.command, env=dict(prepared.environment)
        )
        await process.wait()
        raise NotStarted("it is not started", hello_said=False)

    there = scenarios()  # pytest collects them anew each time
    monkeypatch.setattr(run_clients, "scenarios", lambda: there)
    monkeypatch.setattr(commands, "forked", contextlib.nullcontext)  # no worker is wanted
    monkeypatch.setattr(ClientProcess, "start", start)
    monkeypatch.setenv("XDSPEC_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


MANIFEST = """
name = "some"
version = "1.2.3"
issues = "https://example.com/issues"
capabilities = ["metadata", "wait_for_ready"]

[start]
command = ["{python}", "-I", "{folder}/adapter.py"]
reads-late = ["A"]
cores = 0.5
environment = { SOME = "{a}" }

[knobs.ring_size_cap]
option = "grpc.cap"

[knobs.failover_timeout_ms]
environment = "FAILOVER"

[backoff]
initial = 1
multiplier = 1.6
longest = 120
jitter = 0.2

[[editions]]
versions = ">=1.0"
follows = ["A42"]
evidence = { at = "https://example.com/1", says = "so", since = "1.0" }

[[ring-key-formats]]
versions = "<2"
format = "ip:port_i"

[[choices]]
clause = "A42-HDR-05"
choice = "joined by commas"

[variants.more]
environment = { MORE = "1" }
follows-also = ["A61"]
"""


ODD = (
    *(b"1e-320", b"nan", b"inf", b"-1", b"9" * 30, b"2021-02-30", b"true"),
    *(b'""', b'"{"', b'"}{"', b'"\\u0000"', b'"A=B"', b'"\\u001b[31m"', b'"../../x"'),
    *(b'">=' + b"9" * 25 + b'"', b'"' + b"9" * 20 + b'"', b'"' + b"x" * 100_000 + b'"'),
    *(
        b"[]",
        b"[[[]]]",
        b"{}",
        b'{"A=B" = "c"}',
        b'{"" = "c"}',
        b'["{}"]',
        b'["{0}", "{python!r}"]',
    ),
)


def toml_values(content: bytes, chance: random.Random) -> bytes:
    """The same with something wrong in its bytes, or with another value on some lines."""
    lines = content.split(b"\n")
    if chance.randrange(3):
        assigned = [number for number, line in enumerate(lines) if b" = " in line]
        for number in chance.sample(assigned, chance.choice([1, 1, 2])):
            lines[number] = lines[number].split(b" = ")[0] + b" = " + chance.choice(ODD)
        return b"\n".join(lines)
    return mutated(content, chance)


@pytest.mark.usefixtures("starts")
@pytest.mark.parametrize("command", ["run", "doctor"])
def test_manifests(tmp_path: Path, command: str) -> None:
    shipped = [path.read_bytes() for path in sorted(BUILT_IN.glob("*/client.toml"))]
    folder = tmp_path / "client"
    folder.mkdir()
    wrong: list[str] = []
    for seed in SEEDS:
        chance = random.Random(f"manifest {seed}")
        content = MANIFEST.encode() if seed % 2 else chance.choice(shipped)
        content = content.replace(b"[python]", b"[[python]]").replace(b"[build]", b"[[build]]")
        (folder / "client.toml").write_bytes(toml_values(content, chance))
        wrong += at_a_loss(
            seed, command, f"{folder}+more" if chance.randrange(3) == 0 else str(folder)
        )
    assert not wrong


@pytest.mark.usefixtures("starts")
def test_baselines(tmp_path: Path) -> None:
    shipped = [path for path in sorted(BUILT_IN.glob("*/expected.toml")) if path.stat().st_size]
    folder = tmp_path / "client"
    folder.mkdir()
    (folder / "client.toml").write_text(MANIFEST, "utf-8")
    wrong: list[str] = []
    for seed in SEEDS:
        chance = random.Random(f"baseline {seed}")
        content = toml_values(chance.choice(shipped).read_bytes(), chance)
        (folder / "expected.toml").write_bytes(content)
        wrong += at_a_loss(seed, "run", str(folder))
    assert not wrong
