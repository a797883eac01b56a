"""Where what is made once for clients is kept."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

_DIGITS: Final = 16


def cache() -> Path:
    """Return $XDSPEC_CACHE, or `xdspec` in the user's cache folder."""
    named = os.environ.get("XDSPEC_CACHE")
    if named:
        return Path(named).absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "xdspec"


def work_folder(name: str, folder: Path) -> Path:
    """Return a folder that stays between builds.

    It belongs to the client of this name in this folder, and to no other client of that name.
    """
    own = hashlib.sha256(os.fsencode(folder)).hexdigest()[:_DIGITS]
    work = cache() / "work" / f"{name}-{own}"
    work.mkdir(parents=True, exist_ok=True)
    return work
