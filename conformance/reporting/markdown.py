"""Escape untrusted text in Markdown, so that it is no HTML, link, image or mention.

Reports are pasted into trackers of GitHub and GitLab, and printed in their CI. There a mention
notifies a stranger, and a line that begins with `/` or `::` is a command.
"""

from __future__ import annotations

import re
from typing import Final

from conformance.runner.terminal_escape import defused, plain

_SIGNS: Final = re.compile(r"[\\|<*`\[&~$]|(?<!\w)_|_(?!\w)")
"""What Markdown or a cell of its tables takes for its own: _ too, but within a word."""

_FIRST: Final = re.compile(r"^(\d{0,9})(?=[>=#:/!]|[-+](?:[\s+-]|$)|(?<=\d)[.)](?:\s|$))")
"""What begins a list, a quotation, a heading, a rule, or a command of a CI or a tracker."""

_MENTION: Final = re.compile(r"(?<=[@#!%^&~$])(?=\w)|(?<=\bGH)(?=-\d)", re.IGNORECASE)
"""Where a person, an issue, a merge request, a label, a snippet or an alert is named."""

_JOINER: Final = "\N{ZERO WIDTH JOINER}"

_LINK: Final = re.compile(r"https?://[^\s<>\"'`\\|(){}\[\]^@]*[^\s<>\"'`\\|(){}\[\]^@.,;:!?]")


def escaped(words: str) -> str:
    """Return words as they are, in one line, in a cell or elsewhere; a link in them is one."""
    line = " ".join(plain(words).split())
    made, end = "", 0
    for found in _LINK.finditer(line):
        made += f"{_signs(line[end : found.start()])}<{found[0]}>"
        end = found.end()
    return _FIRST.sub(r"\1\\", made + _signs(line[end:]))


def _signs(words: str) -> str:
    return _MENTION.sub(_JOINER, _SIGNS.sub(r"\\\g<0>", words))


def code(words: str, *, in_cell: bool = False) -> str:
    """Return words as code, in one line; in a cell of a table a bar would end it."""
    line = defused(" ".join(plain(words).split())) or " "
    if in_cell:
        line = line.replace("|", "¦")
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    around = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{around}{line}{around}{fence}"


def link(url: str) -> str:
    """Return a link, if it is one of http or https; else its words."""
    return f"<{url}>" if _LINK.fullmatch(url) else escaped(url)


def fenced(words: str, kind: str = "text") -> tuple[str, str, str]:
    """Return words as a block of code, on their own lines."""
    inside = defused(plain(words))
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", inside)), default=0))
    return fence + kind, inside, fence
