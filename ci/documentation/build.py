"""Builds the documentation into a folder: ci/docs DIR."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ci.bootstrap import installer_settings
from ci.documentation.facts import Facts
from ci.documentation.pages import BrokenPage, Pages
from conformance.catalogue import load
from conformance.running.collecting import scenarios

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements-docs.lock"
BROKEN = 1
BAD_INPUT = 4

MARK = "objects.inv"
"""What a folder with the pages has, and hardly any other."""


class CannotBuild(Exception):
    """It is nothing of the pages; the text says what."""


def packages() -> Path:
    """The folder with what builds the pages, made once for each state of its lock.

    They are many files, which nobody needs who judges clients: so they are beside the suite's
    environment and not in it, and go when that is made anew.
    """
    named = hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]
    folder = Path(sys.prefix) / f"docs-{named}"
    if folder.is_dir():
        return folder
    print(f"ci/docs: making {folder} from {LOCK.name} (once)", file=sys.stderr)
    making = Path(tempfile.mkdtemp(dir=sys.prefix, prefix="docs-"))
    try:
        command = [str(Path(sys.prefix) / "bin" / "uv"), "pip", "install", "--quiet", "--no-deps"]
        command += ["--python", sys.executable, "--require-hashes", "--target", str(making)]
        environment = {**os.environ, **installer_settings()}
        subprocess.run([*command, "--requirement", str(LOCK)], check=True, env=environment)
        making.chmod(0o755)
        making.rename(folder)
    except OSError:
        if not folder.is_dir():  # somebody else has made it meanwhile
            raise
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return folder


def write(folder: Path) -> None:
    """Write all pages as Markdown, and the pictures that they show.

    Raises:
        BrokenPage: one names what is not there.
    """
    for place, text in Pages(Facts(load(), scenarios())).made.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    shutil.copytree(ROOT / "docs" / "assets", folder / "assets")


def build(source: Path, folder: Path) -> int:
    """Make pages of Markdown; the exit code of what does so.

    Whatever that would warn of is an error: links, anchors, pages to which nothing leads.

    Raises:
        CannotBuild: what builds them cannot be had.
    """
    try:
        paths = [str(packages()), str(ROOT)]
    except (OSError, subprocess.CalledProcessError) as trouble:
        raise CannotBuild(f"what builds the pages cannot be had: {trouble}") from None
    with tempfile.TemporaryDirectory() as trees:
        command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--quiet", "-b", "html"]
        command += ["-c", str(Path(__file__).parent), "-d", trees, str(source), str(folder)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        return subprocess.run(command, check=False, env=environment, cwd=ROOT).returncode


def cleared(folder: Path) -> None:
    """See that a folder may be written, and take away what was built there before.

    Raises:
        CannotBuild: it has something else in it.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not (folder / MARK).is_file():
        raise CannotBuild(f"{folder} is not empty, and no documentation of this suite")
    shutil.rmtree(folder)


def main(arguments: list[str]) -> int:
    """Build; the exit code."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: ci/docs DIR", file=sys.stderr)
        return BAD_INPUT
    folder = Path(arguments[0]).absolute()
    try:
        cleared(folder)
        with tempfile.TemporaryDirectory() as source:
            write(Path(source))
            if build(Path(source), folder):
                return BROKEN
    except BrokenPage as trouble:
        print(f"ci/docs: {trouble}", file=sys.stderr)
        return BROKEN
    except CannotBuild as trouble:
        print(f"ci/docs: {trouble}", file=sys.stderr)
        return BAD_INPUT
    print(folder / "index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
