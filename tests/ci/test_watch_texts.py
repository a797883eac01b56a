"""The list of gRFCs that are newer than the wordings of the catalogue."""

from __future__ import annotations

import datetime as dt
import subprocess
from pathlib import Path

import pytest

from ci import watch_texts
from ci.watch_texts import Text, amendments, catalogued, news

KNOWN = {"A42": dt.date(2023, 9, 7), "A61": dt.date(2025, 2, 14)}


def text(name: str, changed: str, content: str = "") -> Text:
    return Text(name, dt.date.fromisoformat(changed), "subject", content)


def listed(*texts: Text, since: str = "2000-01-01") -> list[str]:
    found = news(texts, KNOWN, dt.date.fromisoformat(since))
    return [" ".join((each.text.name, each.how, *each.concerns)) for each in found]


def test_the_date_of_a_text_is_that_of_its_newest_edition() -> None:
    known = catalogued(watch_texts.DOCUMENTS.read_text("utf-8"))
    assert known["A42"] == dt.date(2023, 9, 7)
    assert known["A61"] == dt.date(2025, 3, 6)  # A61-DNS
    assert "envoy" not in known


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([text("A42", "2023-09-07")], []),
        ([text("A42", "2023-09-08")], ["A42 changed"]),
        ([text("A117", "2026-05-01", "* Updates: [A42][A42]\n")], ["A117 amends A42"]),
        ([text("A117", "2026-05-01", "as [A42] says")], ["A117 refers to A42"]),
        ([text("A117", "2026-05-01", "A4 and A421 and XA42")], []),
        ([text("A117", "2024-01-01", "see [A42] and [A61]")], ["A117 refers to A42"]),
        (
            [
                text("A42", "2023-01-01", "* Updated by: [A9: X](A9-x.md)\n"),
                text("A9", "2024-01-01"),
            ],
            ["A9 amends A42"],
        ),
        (
            [
                text("A42", "2023-01-01", "* Updated by: [A8: X](A8-x.md),\n  [A9: Y](A9-y.md)\n"),
                text("A9", "2024-01-01", "[A61]"),
                text("A8", "2023-01-01"),
            ],
            ["A9 amends A42"],
        ),
    ],
)
def test_what_is_newer_than_the_catalogue(texts: list[Text], expected: list[str]) -> None:
    assert listed(*texts) == expected


def test_amendments_come_before_mentions_and_old_ones_can_be_left_out() -> None:
    texts = (
        text("A116", "2026-01-01", "[A42]"),
        text("A117", "2026-05-01", "* Updates: A42\n"),
        text("A61", "2025-06-01"),
    )
    assert listed(*texts) == ["A117 amends A42", "A61 changed", "A116 refers to A42"]
    assert listed(*texts, since="2026-02-01") == ["A117 amends A42"]


def test_a_head_may_name_several() -> None:
    head = "* Status: Draft\n* Updated by: [gRFC A115][A115])\n* Discussion at: A9\n"
    assert list(amendments(text("A56", "2025-01-01", head))) == [("A115", "A56")] * 2


def test_a_checkout_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def git(*words: str) -> None:
        author = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        subprocess.run(["git", *author, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q")
    (tmp_path / "A117-ring-hash.md").write_text("* Updates: [A42](A42.md)\n", "utf-8")
    (tmp_path / "README.md").write_text("A42", "utf-8")
    git("add", ".")
    git("commit", "-q", "-m", "A117: ring_hash that leaves IDLE")
    assert watch_texts.main([str(tmp_path)]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.endswith("A117  amends A42: A117: ring_hash that leaves IDLE")
    assert watch_texts.main([str(tmp_path), "--since", "2999-01-01"]) == 0


def test_another_folder_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert watch_texts.main([str(tmp_path / "none")]) == 2
    assert "none is no checkout of grpc/proposal" in capsys.readouterr().err
