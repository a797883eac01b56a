"""The site in a real browser: filters, keyboard, both themes, a phone. Skipped where there is none.

Chromium is steered through a pair of pipes, as its own tools do: no driver, no port.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.reporting.site.model import site
from conformance.reporting.site.writing import write

from .made import CATALOGUE, FAILED, go, left_behind, report, reports

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: see ci/browser"),
    pytest.mark.xdist_group("browser"),
]

DEADLINE = 120.0
"""Of each answer, on a loaded machine: a browser starts half a dozen processes."""

IN_THEIR_PLACES = """
import fcntl, os, sys
for place, given in ((3, sys.argv[1]), (4, sys.argv[2])):
    sys.argv[place - 2] = fcntl.fcntl(int(given), fcntl.F_DUPFD, 10)
os.dup2(sys.argv[1], 3)
os.dup2(sys.argv[2], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """A Chromium without a window, and one page in it."""

    def __init__(self, profile: Path) -> None:
        to_read, self._out = os.pipe()
        self._in, to_write = os.pipe()
        words = [
            str(CHROMIUM),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
        ]
        words += ["--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"]
        # Chromium reads from descriptor 3 and writes to 4.
        self._process = subprocess.Popen(
            [sys.executable, "-c", IN_THEIR_PLACES, str(to_read), str(to_write), *words],
            pass_fds=(to_read, to_write),
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(to_read)
        os.close(to_write)
        self._said = b""
        self._count = 0
        self._session: str | None = None
        target = self.do("Target.createTarget", url="about:blank")["targetId"]
        attached = self.do("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        self.do("Page.enable")

    def do(self, method: str, **given: Any) -> dict[str, Any]:
        """Have it do something, and wait until it has."""
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": given}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                return dict(answer["result"])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._said:
            readable, _, _ = select.select([self._in], [], [], DEADLINE)
            assert readable, f"the browser says nothing for {DEADLINE:g} s"
            more = os.read(self._in, 65536)
            assert more, "the browser has ended"
            self._said += more
        line, _, self._said = self._said.partition(b"\0")
        return dict(json.loads(line))

    def open(self, path: Path, place: str = "", *, width: int = 1280, theme: str = "light") -> None:
        """Show a page, of this width and theme."""
        self.do(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=800,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": theme}
        self.do("Emulation.setEmulatedMedia", features=[scheme])
        self.do("Page.navigate", url="about:blank")
        self.do("Page.navigate", url=path.as_uri() + place)
        while True:
            if self.of("document.readyState === 'complete' && location.protocol === 'file:'"):
                return

    def of(self, expression: str) -> Any:
        """The value of an expression."""
        told = self.do(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    def press(self, key: str) -> None:
        """Press a key."""
        for kind in ("keyDown", "keyUp"):
            self.do("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=9)

    def close(self) -> None:
        """End it."""
        self._session = None
        try:
            self.do("Browser.close")
            self._process.wait(DEADLINE)
        finally:
            self._process.kill()
            self._process.wait()
            os.close(self._out)
            os.close(self._in)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    made = Browser(tmp_path_factory.mktemp("profile"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("site") / "made"
    drawn = left_behind(made.with_name("drawn"))
    more = ("c.json", report(go("1.10.0", FAILED, evidence=str(drawn))))
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


@pytest.mark.parametrize("page", PAGES)
def test_no_word_of_a_client_runs(browser: Browser, folder: Path, page: str) -> None:
    browser.open(folder / page)
    assert browser.of("document.querySelectorAll('img').length") == 0
