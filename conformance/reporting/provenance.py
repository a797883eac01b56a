"""Record where a report comes from, so that others can reproduce it."""

from __future__ import annotations

import datetime as dt
import platform
import subprocess
from importlib import metadata
from pathlib import Path

import msgspec

from conformance.runner.jobs import cores
from conformance.spec.catalogue import Catalogue

ROOT = Path(__file__).resolve().parents[2]


def suite_version() -> str:
    """The version of the distribution."""
    return metadata.version("xdspec")


class Suite(msgspec.Struct, frozen=True, kw_only=True):
    """The suite itself."""

    version: str
    commit: str | None
    """None for a wheel."""


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
    return Suite(version=suite_version(), commit=_commit())


def provenance(catalogue: Catalogue, seed: int) -> Provenance:
    """That of a run that starts now."""
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
            encoding="utf-8",
            errors="replace",
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return described.stdout.strip()
