"""Find habits of prose that make a reader read twice.

The habits are in `prose.toml`. Texts are the pages, docstrings, comments, messages, help, titles
and wordings of clauses, baselines of clients, and templates of reports.

Subjects of commits that are not in main have at most 72 characters and no colon after a label.
No variable is called `one`: its name is the noun of what it holds.
"""

from __future__ import annotations

import argparse
import ast
import html
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
HABITS: Final = ROOT / "ci" / "prose.toml"

PACKAGES: Final = (
    *("client_under_test", "conformance", "fake_control_plane", "pytest_xdspec", "test_servers"),
    *("regular_files", "request_filter", "ci"),
)
PAGES: Final = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs", *PACKAGES)
TOML_FIELDS: Final = {
    *("title", "basis", "seen_by", "unobservable", "awaits", "grpc_only"),
    *("seen", "explanation", "reason_text", "brings", "says", "missing"),
}
"""Texts in rows of the catalogue and in baselines, besides wordings."""

WORDING: Final = re.compile(r"A\d+(-[A-Z\d]+)?|envoy")
"""An edition: the key of its wording in a row of the catalogue."""

FEWEST: Final = 3
"""Words of a string that is prose, and no name or format."""

LONGEST_SUBJECT: Final = 72

VAGUE_NAMES: Final = {"one"}
"""Names that describe the content of no variable."""


class Habit(NamedTuple):
    """A pattern, and what to write instead."""

    name: str
    pattern: re.Pattern[str]
    write: str


class Text(NamedTuple):
    """A piece of prose, and where it begins."""

    path: str
    line: int
    text: str


class Hit(NamedTuple):
    """A habit in a text."""

    path: str
    line: int
    habit: Habit
    words: str


def habits(content: str) -> tuple[Habit, ...]:
    """Return the habits of a file such as prose.toml."""
    found = tomllib.loads(content)["habit"]
    return tuple(
        Habit(row["name"], re.compile(row["pattern"], re.MULTILINE), row["write"]) for row in found
    )


def of_page(path: str, content: str) -> Iterator[Text]:
    """Return the paragraphs of a Markdown page, without code and without generated parts."""
    content = re.sub(
        r"<!-- begin generated.*?<!-- end generated[^\n]*", _blank, content, flags=re.DOTALL
    )
    content = re.sub(r"^( *)(```|~~~).*?^\1\2", _blank, content, flags=re.DOTALL | re.MULTILINE)
    content = re.sub(r"`[^`\n]*`", "`…`", content)
    for number, line in enumerate(content.splitlines(), 1):
        if line.strip():
            yield Text(path, number, line.strip(" #*-|>"))


