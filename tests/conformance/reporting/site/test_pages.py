"""The pages themselves: strict HTML, nothing from elsewhere, colours that can be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import html5lib
import pytest
from click.testing import CliRunner

from conformance.cli.commands import main
from conformance.reporting.report import write_json
from conformance.reporting.site.model import site
from conformance.reporting.site.pages import index, style
from conformance.reporting.site.writing import Occupied, write

from .sample_site import CATALOGUE, FAILED, NASTY, decision, go, left_behind, report, reports, run

MOST = 2_000_000
"""Bytes of the first page."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("site") / "made"
    assert write(site(reports(), CATALOGUE), made, CATALOGUE) == 4
    return made


def parsed(path: Path) -> Any:
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    return parser.parse(path.read_text("utf-8"))


def elements(tree: Any, *tags: str) -> Iterator[Any]:
    return (element for element in tree.iter() if element.tag in tags)


def test_every_page_is_html_and_every_link_leads_somewhere(folder: Path) -> None:
    pages = sorted(folder.rglob("*.html"))
    assert len(pages) == 1 + 4 + 4
    for page in pages:
        tree = parsed(page)
        for link in elements(tree, "a", "link"):
            target, _, place = link.get("href").partition("#")
            if target.startswith("https://"):
                assert target == "https://example.com/1"
                continue
            there = (page.parent / target).resolve()
            assert there.is_file(), f"{page.name}: {link.get('href')}"
            ids = {element.get("id") for element in parsed(there).iter()} if place else {place}
            assert place in ids


def test_nothing_of_a_client_is_more_than_text(folder: Path) -> None:
    for page in folder.rglob("*.html"):
        text = page.read_text("utf-8")
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e]", text), page
        scripts = list(elements(parsed(page), "script", "img", "iframe", "object", "embed"))
        assert [script.tag for script in scripts] == (
            ["script"] if page.name == "index.html" else []
        )
        assert "{{ 7 * 7 }}" in text or NASTY not in text


def test_tables_say_what_their_cells_are(folder: Path) -> None:
    for page in folder.rglob("*.html"):
        for table in elements(parsed(page), "table"):
            heads = list(elements(table, "th"))
            assert heads
            assert all(head.get("scope") for head in heads), page


@pytest.mark.slow
def test_the_first_page_is_small_enough_for_twelve_runs(tmp_path: Path) -> None:
    """All clauses, of twelve runs: nobody waits for a matrix on a phone."""
    said = [decision(clause.id, FAILED) for clause in CATALOGUE if not clause.unobservable]

    runs = [run(f"client-{n // 3}", f"1.{n}", *said) for n in range(12)]

    made = index(site([("a", report(*runs))], CATALOGUE))
    assert len(made.encode()) < MOST


# Colours.


def themes() -> dict[str, dict[str, str]]:
    """The variables of both themes."""
    light, dark = re.findall(r":root \{(.*?)\}", style(), re.DOTALL)
    return {
        name: dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", text))
        for name, text in (("light", light), ("dark", dark))
    }


def luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(color: str, other: str) -> float:
    high, low = sorted((luminance(color), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


WORDS = ("fail", "error", "pass", "seen", "skip", "known", "mark")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    ("front", "back", "least"),
    [
        *((f"{word}-fg", f"{word}-bg", 4.5) for word in WORDS),
        *((f"{word}-fg", "bg", 4.5) for word in WORDS),
        *((front, back, 4.5) for front in ("fg", "soft", "link") for back in ("bg", "panel")),
        *((mark, "bg", 3) for mark in ("good", "bad", "suite", "plain")),
    ],
)
def test_contrast(theme: str, front: str, back: str, least: float) -> None:
    colours = themes()[theme]
    assert contrast(colours[front], colours[back]) >= least


def test_both_themes_have_the_same_colours() -> None:
    light, dark = themes().values()
    assert light.keys() == dark.keys()
    used = set(re.findall(r"var\(--([\w-]+)\)", style()))
    assert used <= light.keys()


# Evidence.


@pytest.mark.parametrize(
    ("seed", "name", "told"),
    [
        (1, "ring.some[0]", "Timeline"),
        (2, "ring.some[0]", "has evidence of another run, with seed 2"),
        (1, "ring.other", "has evidence of something else: go 1.10.0, ring.other"),
    ],
)
def test_pictures_are_of_this_very_run(tmp_path: Path, seed: int, name: str, told: str) -> None:
    left = left_behind(tmp_path / "out" / "go" / "some", seed, name)
    made = report(go("1.10.0", FAILED, evidence="/gone/out/go/some"))
    write(site([(str(tmp_path / "r.json"), made)], CATALOGUE), tmp_path / "site", CATALOGUE)
    text = (tmp_path / "site/failure/go-1.10.0-A42-RING-05.html").read_text()
    assert left.is_dir()
    assert told in text


def test_evidence_that_is_broken_is_told_of(tmp_path: Path) -> None:
    left = left_behind(tmp_path / "some")
    (left / "calls.jsonl").write_text("{")
    made = report(go("1.10.0", FAILED, evidence=str(left)))
    assert write(site([("r.json", made)], CATALOGUE), tmp_path / "site", CATALOGUE) == 1
    text = (tmp_path / "site/failure/go-1.10.0-A42-RING-05.html").read_text()
    assert "calls.jsonl is broken in line 1" in text


# The folder, and the command.


def test_a_site_is_written_anew_and_nothing_else_is_touched(tmp_path: Path) -> None:
    first = site([("r", report(go("1", FAILED)))], CATALOGUE)
    write(first, tmp_path / "site", CATALOGUE)
    write(site([("r", report(go("2", FAILED)))], CATALOGUE), tmp_path / "site", CATALOGUE)
    names = {path.name for path in (tmp_path / "site/failure").iterdir()}
    assert names == {"go-2-A42-RING-05.html"}
    (tmp_path / "mine.txt").touch()
    with pytest.raises(Occupied, match="is not empty, and no site of this suite"):
        write(first, tmp_path, CATALOGUE)
    assert [path.name for path in tmp_path.glob("*.txt")] == ["mine.txt"]


@pytest.mark.parametrize("name", ["clause", "failure", "index.html", "style.css", "xdspec-site"])
def test_a_site_with_a_link_in_it_is_left_alone(tmp_path: Path, name: str) -> None:
    made = site([("r", report(go("1", FAILED)))], CATALOGUE)
    write(made, tmp_path / "site", CATALOGUE)
    elsewhere = tmp_path / "elsewhere"
    (tmp_path / "site" / name).rename(elsewhere)
    (tmp_path / "site" / name).symlink_to(elsewhere)
    before = {path: path.stat().st_mtime_ns for path in [elsewhere, *elsewhere.rglob("*")]}
    with pytest.raises(Occupied, match="is a link"):
        write(made, tmp_path / "site", CATALOGUE)
    assert {path: path.stat().st_mtime_ns for path in [elsewhere, *elsewhere.rglob("*")]} == before


def test_the_command(tmp_path: Path) -> None:
    for name, written in reports():
        write_json(written, tmp_path / name)
    names = [str(tmp_path / name) for name, _ in reports()]
    ended = CliRunner().invoke(main, ["site", str(tmp_path / "site"), *names])
    assert ended.exit_code == 0
    assert "4 clauses, 4 runs" in ended.output
    assert "4 of 4 failures are without pictures" in ended.output


@pytest.mark.parametrize(
    ("folder", "content", "words"),
    [
        ("site", b"{", "is not a report of this suite"),
        ("r.json", None, "cannot be written"),
        ("r.json/site", None, "cannot be written"),
    ],
)
def test_bad_input_is_told_in_a_sentence(
    tmp_path: Path, folder: str, content: bytes | None, words: str
) -> None:
    path = tmp_path / "r.json"
    write_json(report(go("1", FAILED)), path)
    if content is not None:
        path.write_bytes(content)
    ended = CliRunner().invoke(main, ["site", str(tmp_path / folder), str(path)])
    assert ended.exit_code in {3, 4}
    assert words in ended.output
    assert len(ended.output.splitlines()) == 1
