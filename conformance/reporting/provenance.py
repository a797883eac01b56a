"""Where a report comes from, so that somebody else can make it again."""

from __future__ import annotations

import datetime as dt
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

from conformance.catalogue import Catalogue
from conformance.running.jobs import cores

ROOT = Path(__file__).resolve().parents[2]


def suite_version() -> str:
    """The version of the distribution."""
    return metadata.version("xdspec")


def provenance(catalogue: Catalogue, seed: int) -> dict[str, Any]:
    """Suite, catalogue, dependencies, seed and machine."""
    return {
        "suite": {"version": suite_version(), "commit": _commit()},
        "catalogue": catalogue.version,
        "dependencies": {
            distribution.name: distribution.version
            for distribution in sorted(metadata.distributions(), key=lambda one: one.name.lower())
        },
        "seed": seed,
        "started": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "machine": {
            "system": platform.system(),
            "release": platform.release(),
            "architecture": platform.machine(),
            "cores": cores(),
            "python": platform.python_version(),
        },
    }


def _commit() -> str | None:
    """The commit of a checkout, with a mark if files differ from it; None for a wheel."""
    if not (ROOT / ".git").exists():
        return None
    try:
        described = subprocess.run(
            [
                "git",
                "describe",
                "--always",
                "--dirty",
                "--abbrev=40",
                "--exclude=*",
            ],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return described.stdout.strip()