def _blank(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n")


def of_python(path: str, content: str) -> Iterator[Text]:
    """Return docstrings, strings of prose and comments of a module."""
    tree = ast.parse(content)
    inner = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in node.values
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            said = "".join(
                str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            said = "" if id(node) in inner else node.value
        else:
            continue
        if len(said.split()) >= FEWEST:
            for number, line in enumerate(said.splitlines()):
                yield Text(path, node.lineno + number, line.strip())
    for token in tokenize.generate_tokens(io.StringIO(content).readline):
        if token.type == tokenize.COMMENT:
            yield Text(path, token.start[0], token.string.lstrip("# "))


def of_template(path: str, content: str) -> Iterator[Text]:
    """Return the texts of a page's template, without tags and placeholders."""
    for number, line in enumerate(content.splitlines(), 1):
        for piece in re.split(r"<[^>]*>|{%.*?%}", line):
            if text := html.unescape(re.sub(r"{{.*?}}", "…", piece)).strip():
                yield Text(path, number, text)


def of_toml(path: str, content: str) -> Iterator[Text]:
    """Return the texts of a catalogue's rows, or of a baseline."""
    lines = content.splitlines()
    for value in _texts(tomllib.loads(content)):
        first = value.splitlines()[0][:30] if value.strip() else ""
        number = next((n for n, line in enumerate(lines, 1) if first and first in line), 1)
        yield Text(path, number, value)


def _texts(table: Mapping[str, Any]) -> Iterator[str]:
    for name, value in table.items():
        match value:
            case str() if name in TOML_FIELDS or WORDING.fullmatch(name):
                yield value
            case dict():
                yield from _texts(value)
            case list():
                for item in value:
                    if isinstance(item, dict):
                        yield from _texts(item)


def texts(root: Path) -> Iterator[Text]:
    """Return all prose of the project."""
    for path in _files(root, PAGES, ".md"):
        yield from of_page(*_read(root, path))
    for path in _files(root, PACKAGES, ".py"):
        if not path.name.endswith(("_pb2.py", "_pb2_grpc.py")):
            yield from of_python(*_read(root, path))
    for path in _files(root, PACKAGES, ".html"):
        yield from of_template(*_read(root, path))
    for path in _files(root, ("conformance/spec/catalogue", "client_under_test/adapters"), ".toml"):
        if path.name != "client.toml":
            yield from of_toml(*_read(root, path))


def _files(root: Path, places: Iterable[str], ending: str) -> Iterator[Path]:
    for place in places:
        path = root / place
        if path.is_file() and path.suffix == ending:
            yield path
        yield from sorted(path.rglob(f"*{ending}"))


def _read(root: Path, path: Path) -> tuple[str, str]:
    return path.relative_to(root).as_posix(), path.read_text("utf-8")


def hits(several: Iterable[Text], known: Iterable[Habit]) -> Iterator[Hit]:
    """Return the habits in texts."""
    known = tuple(known)
    for path, line, text in several:
        for habit in known:
            for match in habit.pattern.finditer(text):
                yield Hit(path, line, habit, text[max(match.start() - 20, 0) : match.end() + 20])


def vague_names(path: str, content: str) -> Iterator[str]:
    """Return the variables of a module whose names say nothing."""
    for node in ast.walk(ast.parse(content)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) if name in VAGUE_NAMES:
                yield (
                    f"{path}:{node.lineno}: a variable is called `{name}`: name what it holds, "
                    "such as `endpoint` or `call`"
                )


def bad_subjects(subjects: Iterable[str]) -> Iterator[str]:
    """Return what is wrong with the subjects of commits."""
    for title in subjects:
        if len(title) > LONGEST_SUBJECT:
            yield f"commit subject of {len(title)} characters, {LONGEST_SUBJECT} at most: {title}"
        elif re.match(r"[\w./-]+(\([\w./-]+\))?: ", title):
            yield f"commit subject with a label and a colon, write a sentence: {title}"


def new_subjects(root: Path) -> list[str]:
    """Return the subjects of commits that are not in main; none without a history."""
    for main in ("origin/main", "main"):
        command = ("git", "-C", str(root), "log", "--no-merges", "--format=%s", f"{main}..HEAD")
        ran = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
        if ran.returncode == 0:
            return ran.stdout.splitlines()
    return []


def main(words: list[str]) -> int:
    """Check all texts, or list the habits below a path."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", metavar="PATH", help="list only the habits below a path")
    given = parser.parse_args(words)
    found = list(hits(texts(ROOT), habits(HABITS.read_text("utf-8"))))
    if given.list is not None:
        _print(hit for hit in found if hit.path.startswith(given.list))
        return 0
    _print(found)
    subjects = [*bad_subjects(new_subjects(ROOT))]
    for line in subjects:
        print(f"ci/prose: {line}", file=sys.stderr)
    vague = [
        line
        for path in _files(ROOT, (*PACKAGES, "docs", "tests"), ".py")
        for line in vague_names(*_read(ROOT, path))
    ]
    for line in vague:
        print(f"ci/prose: {line}", file=sys.stderr)
    return int(bool(found or subjects or vague))


def _print(several: Iterable[Hit]) -> None:
    for hit in several:
        print(f"{hit.path}:{hit.line}: {hit.habit.name} ({hit.habit.write}): …{hit.words}…")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
