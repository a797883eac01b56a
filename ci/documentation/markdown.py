"""Text, tables and links of generated Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

_CLAUSE = re.compile(r"A\d+-[A-Z]+-\d+\b")
_CODE = re.compile(r"(`+)(?:(?!\1).)+?\1(?!`)", re.DOTALL)


def escaped(text: str, link: Callable[[str], str] | None = None) -> str:
    """Return plain text as Markdown that shows it, with its `code` kept.

    Args:
        text: from a docstring or a row.
        link: returns what to put in the place of a clause id.
    """
    pieces, last = [], 0
    for found in _CODE.finditer(text):
        pieces += [_plain(text[last : found.start()], link), found[0]]
        last = found.end()
    return "".join([*pieces, _plain(text[last:], link)])


def _plain(text: str, link: Callable[[str], str] | None) -> str:
    text = re.sub(r"([\\*_\[\]<>#|])", r"\\\1", text)
    return _CLAUSE.sub(lambda found: link(found[0]), text) if link else text


def cell(text: str) -> str:
    """Return text as it may stand in a table."""
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split()))


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a table; a head that ends with ":" is of numbers and aligned right."""
    names = tuple(name.removesuffix(":") for name in head)
    rules = tuple("---:" if name.endswith(":") else "---" for name in head)
    return "\n".join(f"| {' | '.join(line)} |" for line in (names, rules, *rows)) + "\n"
