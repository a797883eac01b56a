"""Record where a report comes from, so that others can reproduce it."""

from __future__ import annotations

import datetime as dt
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Final

import msgspec

from client_under_test.environments import fingerprint
from conformance.runner.jobs import cores
from conformance.spec.catalogue import Catalogue

ROOT: Final = Path(__file__).resolve().parents[2]

PACKAGES: Final = (
    "client_under_test",
    "conformance",
    "fake_control_plane",
    "pytest_xdspec",
    "regular_files",
    "request_filter",
    "test_servers",
)
"""What decides a verdict: the packages of the distribution."""

SHORT: Final = 12
"""Digits of a commit or digest that people read."""

DIRTY: Final = "-dirty"


def suite_version() -> str:
    """Return the version of the distribution."""
    return metadata.version("xdspec")


class Suite(msgspec.Struct, frozen=True, kw_only=True):
    """The suite itself."""

    version: str
    commit: str | None
    """With a mark if files differ from it; None for a wheel."""
    content: str = ""
    """SHA-256 of its packages. Empty in reports of versions that did not record it."""

    def __str__(self) -> str:
        """Name it in a message: two that differ have different names."""
        said = [self.version]
        if self.commit:
            changes = " with changes" if self.commit.endswith(DIRTY) else ""
            said.append(f"commit {self.commit[:SHORT]}{changes}")
        if self.content:
            said.append(f"content {self.content[:SHORT]}")
        return ", ".join(said)

    def is_same(self, other: Suite) -> bool:
        """Return whether both are known to have the same scenarios and oracles."""
        if self.version != other.version:
            return False
        if self.content and other.content:
            return self.content == other.content
        # A version without a digest names its files by a clean commit only.
        is_clean = self.commit is not None and not self.commit.endswith(DIRTY)
        return is_clean and self.commit == other.commit


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """Where it ran."""

    system: str
    release: str
    architecture: str
    cores: int
    python: str


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """Suite, catalogue, dependencies, seed and machine."""

    suite: Suite
    catalogue: str
    dependencies: dict[str, str]
    seed: int
    started: str
    machine: Machine


def suite() -> Suite:
    """Return which suite this is."""
    return Suite(version=suite_version(), commit=_commit(), content=content_of(ROOT))


def content_of(root: Path) -> str:
    """Return the SHA-256 of the packages in a folder: the same for a checkout and its wheel."""
    packages = (root / name for name in PACKAGES)
    return fingerprint.digest(packages, lambda name: "/__pycache__/" in name)


def provenance(catalogue: Catalogue, seed: int) -> Provenance:
    """Return the provenance of a run that starts now."""
    return Provenance(
        suite=suite(),
        catalogue=catalogue.version,
        dependencies={
            distribution.name: distribution.version
            for distribution in sorted(
                metadata.distributions(), key=lambda distribution: distribution.name.lower()
            )
        },
        seed=seed,
        started=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        machine=Machine(
            system=platform.system(),
            release=platform.release(),
            architecture=platform.machine(),
            cores=cores(),
            python=platform.python_version(),
        ),
    )


def _commit() -> str | None:
    """Return the commit of a checkout, marked if files differ from it; None for a wheel."""
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
            encoding="utf-8",
            errors="replace",
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return described.stdout.strip()
