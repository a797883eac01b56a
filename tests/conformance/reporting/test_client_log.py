"""The log of a client is quoted by its exception, bounded, and as data."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.reporting.client_log import LONGEST, exception_line, log_lines


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("one\nSEVERE: java.lang.ClassCastException: x\n\tat io.grpc.A\n", "SEVERE: java.lang.Cl"),
        ("one\n\ntwo\n", "two"),
        ("a\x1b[2J\n", "a\\x1b[2J"),
        ("::error::x\n", "\\::error::x"),
        ("x" * 999, f"{'x' * LONGEST}…"),
    ],
)
def test_a_log_is_quoted(tmp_path: Path, text: str, quoted: str) -> None:
    (tmp_path / "stderr-2.log").write_text(text, "utf-8")
    (tmp_path / "stderr.log").write_text("\n", "utf-8")
    (line,) = log_lines(str(tmp_path))
    assert line.startswith(f"{tmp_path}/stderr-2.log: {quoted}")


def test_no_log_is_no_line(tmp_path: Path) -> None:
    (tmp_path / "stderr.log").symlink_to(__file__)
    assert [[*log_lines(where)] for where in (None, str(tmp_path), "no/such/folder")] == [[]] * 3


def test_only_an_exception_names_a_cause(tmp_path: Path) -> None:
    (tmp_path / "stderr.log").write_text("one\n", "utf-8")
    assert (exception_line(None), exception_line(str(tmp_path))) == ("", "")
    (tmp_path / "stderr-2.log").write_text("panic: no cluster\ngoroutine 1\n", "utf-8")
    assert exception_line(str(tmp_path)) == "panic: no cluster"
