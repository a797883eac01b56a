"""Paths outside of a client's folder that its package manager's files name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from regular_files import read_bytes

_LARGEST: Final = 1 << 20
"""Bytes of a file that is looked through."""

_NAMED: Final = {
    # replace google.golang.org/grpc => ../grpc-go, on a line of its own or in a block
    "go.mod": re.compile(
        r"^[^\n]*?=>\s*[\"`]?(\.{0,2}/[^\"`\n]*?)[\"`]?\s*(?://.*)?$", re.MULTILINE
    ),
    "go.work": re.compile(r"^\s*(?:use\s+)?[\"`]?(\.{0,2}/[^\"`\s]*)", re.MULTILINE),
    "Cargo.toml": re.compile(r"\bpath\s*=\s*[\"']([^\"'\n]+)[\"']"),
    "package.json": re.compile(r"\"(?:file|link|portal):([^\"\n]+)\""),
    "pom.xml": re.compile(r"<systemPath>\s*([^<]+?)\s*</systemPath>"),
    "requirements.txt": re.compile(r"^(?:-e\s+)?(\.{0,2}/\S+)", re.MULTILINE),
}


def outside_paths(folder: Path) -> Iterator[Path]:
    """Return the existing paths outside of a folder that its files have the build read."""
    root = folder.resolve()
    for file in sorted(folder.rglob("*")):
        named = _NAMED.get(file.name)
        if named is None or not file.is_file() or file.stat().st_size > _LARGEST:
            continue
        for found in named.findall(read_bytes(file).decode("utf-8", "replace")):
            path = Path(file.parent, found).resolve()
            if not path.is_relative_to(root) and path.exists():
                yield path
