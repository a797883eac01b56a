"""A run in four shards, as four machines would make it, and their report beside the whole's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from conformance.cli.commands import main
from conformance.cli.sharding import given
from conformance.reporting.report import is_shard
from conformance.reporting.shard_report import ShardInputs
from conformance.runner.selection import Selection

RELEASED = str(Path(__file__).parents[2] / "adapters" / "released@1.5.0")
SIZES = ("--scenario", "ring.size*", "--seed", "7", "--jobs", "1")


@pytest.mark.slow
async def test_four_shards_are_the_whole_run(xdspec: Any, tmp_path: Path) -> None:
    all_of_it = await xdspec.run("run", RELEASED, *SIZES)
    whole = all_of_it.folder / "r.json"
    paths, codes = [], []
    for number in range(1, 5):
        ended = await xdspec.run("run", RELEASED, *SIZES, "--shard", f"{number}/4")
        paths.append(str(ended.folder / "r.json"))
        codes.append(ended.code)
        assert f"part {number} of 4" in ended.out, ended.said
        assert len(ended.scenarios) < len(all_of_it.scenarios) / 2
    assert 1 in codes
    out = tmp_path / "merged.json"
    junit = ("--junit", str(tmp_path / "junit.xml"))
    ended = await xdspec.run("merge", *paths, "-o", str(out), *junit)
    assert ended.code == all_of_it.code == 1, ended.said
    compared = await xdspec.run("diff", "--exact", str(whole), str(out))
    assert compared.code == 0, compared.said
    merged = json.loads(out.read_text("utf-8"))
    (run,), (of_whole,) = merged["runs"], all_of_it.report["runs"]
    assert run["totals"] == of_whole["totals"]
    assert [scenario["id"] for scenario in run["scenarios"]] == [
        scenario["id"] for scenario in of_whole["scenarios"]
    ]
    assert run["part"] is None
    assert [source["part"] for source in merged["sources"]] == [1, 2, 3, 4]
    assert f'tests="{len(all_of_it.scenarios)}"' in (tmp_path / "junit.xml").read_text("utf-8")
    former = await xdspec.run("merge", str(out), *paths[1:])  # without -o
    assert former.code == 4
    assert former.err == "xdspec: part 1 of 4 is missing\n"
    lost = await xdspec.run("merge", *paths)
    assert lost.code == 4
    assert f"{paths[0]} is the report of a shard: name the output with -o" in lost.err
    assert is_shard(Path(paths[0])), "it is as it was"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--shard", "0/4", "--json", "x"), "'0/4' is not a shard such as 2/4"),
        (("--shard", "1/4", "--json", "x"), "--shard needs --seed"),
        (("--shard", "1/4", "--seed", "1"), "--shard needs --json"),
        (("--durations", "x.json"), "--durations balances shards"),
        (
            ("--shard", "1/4", "--seed", "1", "--json", "x", "--hold", *SIZES[:2]),
            "--hold and --shard exclude each other",
        ),
    ],
)
def test_what_is_no_shard_is_bad_input(
    words: tuple[str, ...], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = CliRunner().invoke(main, ["run", "reference", *words])
    assert ended.exit_code == 4
    assert told in ended.output


def test_nothing_of_a_shard_depends_on_a_value_of_env() -> None:
    """Else it could be guessed from the report, and compared with what was guessed."""

    def told(**environment: str) -> ShardInputs:
        return given(Selection(), fast=False, strict=False, environment=environment, wrap=())

    assert told(TOKEN="1234") == told(TOKEN="5678")
    assert told(TOKEN="1234") != told(OTHER="1234")
