"""Asks a Python package index, and fills environments from it: wheels only, by uv."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import uv

from client_under_test.contract.exceptions import BuildFailed, NoSuchVersion, NoWheel
from client_under_test.environments import build_log
from client_under_test.supervision import guarded

# What a wheel depends on besides its version.
PLATFORM: Final = f"{sys.implementation.cache_tag}-{sysconfig.get_platform()}"

# uv's words. The lock pins uv, and tests ask a real one.
_NOT_REACHED: Final = re.compile(
    r"failed to fetch|error sending request|network was disabled", re.IGNORECASE
)
_NO_VERSION: Final = re.compile(r"there is no version of")
_NO_DISTRIBUTION: Final = re.compile(r"not found in the package registry")
_NO_WHEEL: Final = re.compile(r"has no (usable )?wheels|no wheels with a matching")

_INDEX_VARIABLES: Final = {"UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX"}


class IndexNotReached(BuildFailed):
    """The package index did not answer."""


def newest(distribution: str, *, pre_releases: bool = False) -> str:
    """Return the newest version that the index has as a wheel for this Python and platform.

    Raises:
        IndexNotReached, NoSuchVersion, NoWheel, BuildFailed: as they say.
    """
    quiet = ("--no-deps", "--no-header", "--no-annotate")
    printed = _uv(
        *("pip", "compile", *quiet, *_FROM_WHEELS, "--python", sys.executable, "-"),
        *(("--prerelease", "allow") if pre_releases else ()),
        stdin=distribution,
        what=distribution,
    )
    found = re.search(rf"^{re.escape(distribution)}==(\S+)", printed, re.MULTILINE)
    assert found is not None, printed
    return found[1]


def install(distribution: str, version: str, folder: Path, beside: tuple[str, ...] = ()) -> None:
    """Make an environment that holds this version, what is asked for beside it, and their needs.

    Raises:
        IndexNotReached, NoSuchVersion, NoWheel, BuildFailed: as they say.
    """
    what = " with ".join([f"{distribution} {version}", *beside])
    _uv("venv", "--quiet", "--no-project", "--python", sys.executable, str(folder), what=what)
    # Compiled now: else the first start would be many times slower than the others.
    _uv(
        *("pip", "install", *_FROM_WHEELS, "--compile-bytecode", "--python", str(folder)),
        *(f"{distribution}=={version}", *beside),
        what=what,
    )


def install_from(
    sources: Path,
    distribution: str,
    folder: Path,
    beside: tuple[str, ...] = (),
    *,
    environment: Mapping[str, str],
    named: str,
    log: Path,
) -> None:
    """Make an environment that holds the distribution from these sources, and what it needs.

    Args:
        sources: a wheel, an sdist, or a folder; a build writes there.
        distribution: that is in it.
        folder: of the environment.
        beside: requirements that are installed beside it.
        environment: more variables for its build.
        named: what the user calls the sources.
        log: where the log of a build that fails is written.

    Raises:
        IndexNotReached, BuildFailed: as they say.
    """
    _uv("venv", "--quiet", "--no-project", "--python", sys.executable, str(folder), what=named)
    # uv takes a folder or file that it has seen for unchanged if its times are.
    _uv(
        *("pip", "install", "--quiet", "--compile-bytecode", "--python", str(folder)),
        *("--refresh-package", distribution, "--reinstall-package", distribution),
        *(str(sources), *beside),
        what=named,
        environment=environment,
        log=log,
    )


_FROM_WHEELS: Final = ("--quiet", "--only-binary", ":all:")


def _uv(
    *arguments: str,
    what: str,
    stdin: str = "",
    environment: Mapping[str, str] | None = None,
    log: Path | None = None,
) -> str:
    """Run uv, and return its output; if it fails, write all its errors to `log`.

    Raises:
        IndexNotReached, NoSuchVersion, NoWheel, BuildFailed: uv says that it cannot be done.
    """
    done = subprocess.run(
        guarded(uv.find_uv_bin(), *arguments),
        check=False,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        input=stdin,
        cwd="/",  # uv reads the configuration of the folder that it runs in, and of those above
        env={**_index_settings(), **os.environ, **(environment or {})},
    )
    if done.returncode == 0:
        return done.stdout
    refusal = _refusal(what, " ".join(done.stderr.split()))
    # A failed build may have texts in its log that match uv's errors of an index.
    if log is None or isinstance(refusal, IndexNotReached):
        raise refusal
    log.write_text(done.stderr, "utf-8")
    raise BuildFailed(f"{what} could not be built: {build_log.quoted(done.stderr, log)}")


def _index_settings() -> dict[str, str]:
    """Convert pip's settings of index and certificate to uv's: uv does not read pip's settings.

    If uv's own variables name an index, that index is the only one.
    """
    line = r"^(?:global|install|:env:)\.([a-z-]+)='(.*)'$"
    told = dict(re.findall(line, _pip_config(), re.MULTILINE))
    as_uv_says = {
        "index-url": "UV_DEFAULT_INDEX",
        "extra-index-url": "UV_INDEX",
        "find-links": "UV_FIND_LINKS",
        "cert": "SSL_CERT_FILE",
    }
    own_index = not _INDEX_VARIABLES.isdisjoint(os.environ)
    return {
        variable: told[key]
        for key, variable in as_uv_says.items()
        if key in told and not (own_index and variable in _INDEX_VARIABLES)
    }


@functools.cache
def _pip_config() -> str:
    pip = [sys.executable, "-m", "pip", "config", "list"]
    return subprocess.run(
        pip, check=False, capture_output=True, encoding="utf-8", errors="replace"
    ).stdout


def _refusal(what: str, words: str) -> NoSuchVersion | BuildFailed:
    """Return the exception for a message of uv."""
    if _NOT_REACHED.search(words):
        return IndexNotReached(f"{what}: the package index was not reached: {words}")
    if _NO_VERSION.search(words):
        return NoSuchVersion(f"the package index has no {what}: name a version that it has")
    if _NO_DISTRIBUTION.search(words):
        return NoSuchVersion(
            f"the package index has no {what}: name a distribution that it has. For another "
            "library, pass --source PATH (a wheel, sdist or checkout), or start a Python of your "
            "own without [python] (docs/adapter-guide.md, If your library is not on an index)"
        )
    if _NO_WHEEL.search(words):
        return NoWheel(
            f"{what} has no wheel for this Python and platform ({PLATFORM}): "
            "name another version, or run the suite with another Python"
        )
    return BuildFailed(f"{what} could not be installed: {words}")
