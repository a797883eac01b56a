"""Print where the jars of a SNAPSHOT of grpc-java are: in a folder below the second argument.

Maven looks for the SNAPSHOT in the repositories that the user's settings.xml names.
"""
# ruff: noqa: INP001 - a program

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

KEPT: Final = 4
"""Sets of jars that stay: those of other commands that run now, and no more."""

DIGITS: Final = 16


def main() -> None:
    """Have Maven copy the jars of the version that the first argument names."""
    version, cache = sys.argv[1], Path(sys.argv[2])
    if not re.fullmatch(r"\d[\w.]*-SNAPSHOT", version, re.ASCII):
        sys.exit("a SNAPSHOT has a name such as 1.86.0-SNAPSHOT")
    kept = cache / "snapshots"
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        copy_jars(version, Path(folder))
        place = moved(Path(folder, "lib"), kept)
    for old in sorted(kept.iterdir(), key=lambda path: path.stat().st_mtime)[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    sys.stdout.write(
        json.dumps({"source": str(place), "name": f"grpc-java {version}", "ref": version})
    )


def copy_jars(version: str, folder: Path) -> None:
    """Copy the jars of a version, and those that they need, into `lib` of a folder."""
    shutil.copy(Path(__file__).with_name("pom.xml"), folder)
    command = [
        *("mvn", "--batch-mode", "--strict-checksums", "--quiet", "--no-transfer-progress"),
        *("--update-snapshots", f"-Dgrpc.version={version}", "dependency:copy-dependencies"),
    ]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            encoding="utf-8",
            errors="replace",
        )
    except OSError as trouble:
        sys.exit(f"mvn cannot be started: {trouble.strerror}")
    if done.returncode != 0:
        said = re.search(r"\[ERROR\] (.*?)(?: -> \[Help \d+\])?$", done.stdout, re.MULTILINE)
        reason = said[1] if said else done.stdout.strip()
        sys.exit(f"Maven does not find it in the repositories of your settings.xml: {reason}")


def moved(jars: Path, kept: Path) -> Path:
    """Move a folder of jars to where its content belongs, unless it is there already."""
    digest = hashlib.sha256()
    for jar in sorted(jars.iterdir()):
        digest.update(jar.name.encode() + b"\0" + hashlib.sha256(jar.read_bytes()).digest())
    place = kept / digest.hexdigest()[:DIGITS]
    try:
        jars.rename(place)
    except OSError:
        if not place.is_dir():
            raise
    place.touch()
    return place


if __name__ == "__main__":
    main()
