"""Words in Markdown."""

from __future__ import annotations

import re

_SIGNS = re.compile(r"[\\|<*`\[]|(?<!\w)_|_(?!\w)")
"""What Markdown or a cell of its tables takes for its own: _ too, but within a word."""


def escaped(words: str) -> str:
    """Words as they are, in one line, in a cell or elsewhere."""
    return _SIGNS.sub(r"\\\g<0>", " ".join(words.split()))
