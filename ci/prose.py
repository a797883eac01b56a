"""Find habits of prose that make a reader read twice, and compare their number with a baseline.

The habits are in `prose.toml`. Texts are the pages, docstrings, messages, help, titles and wordings
of clauses, and baselines of clients. `prose-allowed.toml` has the number that each folder may have
left. The check fails if a folder has more than that while the sum of all folders grows, so that
texts may move; `--shrink` lowers the numbers, and never raises the sum.

Subjects of commits that are not in main have at most 72 characters and no colon after a label.
No variable is called `one`: its name is the noun of what it holds.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
HABITS: Final = ROOT / "ci" / "prose.toml"
ALLOWED: Final = ROOT / "ci" / "prose-allowed.toml"

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

    @property
    def folder(self) -> str:
        """The folder that counts it: a package's subpackage, or a page's folder."""
        return folder_of(self.path)


def folder_of(path: str) -> str:
    """Return the first two parts of a path, without the file itself."""
    parts = Path(path).parts[:-1][:2]
    return "/".join(parts) or "."


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
    """Return docstrings and strings of prose in a module."""
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


def too_many(found: Iterable[Hit], allowed: Mapping[str, int]) -> list[Hit]:
    """Return the hits of folders that have more than allowed, if the sum of all grew."""
    every = list(found)
    counts = Counter(hit.folder for hit in every)
    if len(every) <= sum(allowed.values()):
        return []
    return [hit for hit in every if counts[hit.folder] > allowed.get(hit.folder, 0)]


def shrunk(found: Iterable[Hit], allowed: Mapping[str, int]) -> dict[str, int]:
    """Return the numbers of today.

    Raises:
        ValueError: their sum is larger than what is allowed.
    """
    counts = Counter(hit.folder for hit in found)
    if sum(counts.values()) > sum(allowed.values()):
        raise ValueError("there are more habits of prose than allowed: rewrite them first")
    return dict(sorted(counts.items()))


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


def changed_files(root: Path) -> frozenset[str]:
    """Return the files that differ from main; none without a history."""
    for main in ("origin/main", "main"):
        command = ("git", "-C", str(root), "diff", "--name-only", f"{main}...HEAD")
        ran = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
        if ran.returncode == 0:
            return frozenset(ran.stdout.splitlines())
    return frozenset()


def main(words: list[str]) -> int:
    """Check, or lower what is allowed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shrink", action="store_true", help="lower what is allowed")
    parser.add_argument("--list", metavar="PATH", help="list all habits below a path")
    given = parser.parse_args(words)
    found = list(hits(texts(ROOT), habits(HABITS.read_text("utf-8"))))
    allowed = tomllib.loads(ALLOWED.read_text("utf-8"))["allowed"] if ALLOWED.exists() else {}
    if given.list is not None:
        _print(hit for hit in found if hit.path.startswith(given.list))
        return 0
    if given.shrink:
        try:
            numbers = shrunk(found, allowed or {".": len(found)})
        except ValueError as error:
            print(f"ci/prose: {error}", file=sys.stderr)
            return 1
        lines = "".join(f'"{name}" = {count}\n' for name, count in numbers.items())
        head = (
            "# Habits of prose that each folder has left; `ci/prose --shrink` lowers the numbers."
        )
        ALLOWED.write_text(f"{head}\n[allowed]\n{lines}", "utf-8")
        return 0
    wrong = too_many(found, allowed)
    changed = changed_files(ROOT)
    _print([hit for hit in wrong if hit.path in changed] or wrong)
    if wrong:
        print(
            f"ci/prose: {len(found)} habits of prose, {sum(allowed.values())} are allowed: rewrite "
            "what is new in one of these folders",
            file=sys.stderr,
        )
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
    return int(bool(wrong or subjects or vague))


def _print(several: Iterable[Hit]) -> None:
    for hit in several:
        print(f"{hit.path}:{hit.line}: {hit.habit.name} ({hit.habit.write}): …{hit.words}…")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
