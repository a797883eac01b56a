"""Run the commands whose output pages show, and record it there: `ci/docs --transcripts`.

A block stands between `<!-- begin transcript: COMMAND -->` and `<!-- end transcript -->`. Long
lines are cut off, but for commands.
"""

from __future__ import annotations

import os
import re
import subprocess
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
    ended = subprocess.run(
        ["sh", "-c", found[2]],
        cwd=ROOT,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": str(_WIDTH)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
        timeout=_ALLOWED,
    )
    output = ended.stdout.replace(f"{ROOT}/", "").strip("\n")
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
