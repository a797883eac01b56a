"""Every page of the documentation as Markdown, from `docs`, other files and the code."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ci.documentation import facts, markdown
from ci.documentation.facts import GENERATED, ROOT, Facts

DOCS = "docs"
ASSETS = "docs/assets"

ELSEWHERE: Mapping[str, str] = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "conformance/catalogue/README.md": "catalogue.md",
    "client_under_test/reference/README.md": "clients/reference.md",
}
"""Pages that stand outside of `docs`, and where they are shown."""

FOUND_AT: Mapping[str, str] = {"README.md": "index.md"}
"""Files that are no page, and what links to them lead to."""

COMPLIANCE = "compliance.md"
"""A table that is made elsewhere: its clauses have no links."""

CLIENTS = "client_under_test/adapters/*/README.md"

NAVIGATION: Mapping[str, tuple[str, ...]] = {
    "Start": ("index", "getting-started"),
    "Guides": (
        *("adapter-guide", "container", "by-hand", "scenario-guide"),
        *("own-scenarios", "in-ci", "control-service"),
    ),
    "What is judged": (
        *("verdicts", "editions", "clauses", "oracles", "not-seen"),
        "compliance",
    ),
    "Reference": ("command-line", "contract", "glossary"),
    "Clients": ("clients/*",),
    "The project": ("architecture", "catalogue", "contributing", "changelog"),
}
"""What the pages are found by: headings, and below each the pages without their suffix."""

SOURCE = "source/"
"""Where files of the repository are shown to which a page links."""

_DIRECTIVE = re.compile(r"^<!-- (include|generated|source) ([\w./#-]+)(?: ([\w.-]+))? -->$")

_ALONE = "---\norphan: true\n---\n"
_NO_SEARCH = "---\norphan: true\nnosearch: true\n---\n"
"""At the head of a page to which only links lead, and which no search has to find."""

_LANGUAGES: Mapping[str, str] = {
    ".cc": "cpp",
    ".h": "cpp",
    ".go": "go",
    ".java": "java",
    ".js": "javascript",
    ".json": "json",
    ".mod": "text",
    ".proto": "proto",
    ".py": "python",
    ".rs": "rust",
    ".sh": "sh",
    ".toml": "toml",
    ".xml": "xml",
    ".yaml": "yaml",
    ".yml": "yaml",
}


class BrokenPage(Exception):
    """A page names what is not there; the text says which page, and what."""


class Pages:
    """All of them, each made once.

    Attributes:
        made: by where they stand in the documentation.
    """

    def __init__(self, found: Facts) -> None:
        self._facts = found
        self.made: dict[str, str] = {}
        self._shown = dict(_shown())
        self._included = dict(_included(self._shown))
        self._to_show: list[str] = []
        clauses = dict(found.clause_pages())
        self.made |= dict.fromkeys([*self._shown, *clauses], "")
        for place, source in self._shown.items():
            self._put(place, source, (ROOT / source).read_text("utf-8"))
        for place, text in clauses.items():
            self._put(place, place, _ALONE + text)
        while self._to_show:
            path = self._to_show.pop()
            self._put(_source_page(path), path, self._source(path))
        for heading, places in NAVIGATION.items():
            self.made["index.md"] += _tree(heading, places)

    def _put(self, place: str, source: str, text: str) -> None:
        """Make a page of the text of a file of the repository."""
        lines = []
        for line in text.splitlines():
            directive = _DIRECTIVE.match(line)
            lines.append(self._asked(directive, place) if directive else line)
        text = "\n".join(lines) + "\n"
        if place == COMPLIANCE:
            text = re.sub(r"^\| (A\d+-[A-Z]+-\d+) ", self._linked, text, flags=re.MULTILINE)
        self.made[place] = markdown.relinked(text, lambda to: self._link(place, source, to))

    def _linked(self, found: re.Match[str]) -> str:
        """A row of the table of clients and clauses, whose id is a link."""
        return f"| {self._facts.link(found[1])} "

    def _asked(self, directive: re.Match[str], place: str) -> str:
        """What stands in the place of a directive."""
        what, name, more = directive.groups()
        try:
            if what == "generated":
                return GENERATED[name](self._facts)
            path, _, part = name.partition("#")
            if what == "source":
                get = facts.row if path.endswith(".toml") else facts.symbol
                shown = get(ROOT / path, more)
                return f"```{_language(path)}\n{shown}\n```\n\nIn [`{path}`](/{path}).\n"
            text = (ROOT / path).read_text("utf-8")
            text = markdown.section(text, part) if part else text
        except (OSError, LookupError, SyntaxError) as trouble:
            raise BrokenPage(f"{place}: {directive[0]}: {trouble}") from None
        folder = posixpath.dirname(path)
        return markdown.relinked(text, lambda to: _from_root(folder, to))

    def _link(self, place: str, source: str, to: str) -> str:
        """A link of a file of the repository, as it has to be on its page."""
        if re.match(r"[a-z]+:|#", to):
            return to
        target, mark, part = _from_root(posixpath.dirname(source), to).partition("#")
        path = target.strip("/")
        there = self._included.get(f"{path}{mark}{part}")
        if there and path not in self._shown.values():
            mark = part = ""
        else:
            there = self._place(place, path)
        return posixpath.relpath(there, posixpath.dirname(place) or ".") + mark + part

    def _place(self, place: str, path: str) -> str:
        """Where in the documentation a file of the repository, or a page, is shown."""
        if path in self.made:
            return path
        if path in FOUND_AT:
            return FOUND_AT[path]
        for one in (path, f"{path}/README.md"):
            for shown, source in self._shown.items():
                if source == one:
                    return shown
        if not (ROOT / path).exists():
            raise BrokenPage(f"{place}: it links to {path}, which is not there")
        if path.startswith(f"{ASSETS}/"):
            return path.removeprefix(f"{DOCS}/")
        there = _source_page(path)
        if there not in self.made:
            self.made[there] = ""
            self._to_show.append(path)
        return there

    def _source(self, path: str) -> str:
        """A file as it is, or what is in a folder."""
        file = ROOT / path
        if file.is_dir():
            hidden = (".", "_", "assets")
            inside = sorted(one for one in file.iterdir() if not one.name.startswith(hidden))
            links = "\n".join(f"- [`{one.name}`](/{path}/{one.name})" for one in inside)
            return f"{_NO_SEARCH}# `{path}/`\n\n{links}\n"
        text = file.read_text("utf-8").rstrip()
        return f"{_NO_SEARCH}# `{path}`\n\n`````{_language(path)}\n{text}\n`````\n"


def _shown() -> Iterator[tuple[str, str]]:
    """Pages that are files of the repository: where they are shown, and where they stand."""
    for path in sorted((ROOT / DOCS).rglob("*.md")):
        yield path.relative_to(ROOT / DOCS).as_posix(), path.relative_to(ROOT).as_posix()
    for source, place in ELSEWHERE.items():
        yield place, source
    for path in sorted(ROOT.glob(CLIENTS)):
        yield f"clients/{path.parent.name}.md", path.relative_to(ROOT).as_posix()


def _included(shown: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Which page includes a file, or a section of one."""
    for place, source in shown.items():
        for line in (ROOT / source).read_text("utf-8").splitlines():
            directive = _DIRECTIVE.match(line)
            if directive and directive[1] == "include":
                yield directive[2], place


def _tree(heading: str, places: Iterable[str]) -> str:
    """What has pages in the navigation, below a heading."""
    lines = "\n".join("self" if place == "index" else place for place in places)
    options = f":hidden:\n:glob:\n:maxdepth: 1\n:caption: {heading}\n"
    return f"\n```{{toctree}}\n{options}\n{lines}\n```\n"


def _from_root(folder: str, to: str) -> str:
    """A link of a file in this folder, as a path that begins at the root of the repository."""
    if re.match(r"[a-z]+:|#|/", to):
        return to
    target, mark, part = to.partition("#")
    return "/" + posixpath.normpath(posixpath.join(folder, target)) + mark + part


def _source_page(path: str) -> str:
    return f"{SOURCE}{path}.md"


def _language(path: str) -> str:
    return _LANGUAGES.get(Path(path).suffix, "text")
