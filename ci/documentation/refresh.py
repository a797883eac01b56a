"""Bring the generated parts of pages up to date: `ci/docs --refresh`.

A generated part is between `<!-- begin generated NAME -->` and `<!-- end generated -->`, so that a
page is whole wherever it is read. `source FILE NAME` is a function, class, value or TOML table;
`source FILE` is a whole file.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from ci.documentation import adapter_facts, compliance, facts
from ci.documentation.facts import GENERATED, ROOT, Facts
from conformance.spec.catalogue import load

_PART = re.compile(
    r"^(<!-- begin generated ([^\n]+) -->\n).*?^(<!-- end generated -->)$", re.MULTILINE | re.DOTALL
)
_LINK = re.compile(r"\]\(/([^)\s]+)\)")
_LANGUAGES = {".go": "go", ".py": "python", ".toml": "toml", ".yaml": "yaml", ".json": "json"}


class BrokenPage(Exception):
    """A page names something that does not exist; the text says which page and what."""


def pages() -> Iterator[Path]:
    """Yield the pages of the repository that may have generated parts."""
    yield ROOT / "README.md"
    yield ROOT / "client_under_test/contract/contract.md"
    yield from sorted((ROOT / "docs").rglob("*.md"))


def refreshed(page: Path, text: str, known: Facts) -> str:
    """Return a page's text with its generated parts as they should be now.

    Raises:
        BrokenPage: it asks for a part that does not exist.
    """
    folder = posixpath.dirname(page.relative_to(ROOT).as_posix())

    def replaced(found: re.Match[str]) -> str:
        made = _generated(found[2], page, known)
        linked = _LINK.sub(lambda to: f"]({posixpath.relpath(to[1], folder or '.')})", made)
        return f"{found[1]}\n{linked.strip()}\n\n{found[3]}"

    return _PART.sub(replaced, text)


def _generated(wanted: str, page: Path, known: Facts) -> str:
    name, *arguments = wanted.split()
    try:
        return _MAKE[name](known, *arguments)
    except (OSError, LookupError, SyntaxError, TypeError) as trouble:
        raise BrokenPage(f"{page.relative_to(ROOT)}: {wanted}: {trouble}") from None


def _source(_: Facts, path: str, name: str = "") -> str:
    get = facts.row if path.endswith(".toml") else facts.symbol
    shown = get(ROOT / path, name) if name else (ROOT / path).read_text("utf-8").rstrip()
    language = _LANGUAGES.get(PurePosixPath(path).suffix, "text")
    return f"```{language}\n{shown}\n```\n\nFrom [`{path}`](/{path}).\n"


_MAKE: Mapping[str, Callable[..., str]] = {
    "source": _source,
    **GENERATED,
    **adapter_facts.GENERATED,
    **compliance.GENERATED,
}


def refresh() -> list[Path]:
    """Rewrite every page whose generated parts are stale, and return those pages."""
    known = Facts(load())
    changed = []
    compliance.make_pages()
    for page in pages():
        text = page.read_text("utf-8")
        if (new := refreshed(page, text, known)) != text:
            page.write_text(new, "utf-8")
            changed.append(page)
    return changed
