"""A failure of a real client, from its report to a bundle, and seen again from that alone."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance.cli.bundles import bundle
from conformance.spec.catalogue import load

PINNED = "python@1.85.1"
SCENARIO = "header.pseudo_header[path]"


@pytest.mark.slow
async def test_a_bundle_shows_its_failure_and_no_other_clients(xdspec: Any, tmp_path: Path) -> None:
    ended = await xdspec.run("run", PINNED, "--scenario", SCENARIO)
    out = tmp_path / "b"
    bundle(ended.folder / "r.json", SCENARIO, load(), client=None, out=out)
    assert ":path" in (out / "resources/002-rds-1.json").read_text()
    assert "127.0.0.1" in (out / "bootstrap.json").read_text()
    for words, code, says in (
        (
            ("--yes",),
            0,
            "observed again, but for addresses and numbers\nthe failure of the bundle",
        ),
        (("reference", "--yes"), 1, "not shown again: then fail (edition), now pass\n"),
    ):
        process = await asyncio.create_subprocess_exec(
            sys.executable, out / "replay.py", *words, cwd=tmp_path, stdout=asyncio.subprocess.PIPE
        )
        said, _ = await process.communicate()
        assert (process.returncode, says in said.decode()) == (code, True), said.decode()
