"""Whatever a user names as a file is read at once, or refused in one sentence."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from click.testing import CliRunner

from conformance.cli import commands
from conformance.cli.sharding import given
from conformance.runner.selection import Selection
from tests.conformance.reporting.test_bundle import FAILURE, ran

from .mutations import SEEDS
from .test_mutated_files import FORESEEN, toml_values

SECRET = "1234"


def fifo(place: Path) -> None:
    os.mkfifo(place)


ODD: Final[Mapping[str, Callable[[Path], Any]]] = {
    "a FIFO": fifo,
    "/dev/full": lambda place: place.symlink_to("/dev/full"),
    "/dev/zero": lambda place: place.symlink_to("/dev/zero"),
    "bytes": lambda place: place.write_bytes(b"a = 1\n\xff\xfe"),
    "a folder": Path.mkdir,
    "a loop": lambda place: place.symlink_to(place),
    "a large one": lambda place: os.truncate(os.open(place, os.O_CREAT | os.O_RDWR), 1 << 40),
}

COMMANDS = (
    ("baseline", "update", "ODD", "REPORT"),
    ("baseline", "update", "new.toml", "REPORT", "--over", "ODD"),
    ("baseline", "update", "new.toml", "ODD"),
    ("summary", "ODD"),
    ("badge", "ODD"),
    ("diff", "ODD", "REPORT"),
    ("diff", "REPORT", "ODD"),
    ("merge", "out.json", "ODD"),
    ("site", "site", "ODD"),
    ("bundle", "ODD", "ring.search"),
    ("replay", "ODD", "--yes"),
    ("judge", "ODD"),
    ("show", "ODD"),
    ("run", "reference", "--scenario", "ring.search", "--baseline", "ODD"),
    ("run", "reference", "--shard", "1/2", "--seed", "1", "--json", "j", "--durations", "ODD"),
    ("run", "ODD"),
    ("doctor", "ODD"),
)


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_an_odd_file_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: str, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    report = ran(tmp_path / "from", FAILURE)
    ODD[odd](tmp_path / "odd")
    places = {"ODD": str(tmp_path / "odd"), "REPORT": str(report)}
    ended = CliRunner().invoke(commands.main, [places.get(word, word) for word in words])
    assert ended.exit_code == 4, ended.output
    assert "Traceback" not in ended.output
    assert len(ended.output.strip().splitlines()) <= 4


def test_mutated_baselines_are_updated_or_refused(tmp_path: Path) -> None:
    report = ran(tmp_path / "from", FAILURE)
    shipped = sorted(
        Path(commands.__file__).parents[2].glob("client_under_test/adapters/*/expected.toml")
    )
    good = [path.read_bytes() for path in shipped if path.stat().st_size]
    file = tmp_path / "expected.toml"
    wrong = []
    for seed in SEEDS:
        chance = random.Random(f"update {seed}")
        file.write_bytes(toml_values(chance.choice(good), chance))
        for words in (("update", "--check"), ("count",)):
            ended = CliRunner().invoke(
                commands.main, ["baseline", words[0], str(file), str(report), *words[1:]]
            )
            if ended.exit_code not in FORESEEN or "Traceback" in ended.output:
                wrong.append(f"{seed} {words}: {ended.exit_code} {ended.output[-300:]}")
    assert not wrong


def test_no_value_of_env_is_in_a_shard_or_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDSPEC_SOAK", raising=False)
    said = [
        given(
            Selection(), fast=False, strict=False, environment={"TOKEN": value, "B": "2"}, wrap=()
        )
        for value in (SECRET, "another")
    ]
    assert said[0] == said[1], "no digest of a value"
    assert said[0].environment == "B, TOKEN"
    assert SECRET.encode() not in msgspec.json.encode(said[0])
