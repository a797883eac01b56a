"""A client whose manifest does not say how it names ring entries, as a user runs it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import client_under_test

REAL = Path(client_under_test.__file__).parent / "adapters"
STATED = re.compile(r"\[\[ring-key-formats\]\]\n(versions.*\n)?format = .*\n")
SEVERAL = (
    "--scenario",
    "ring.size[[]by-weight]",
    "--scenario",
    "picker.first_endpoint",
    "--jobs",
    "2",
)


def saying(folder: Path, said: str) -> str:
    """The reference client, with something else in the place of its ring keys."""
    manifest = (REAL / "reference" / "client.toml").read_text()
    assert STATED.search(manifest)
    (folder / "client.toml").write_text(STATED.sub(said, manifest))
    return str(folder)


async def test_what_is_not_stated_is_found_and_binds(tmp_path: Path, xdspec: Any) -> None:
    run = await xdspec.run("run", saying(tmp_path, ""), *SEVERAL, "--keep-evidence")
    assert run.code == 0, run.said
    keys = run.report["runs"][0]["ring_keys"]
    assert keys == {"format": "ip:port_i", "is_found": True, "note": "", "refusal": None}
    assert "(measured)" in run.out
    assert not (run.evidence / "reference" / "calibration").exists()
    folder = Path(run.scenarios["ring.size[by-weight]"]["evidence"])
    assert '"key_format": "{address}_{i}"' in (folder / "scenario.json").read_text()


async def test_what_is_unknown_is_judged_by_arcs(tmp_path: Path, xdspec: Any) -> None:
    unknown = '[[ring-key-formats]]\nformat = "unknown"\n'
    run = await xdspec.run("run", saying(tmp_path, unknown), *SEVERAL, "--keep-evidence")
    assert run.code == 0, run.said
    assert run.report["runs"][0]["ring_keys"]["note"] == "client.toml says so"
    folder = Path(run.scenarios["ring.size[by-weight]"]["evidence"])
    assert '"by_arcs": true' in (folder / "scenario.json").read_text()


async def test_what_is_stated_and_not_so_fails(tmp_path: Path, xdspec: Any) -> None:
    other = '[[ring-key-formats]]\nformat = "/ip:port_i"\n'
    words = ("--scenario", "ring.key_of_an_entry", "--jobs", "1")
    run = await xdspec.run("run", saying(tmp_path, other), *words)
    assert run.code == 1, run.said
    clause = run.clauses["A42-RING-03"]
    assert (clause["verdict"], clause["reason"]) == ("fail", "stated")
    assert "client.toml, [[ring-key-formats]]" in run.out


@pytest.mark.parametrize("fake", ["crasher", "refuser"])
async def test_a_calibration_that_ends_early_ends_no_run(fakes: Any, fake: str) -> None:
    run = await fakes[fake]()
    keys = run.report["runs"][0]["ring_keys"]
    assert keys["format"] is None
    assert keys["note"]
    assert len(run.scenarios) == 1
