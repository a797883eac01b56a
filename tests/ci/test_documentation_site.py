"""The documentation as it is built: nothing from elsewhere, and good to read, also by keyboard."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import html5lib
import pytest

if TYPE_CHECKING:
    from tests.chromium import Browser

ROOT = Path(__file__).parents[2]

if not (ROOT / "ci" / "documentation").is_dir():
    pytest.skip("needs a checkout", allow_module_level=True)

from ci.documentation.build import build  # noqa: E402

pytestmark = pytest.mark.slow

DEADLINE = 900.0
"""Of all pages, on a machine that is busy with other tests."""

LOADED = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "object": "data",
    "link": "href",
}
"""Elements that have a browser fetch what they name."""

PAGES = (
    "docs/index.html",
    "docs/getting-started.html",
    "docs/oracles.html",
    "docs/compliance/go.html",
    "search.html",
)
"""One of each kind."""


@pytest.fixture(scope="module")
def documentation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documentation") / "made"
    ended = subprocess.run(
        [ROOT / "ci" / "docs", folder],
        check=False,
        capture_output=True,
        encoding="utf-8",
        timeout=DEADLINE,
        env={**os.environ, "XDSPEC_VENV": sys.prefix},
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout == f"{folder / 'index.html'}\n"
    return folder


@pytest.fixture(scope="module")
def trees(documentation: Path) -> dict[Path, Any]:
    parser = html5lib.HTMLParser(namespaceHTMLElements=False)
    found = sorted(documentation.rglob("*.html"))
    return {path: parser.parse(path.read_text("utf-8")) for path in found}


def test_nothing_is_fetched_from_elsewhere(documentation: Path, trees: dict[Path, Any]) -> None:
    assert len(trees) > 30
    for path, tree in trees.items():
        for element in tree.iter():
            target = element.get(LOADED.get(element.tag, ""), "")
            assert not re.match("[a-z]+:|//", target), f"{path.name}: {element.tag} {target}"
    for style in documentation.rglob("*.css"):
        text = style.read_text("utf-8")
        assert not re.search(r"""(url\(|@import)\s*["']?(https?:)?//""", text), style


def test_every_link_leads_somewhere(documentation: Path, trees: dict[Path, Any]) -> None:
    ids = {path: {element.get("id") for element in tree.iter()} for path, tree in trees.items()}
    for path, tree in trees.items():
        for link in tree.iter("a"):
            target, _, place = link.get("href", "").partition("#")
            if re.match("[a-z]+:", target):
                assert target.startswith(("https://", "http://")), target
                continue
            there = (path.parent / unquote(target)).resolve() if target else path.resolve()
            there = there / "index.html" if there.is_dir() else there
            assert there.is_file(), f"{path.name}: {link.get('href')}"
            if place and there in ids:
                assert unquote(place) in ids[there], f"{path.name}: {link.get('href')}"


BROKEN = {
    "[gone](#nowhere)": "nowhere",
    "[gone](other.md#elsewhere)": "elsewhere",
    "[gone](gone.md)": "gone.md",
    "![picture](picture.png)": "picture.png",
    "#### Too deep": "Non-consecutive header level",
    "```{nonsense}\n```": "Unknown directive",
}
"""Markdown, and what is said of it."""


def test_what_is_broken_is_an_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "source"
    begin = "# Page\n\n```{toctree}\nother\n```\n\n"
    (source / "docs").mkdir(parents=True)
    (source / "docs/index.md").write_text(begin + "\n\n".join(BROKEN))
    (source / "docs/other.md").write_text("# Other\n")
    (source / "docs/alone.md").write_text("# Alone\n")
    assert build(tmp_path / "made", source) == 1
    said = capfd.readouterr().err
    assert [words for words in BROKEN.values() if words not in said] == []
    assert "alone.md: WARNING: document isn't included in any toctree" in said


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()
    command = [sys.executable, "-m", "ci.documentation.build", str(tmp_path)]
    ended = subprocess.run(command, check=False, capture_output=True, encoding="utf-8", cwd=ROOT)
    assert ended.returncode == 4
    assert "is not empty and holds no documentation of this suite" in ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


# In a browser.


FAINT = """
(() => {
  const parts = (said) => (said.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((x) => x / 255)
    .map((x) => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4)
    .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
  const over = ([r, g, b, a = 1], back) => [r, g, b].map((x, i) => a * x + (1 - a) * back[i]);
  const behind = (one) => {
    const layers = [];
    for (let at = one; at; at = at.parentElement) {
      const said = parts(getComputedStyle(at).backgroundColor);
      if (said.length === 3 || said[3] > 0) layers.unshift(said);
    }
    return layers.reduce((back, layer) => over(layer, back), [255, 255, 255]);
  };
  const found = new Set();
  for (const one of document.body.querySelectorAll('*')) {
    const says = [...one.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!says || !one.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
    const style = getComputedStyle(one), back = behind(one);
    const size = parseFloat(style.fontSize), bold = Number(style.fontWeight) >= 700;
    const least = size >= 24 || (bold && size >= 18.66) ? 3 : 4.5;
    const [high, low] = [light(over(parts(style.color), back)), light(back)].sort((a, b) => b - a);
    if ((high + 0.05) / (low + 0.05) < least)
      found.add(one.tagName + '.' + one.className + ' ' + one.textContent.trim().slice(0, 30));
  }
  return [...found];
})()
"""
"""What can hardly be read: text whose contrast is below that of WCAG 2, AA."""

FOCUSED = """
(() => {
  const one = document.activeElement, style = getComputedStyle(one);
  return [one.getAttribute('href') || one.name || one.className || one.tagName,
    style.outlineStyle !== 'none' || style.boxShadow !== 'none'];
})()
"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_can_be_read_on_a_phone_and_a_desk(
    browser: Browser, documentation: Path, page: str, theme: str
) -> None:
    for width in (390, 1280):
        browser.open(documentation / page, width=width, theme=theme)
        assert browser.of("document.documentElement.scrollWidth") <= width
        assert browser.of(FAINT) == []
    back = browser.of("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", back)[:3])) > 384) is (theme == "light")


def test_faint_words_are_found(browser: Browser, documentation: Path) -> None:
    browser.open(documentation / "docs/glossary.html")
    browser.of("document.querySelector('article p').style.color = '#999'")
    (found,) = browser.of(FAINT)
    assert found.startswith("P. For readers of reports")


def test_the_keyboard_reaches_search_navigation_and_text(
    browser: Browser, documentation: Path
) -> None:
    browser.open(documentation / "docs/index.html")
    met = []
    for _ in range(60):
        browser.press("Tab")
        met.append(browser.of(FOCUSED))
    names = {name for name, _ in met}
    assert {"q", "glossary.html", "../client_under_test/adapters/interop/README.html"} <= names
    assert all(is_seen for name, is_seen in met if name != "BODY"), met


def test_the_search_works_from_a_file_and_asks_nobody(
    browser: Browser, documentation: Path
) -> None:
    browser.listen()
    browser.open(documentation / "search.html", "?q=container")
    ready = (
        "new Promise((done) => { const look = () => document.querySelector('#search-results li')"
    )
    ready += " ? done(true) : requestAnimationFrame(look); look(); })"
    assert browser.of(ready)
    assert "A client in a container" in browser.of("document.body.innerText")
    assert browser.asked_for
    assert {url.partition(":")[0] for url in browser.asked_for} <= {"file", "data", "about"}
