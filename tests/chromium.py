"""A real browser for tests of pages.

Chromium is steered through a pair of pipes, as its own tools do: no driver, no port.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)

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
        self.asked_for: list[str] = []
        """The addresses that pages have asked for since `listen`."""
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
            if answer.get("method") == "Network.requestWillBeSent":
                self.asked_for.append(answer["params"]["request"]["url"])
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

    def listen(self) -> None:
        """Note from now on what pages ask for."""
        self.asked_for.clear()
        self.do("Network.enable")

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
