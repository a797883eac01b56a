"""Build the documentation as a site, or refresh its generated parts: `ci/docs`."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ci.bootstrap import installer_settings
from ci.documentation import transcripts
from ci.documentation.refresh import BrokenPage, pages, refresh

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements-docs.lock"
BROKEN = 1
BAD_INPUT = 4

MARK = "objects.inv"
"""A file that every built site has, and hardly any other folder."""


class CannotBuild(Exception):
    """The site cannot be built, for a reason that is not in the pages; the text says which."""


def packages() -> Path:
    """Return the folder with Sphinx and its dependencies; install them if the lock has changed.

    They are many files that no run of the suite needs, so they have a folder of their own.
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
        if not folder.is_dir():  # another process has made it in the meantime
            raise
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return folder


def build(folder: Path, source: Path = ROOT) -> int:
    """Make a site of the pages; the exit code of Sphinx.

    Every warning is an error: links, anchors, pages to which nothing leads.

    Raises:
        CannotBuild: Sphinx cannot be installed.
    """
    try:
        paths = [str(packages()), str(ROOT)]
    except (OSError, subprocess.CalledProcessError) as trouble:
        raise CannotBuild(f"cannot install what builds the pages: {trouble}") from None
    with tempfile.TemporaryDirectory() as trees:
        command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--quiet", "-b", "html"]
        command += ["-c", str(Path(__file__).parent), "-d", trees, str(source), str(folder)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        return subprocess.run(command, check=False, env=environment, cwd=ROOT).returncode


def cleared(folder: Path) -> None:
    """Check that a folder may be written, and remove a site that was built there before.

    Raises:
        CannotBuild: it holds something else.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not (folder / MARK).is_file():
        raise CannotBuild(f"{folder} is not empty and holds no documentation of this suite")
    shutil.rmtree(folder)


def main(arguments: list[str]) -> int:
    """Build the site, or refresh the pages; the exit code."""
    try:
        if arguments in (["--refresh"], ["--transcripts"]):
            is_refresh = arguments == ["--refresh"]
            for page in refresh() if is_refresh else transcripts.record(pages()):
                print(f"changed {page.relative_to(ROOT)}")
            return 0
        if len(arguments) != 1 or arguments[0].startswith("-"):
            print("usage: ci/docs DIR | --refresh | --transcripts", file=sys.stderr)
            return BAD_INPUT
        folder = Path(arguments[0]).absolute()
        cleared(folder)
        if build(folder):
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
