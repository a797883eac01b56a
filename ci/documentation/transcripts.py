"""Run the commands whose output pages show, and record it there: `ci/docs --transcripts`.

A block is between `<!-- begin transcript: COMMAND -->` and `<!-- end transcript -->`. Long lines
are cut off, except for commands. A command that begins with `./xdspec` runs in the checkout, any
other in a new folder.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]

_PART = re.compile(
    r"^(<!-- begin transcript: ([^\n]+) -->\n).*?^(<!-- end transcript -->)$",
    re.MULTILINE | re.DOTALL,
)
_WIDTH = 110
_ABOUT_THIS_MACHINE = ("using the cached build", "unchanged")
"""What lines begin with that a reader on another machine does not see."""
_CACHED = re.compile(r"; in the cache: [\w., ]+$", re.MULTILINE)
"""The end of a line that is about this machine."""
_ALLOWED = 900.0
"""Seconds for a command: it may build a client first."""


def record(pages: Iterable[Path]) -> list[Path]:
    """Run every command, and return the pages that have changed."""
    changed = []
    for page in pages:
        text = page.read_text("utf-8")
        if (new := _PART.sub(_recorded, text)) != text:
            page.write_text(new, "utf-8")
            changed.append(page)
    return changed


def _recorded(found: re.Match[str]) -> str:
    print(f"running {found[2]}", flush=True)
    path = f"{ROOT}{os.pathsep}{os.environ['PATH']}"
    with tempfile.TemporaryDirectory() as new:
        ended = subprocess.run(
            ["sh", "-c", found[2]],
            cwd=ROOT if found[2].startswith("./xdspec ") else new,
            env={**os.environ, "PATH": path, "NO_COLOR": "1", "COLUMNS": str(_WIDTH)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
            timeout=_ALLOWED,
        )
    output = _CACHED.sub("", ended.stdout.replace(f"{ROOT}/", "").strip("\n"))
    printed = (line for line in output.splitlines() if not line.startswith(_ABOUT_THIS_MACHINE))
    lines = (_cut(line) for line in (f"$ {found[2]}", *printed))
    return f"{found[1]}\n```console\n" + "\n".join(lines) + f"\n```\n\n{found[3]}"


_COMMAND = re.compile(
    r"\$ |(?:repeat |evidence |For a client in your own debugger:|Did your change).*xdspec "
)


def _cut(line: str) -> str:
    """Cut a long line, unless it has a command, which a reader may copy."""
    line = line.rstrip()
    if _COMMAND.match(line.lstrip()):
        return line
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 2].rstrip()} …"
