"""Read the pages of the documentation: fenced blocks with the comments above them, and code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]

PAGES = sorted(
    {
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "SECURITY.md",
        *(ROOT / "docs").glob("*.md"),
        *ROOT.glob("conformance/*/*.md"),
        *ROOT.glob("client_under_test/**/*.md"),
    }
)

_COMMENT = re.compile(r"<!-- *(.*?) *-->")


@dataclass(frozen=True)
class Fence:
    """A fenced block.

    Attributes:
        line: of its opening fence, from 1.
        language: the first word after the fence.
        text: its content.
        notes: the HTML comments directly above it.
    """

    line: int
    language: str
    text: str
    notes: tuple[str, ...]


def fences(text: str) -> Iterator[Fence]:
    """Yield every fenced block of a page."""
    notes: list[str] = []
    for token in MarkdownIt().parse(text):
        if token.type == "html_block":
            notes += _COMMENT.findall(token.content)
        elif token.type == "fence":
            assert token.map is not None
            language = (token.info.split() or [""])[0]
            yield Fence(token.map[0] + 1, language, token.content, tuple(notes))
            notes = []
        elif token.type != "html_inline":
            notes = []


def code_spans(text: str) -> Iterator[str]:
    """Yield every piece of code within the prose of a page."""
    for token in MarkdownIt().enable("table").parse(text):
        for child in token.children or ():
            if child.type == "code_inline":
                yield child.content


def links(text: str) -> Iterator[str]:
    """Yield the target of every link and picture of a page."""
    for token in MarkdownIt().enable("table").parse(text):
        for child in token.children or ():
            if child.type in {"link_open", "image"}:
                yield str(child.attrs.get("href") or child.attrs.get("src"))
