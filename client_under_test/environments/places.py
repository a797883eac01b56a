"""Where what is made once for clients is kept."""

from __future__ import annotations

import os
from pathlib import Path


def cache() -> Path:
    """Return $XDSPEC_CACHE, or `xdspec` in the user's cache folder."""
    named = os.environ.get("XDSPEC_CACHE")
    if named:
        return Path(named).absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "xdspec"
