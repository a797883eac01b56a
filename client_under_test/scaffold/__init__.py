"""New adapters: a folder that is built, starts and says hello, for its author to fill in.

A language's folder here is copied as it is, with the contract beside it. Its `start.toml` and
`by-hand.md` go into the client.toml and README.md that all languages share, in `common`.
`source.toml` is the part of `start.toml` that languages with a build share.
"""

from __future__ import annotations

import re
from pathlib import Path
from string import Template
from typing import Final

from client_under_test.contract.exceptions import ClientTrouble
from client_under_test.contract.messages import NEWEST
from regular_files import read_text

_HERE: Final = Path(__file__).parent
_COMMON: Final = _HERE / "common"
_CONTRACT: Final = tuple(
    _HERE.parent / "contract" / name for name in ("contract.md", "contract.schema.json")
)
_PARTS: Final = {"start.toml", "by-hand.md"}

OTHER: Final = "other"
"""Where a language has no folder: a manifest, and words instead of a program."""

FIRST_PROGRAM: Final = "## The first program"
"""The section of the README that says how to begin, where the scaffold has no program."""

_PLACEHOLDERS: Final = {
    "version": "0.1.0",
    "name": "scaffold",
    "issues": "https://example.com/issues",
}
"""What the author of an adapter replaces: of client.toml, and of the program's hello."""

_LANGUAGE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+#._-]*")


class ScaffoldRefused(ClientTrouble):
    """The language has no scaffold, or the folder is not free; one sentence."""


def placeholders_of(version: str | None, name: str, issues: str) -> dict[str, str]:
    """Return which of these are still the skeleton's.

    Args:
        version: the version in client.toml.
        name: the library's name in hello.
        issues: the issue tracker in client.toml.
    """
    present = {"version": version, "name": name, "issues": issues}
    return {what: value for what, value in _PLACEHOLDERS.items() if present[what] == value}


def languages() -> tuple[str, ...]:
    """Return the languages with a program of their own; `OTHER` is the last."""
    named = {path.name for path in _HERE.iterdir() if (path / "start.toml").is_file()}
    return (*sorted(named - {OTHER}), OTHER)


def write(language: str, folder: Path) -> tuple[Path, ...]:
    """Write the scaffold of a language, and give the files, relative to `folder`.

    Raises:
        ScaffoldRefused: that is no name of a language, or `folder` is no free place.
    """
    if not _LANGUAGE.fullmatch(language):
        raise ScaffoldRefused(f"{language!r} is no name of a language such as {languages()[0]}")
    files = _files(language if language in languages() else OTHER, _name_of(folder))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise ScaffoldRefused(f"{folder} is not empty: name a folder that is, or a new one")
        for place, text in files.items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_text(text, encoding="utf-8")
    except FileExistsError as trouble:
        raise ScaffoldRefused(
            f"{folder} is a file: name a folder that is empty, or a new one"
        ) from trouble
    except OSError as trouble:
        raise ScaffoldRefused(
            f"{folder} cannot be written: {trouble.strerror}: name another folder"
        ) from trouble
    return tuple(files)


def _files(language: str, name: str) -> dict[Path, str]:
    """Texts by their place in the new folder."""
    source = _HERE / language
    skeleton = {
        path.relative_to(source): read_text(path)
        for path in sorted(source.rglob("*"))
        if path.is_file() and path.name not in _PARTS and "__pycache__" not in path.parts
    }
    known = {
        "name": name,
        "contract": str(NEWEST),
        "start": Template(read_text(source / "start.toml")).substitute(
            source=read_text(_HERE / "source.toml")
        ),
        "files": "".join(f"| `{path.as_posix()}` | {_about(path)} |\n" for path in skeleton),
        "by_hand": Template(read_text(source / "by-hand.md")).substitute(
            name=name, contract=NEWEST
        ),
    }
    common = {
        path.relative_to(_COMMON): Template(read_text(path)).substitute(known)
        for path in sorted(_COMMON.iterdir())
    }
    return {**common, **skeleton, **{Path(p.name): read_text(p) for p in _CONTRACT}}


def _about(path: Path) -> str:
    if path.stem.lower() in {"adapter", "main"}:
        return "the adapter"
    return "the build" if path.suffix == ".sh" else "what it is built with"


def _name_of(folder: Path) -> str:
    """Return a name for the client: the name of its folder, in allowed characters.

    The names of the adapters that come with the suite are theirs.
    """
    name = re.sub(r"[^A-Za-z0-9._-]+|^[^A-Za-z0-9]+", "", folder.resolve().name) or "mine"
    shipped = {folder.name for folder in (_HERE.parent / "adapters").iterdir()}
    return f"my-{name}" if name in shipped else name
