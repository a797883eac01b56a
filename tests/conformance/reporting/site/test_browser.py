"""The site in a real browser, where there is one: filters, keyboard, both themes, a phone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conformance.reporting.site.model import site
from conformance.reporting.site.writing import write

from .sample_site import CATALOGUE, FAILED, go, left_behind, report, reports

if TYPE_CHECKING:
    from tests.chromium import Browser

pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("site") / "made"
    drawn = left_behind(made.with_name("drawn"))
    said = ("it said more than a phone shows in one line, " * 4,)
    more = ("c.json", report(go("1.10.0", FAILED, evidence=str(drawn), troubles=said)))
    write(site([*reports(), more], CATALOGUE), made, CATALOGUE)
    return made


HEADS = "#matrix tbody tr:not(.section):not([hidden]) th"
ROWS = f"[...document.querySelectorAll('{HEADS}')].map(one => one.textContent)"
CHOOSE = """
const field = document.getElementById('f-verdict');
field.value = 'known';
field.dispatchEvent(new Event('input', {bubbles: true}));
"""
FOCUSED = """
(() => {
  const one = document.activeElement;
  const name = one.id || one.getAttribute('href') || one.className || one.value || one.tagName;
  return [name, getComputedStyle(one).outlineStyle];
})()
"""


@pytest.mark.parametrize(
    ("place", "clauses"),
    [
        ("", ["A42-RING-03", "A42-RING-05", "A42-RING-07", "A61-SUB-01"]),
        ("#verdict=known", ["A42-RING-05"]),
        ("#verdict=blocked", ["A42-RING-07"]),
        ("#verdict=differ", ["A42-RING-05", "A42-RING-07"]),
        ("#verdict=error&without=1", []),
        ("#strength=UNSPECIFIED", ["A42-RING-03"]),
        ("#document=A61", ["A61-SUB-01"]),
        ("#area=A42-RING&text=minimum", ["A42-RING-05"]),
        ("#verdict=%3Cimg%20src%3Dx%3E&nonsense", None),
    ],
)
def test_filters_stand_in_the_address(
    browser: Browser, folder: Path, place: str, clauses: list[str] | None
) -> None:
    browser.open(folder / "index.html", place)
    shown = browser.of(ROWS)
    assert shown == clauses or clauses is None
    assert browser.of("document.getElementById('count').textContent").endswith("of 4 clauses")


def test_a_filter_is_used_by_hand(browser: Browser, folder: Path) -> None:
    browser.open(folder / "index.html")
    browser.of(CHOOSE)
    assert browser.of(ROWS) == ["A42-RING-05"]
    assert browser.of("location.hash") == "#verdict=known"


def test_the_keyboard_reaches_filters_the_matrix_and_each_failure(
    browser: Browser, folder: Path
) -> None:
    browser.open(folder / "index.html")
    met = []
    for _ in range(40):
        browser.press("Tab")
        met.append(browser.of(FOCUSED))
    names = [name for name, _ in met]
    assert {"f-text", "f-verdict", "failure/go-1.10.0-A42-RING-05.html", "scroll matrix"} <= {
        *names
    }
    assert all(outline != "none" for name, outline in met if name != "BODY")


PAGES = (
    "index.html",
    "clause/A42-RING-05.html",
    "failure/go-1.10.0-A42-RING-05.html",
    "failure/go-1.10.0-2-A42-RING-05.html",
)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("page", PAGES)
def test_a_phone_scrolls_tables_and_no_page(
    browser: Browser, folder: Path, page: str, theme: str
) -> None:
    browser.open(folder / page, width=390, theme=theme)
    assert browser.of("document.documentElement.scrollWidth") <= 390
    back = browser.of("getComputedStyle(document.body).backgroundColor")
    assert back == ("rgb(255, 255, 255)" if theme == "light" else "rgb(15, 19, 24)")


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("index.html", ".aside"),
        ("failure/go-1.10.0-2-A42-RING-05.html", ".phases dt, .phases dd"),
        ("failure/go-1.10.0-2-A42-RING-05.html", ".pair .said"),
    ],
)
def test_sentences_are_read_on_a_phone_without_moving_them(
    browser: Browser, folder: Path, page: str, words: str
) -> None:
    browser.open(folder / page, width=390)
    several = browser.of(
        f"[...document.querySelectorAll('{words}')]"
        ".map(one => one.getBoundingClientRect()).map(one => [one.left, one.right])"
    )
    assert several
    assert all(0 <= left < right <= 390 for left, right in several)


@pytest.mark.parametrize("page", PAGES)
def test_no_word_of_a_client_runs(browser: Browser, folder: Path, page: str) -> None:
    browser.open(folder / page)
    assert browser.of("document.querySelectorAll('img').length") == 0
