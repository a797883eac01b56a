"""What of Markdown the documentation has to know: fences, headings, sections, links. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"^ {0,3}(```+)\s*(.*)$")
_HEADING = re.compile(r"^(#{1,6}) +(.+?) *$")
_LINK = re.compile(r"(?<!\\)(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^)\s]+)\)")
_CODE = re.compile(r"(`+)(?:(?!\1).)+?\1(?!`)", re.DOTALL)
_CLAUSE = re.compile(r"A\d+-[A-Z]+-\d+\b")
_COMMENT = re.compile(r"^<!-- *(.*?) *-->$")


@dataclass(frozen=True)
class Fence:
    """A fenced block.

    Attributes:
        line: of its first fence, from 1.
        language: the first word behind the fence; empty if there is none.
        text: what is in it, with a newline at the end.
        said: the HTML comments right above it, first to last.
    """

    line: int
    language: str
    text: str
    said: tuple[str, ...]


@dataclass(frozen=True)
class Heading:
    """A heading: its line from 1, how deep it is, its words, and what links to it name."""

    line: int
    level: int
    words: str
    slug: str


def marked(text: str) -> Iterator[tuple[int, str, bool]]:
    """Each line with its number from 1, and whether it belongs to a fenced block."""
    until = ""
    for number, line in enumerate(text.splitlines(), 1):
        fence = _FENCE.match(line)
        if until:
            yield number, line, True
            if fence and fence[1] == until and not fence[2]:
                until = ""
            continue
        until = fence[1] if fence else ""
        yield number, line, bool(fence)


def fences(text: str) -> Iterator[Fence]:
    """Every fenced block."""
    said: list[str] = []
    begun: tuple[int, str, str] | None = None
    inside: list[str] = []
    for number, line, is_fenced in marked(text):
        fence = _FENCE.match(line)
        if not is_fenced:
            comment = _COMMENT.match(line.strip())
            said = [*said, comment[1]] if comment else said if not line.strip() else []
        elif begun is None and fence:
            begun, inside = (number, fence[1], fence[2]), []
        elif begun and fence and fence[1] == begun[1] and not fence[2]:
            language = (begun[2].split() or [""])[0]
            yield Fence(begun[0], language, "".join(f"{one}\n" for one in inside), tuple(said))
            begun, said = None, []
        else:
            inside.append(line)


def slug(words: str) -> str:
    """What a heading is called in links, here as on the usual hosts of repositories.

    One that begins with the id of a clause is called by that alone.
    """
    if clause := _CLAUSE.match(words):
        return clause[0].lower()
    kept = re.sub(r"[^\w\s-]", "", words.lower()).strip()
    return re.sub(r"\s", "-", kept)


def headings(text: str) -> Iterator[Heading]:
    """Every heading outside of fenced blocks."""
    for number, line, is_fenced in marked(text):
        found = None if is_fenced else _HEADING.match(line)
        if found:
            yield Heading(number, len(found[1]), found[2], slug(found[2]))


def section(text: str, name: str) -> str:
    """What stands below a heading, up to the next one that is as high.

    Raises:
        LookupError: there is no heading of that name.
    """
    found = list(headings(text))
    for place, one in enumerate(found):
        if one.slug == name:
            behind = (other.line for other in found[place + 1 :] if other.level <= one.level)
            lines = text.splitlines()
            return "\n".join(lines[one.line : next(behind, len(lines) + 1) - 1]).strip()
    raise LookupError(f"no heading is called #{name}")


def relinked(text: str, to: Callable[[str], str]) -> str:
    """The text with what each of its links, outside of code, leads to put into other words."""

    def outside(piece: str) -> str:
        return _LINK.sub(lambda found: f"{found[1]}({to(found[2])})", piece)

    whole: list[str] = []
    plain: list[str] = []

    def flush() -> None:
        if plain:
            whole.append(_outside_code("\n".join(plain), outside))
            plain.clear()

    for _, line, is_fenced in marked(text):
        if is_fenced:
            flush()
            whole.append(line)
        else:
            plain.append(line)
    flush()
    return "\n".join(whole) + "\n"


def code_spans(text: str) -> Iterator[tuple[int, str]]:
    """Each piece of code within the text, and the line where it begins."""
    plain = "\n".join("" if is_fenced else line for _, line, is_fenced in marked(text))
    for found in _CODE.finditer(plain):
        yield plain.count("\n", 0, found.start()) + 1, " ".join(found[0].strip("`").split())


def _outside_code(text: str, do: Callable[[str], str]) -> str:
    """The text with its pieces outside of code changed; a link's words may have code in them."""
    codes: list[str] = []

    def hidden(found: re.Match[str]) -> str:
        codes.append(found[0])
        return f"\0{len(codes) - 1}\0"

    changed = do(_CODE.sub(hidden, text))
    return re.sub("\0(\\d+)\0", lambda found: codes[int(found[1])], changed)


def words(text: str, link: Callable[[str], str] | None = None) -> str:
    """Plain text, which may have `code` in it, so that Markdown makes nothing else of it.

    Args:
        text: of a docstring or of a row.
        link: what becomes of each id of a clause.
    """

    def outside(piece: str) -> str:
        piece = re.sub(r"([\\*_\[\]<>#|])", r"\\\1", piece)
        return _CLAUSE.sub(lambda one: link(one[0]), piece) if link else piece

    return _outside_code(text, outside)


def cell(text: str) -> str:
    """Text as it may stand in a table."""
    return " ".join(text.split()).replace("|", r"\|")


def table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    """A table."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
