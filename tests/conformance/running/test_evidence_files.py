from __future__ import annotations

from pathlib import Path

from conformance.judging.evidence import FILE
from conformance.running.evidence_files import forget_others


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
