from __future__ import annotations

import os
from pathlib import Path

from conformance.judging.evidence import FILE
from conformance.runner.evidence_files import forget_others, keep_what_it_left


def test_evidence_of_what_runs_no_more_goes_and_nothing_else(tmp_path: Path) -> None:
    for name in ("ring.search", "ring.search-alone", "ring.of-old", "ring.of-old-alone"):
        (tmp_path / name).mkdir()
        (tmp_path / name / FILE).touch()
    (tmp_path / "notes of mine").mkdir()
    (tmp_path / "stderr.log").touch()
    forget_others(tmp_path, ["ring.search"])
    assert {path.name for path in tmp_path.iterdir()} == {
        "ring.search",
        "ring.search-alone",
        "notes of mine",
        "stderr.log",
    }
    forget_others(tmp_path / "not there", [])


def test_of_what_a_client_left_only_regular_files_are_kept(tmp_path: Path) -> None:
    ran, kept = tmp_path / "ran", tmp_path / "evidence" / "left"
    kept.parent.mkdir()
    (ran / "logs").mkdir(parents=True)
    (ran / "core").write_text("core")
    (ran / "logs" / "some\n::error::").symlink_to("/etc/passwd")
    (ran / "etc").symlink_to("/etc")
    os.mkfifo(ran / "fifo")
    keep_what_it_left(ran, kept)
    assert sorted(str(path.relative_to(kept)) for path in kept.rglob("*")) == ["core", "logs"]
    lines = (kept.parent / "left-removed.txt").read_text().splitlines()
    assert lines[0] == "etc -> /etc"
    assert not any(line.startswith("::") for line in lines)
    keep_what_it_left(tmp_path / "gone", kept)
    assert not kept.exists()
    assert not (kept.parent / "left-removed.txt").exists()


def test_evidence_that_is_a_link_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / FILE).touch()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "ring.of-old").symlink_to(tmp_path / "mine")
    forget_others(tmp_path / "out", ["ring.search"])
    assert (tmp_path / "mine" / FILE).exists()
