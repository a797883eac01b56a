"""Print the version of the grpc-js-xds in a path, or say why the path has none.

With a second argument, a folder, put each package there: `NAME.tgz`, or a link NAME to its folder.
"""
# ruff: noqa: INP001 - a program

from __future__ import annotations

import json
import re
import sys
import tarfile
import zlib
from pathlib import Path
from typing import Final

GRPC: Final = "@grpc/grpc-js"
XDS: Final = "@grpc/grpc-js-xds"
NAMES: Final = (GRPC, XDS)

LONGEST_FILE: Final = 1 << 20
"""In bytes: a package.json that is longer is none."""


def main() -> None:
    """Look at the path that the first argument names."""
    path, *folder = map(Path, sys.argv[1:])
    found = packages_in(path)
    if folder:
        put(found, folder[0])
        return
    versions = {name: version for name, (_, version) in found.items()}
    sys.stdout.write(json.dumps({"version": versions.get(XDS) or pinned_for(versions[GRPC])}))


def packages_in(path: Path) -> dict[str, tuple[Path, str]]:
    """Return the path and version of each package, by name."""
    if path.is_file():
        name, version = packed(path)
        return {name: (path, version)}
    if (path / "packages").is_dir():
        return checkout(path / "packages")
    above = next((parent for parent in path.resolve().parents if is_checkout(parent)), None)
    if above is not None:
        sys.exit(f"did you mean the checkout, {above}?")
    found: dict[str, tuple[Path, str]] = {}
    for archive in sorted((*path.glob("*.tgz"), *path.glob("*.tar.gz"))):
        name, version = packed(archive)
        if name in found:
            sys.exit(f"it has two packages {name}: {found[name][0].name} and {archive.name}")
        found[name] = archive, version
    if not found:
        sys.exit("it has no file *.tgz, and no folder packages as a checkout has it")
    return found


def packed(path: Path) -> tuple[str, str]:
    """Return the name and version of a packed package."""
    try:
        with tarfile.open(path, "r:gz") as archive:
            # npm leaves out the first folder, whatever its name is.
            wanted = (
                member for member in archive if re.fullmatch(r"[^/]+/package\.json", member.name)
            )
            file = archive.extractfile(next(wanted))
            text = file.read(LONGEST_FILE) if file else b""
    except StopIteration:
        sys.exit(f"{path.name} has no package.json, so npm did not pack it")
    except (OSError, EOFError, tarfile.TarError, zlib.error) as trouble:
        sys.exit(f"{path.name} cannot be read as a file that npm packed: {trouble}")
    return package(text, path.name)


def package(text: bytes, where: str) -> tuple[str, str]:
    """Return the name and version in a package.json."""
    try:
        known = json.loads(text)
        name, version = known["name"], known["version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        sys.exit(f"the package.json of {where} has no name and version")
    if name not in NAMES:
        sys.exit(f"{where} is the package {name}, not {GRPC} or {XDS}")
    if not isinstance(version, str):
        sys.exit(f"the package.json of {where} has a version that is no string")
    return name, version


def checkout(folder: Path) -> dict[str, tuple[Path, str]]:
    """Return the packages of a checkout, if they have been built."""
    found: dict[str, tuple[Path, str]] = {}
    for name in NAMES:
        own = folder / name.rpartition("/")[2]
        try:
            text = (own / "package.json").read_bytes()
        except OSError as trouble:
            sys.exit(f"packages/{own.name}/package.json cannot be read: {trouble.strerror}")
        called, version = package(text, f"packages/{own.name}")
        if called != name:
            sys.exit(f"packages/{own.name} is the package {called}, not {name}")
        require_built(own)
        found[name] = own, version
    protos = folder / "grpc-js-xds" / "deps" / "envoy-api" / "envoy"
    if not protos.is_dir():
        sys.exit(f"there is no {protos}: run `git submodule update --init --recursive` there")
    return found


def require_built(own: Path) -> None:
    """Leave unless each source file has been compiled after its last change."""
    how = f"run `npm install && npm run compile` in {own}"
    if not (own / "build" / "src" / "index.js").is_file():
        sys.exit(f"packages/{own.name} has not been built: {how}")
    for path in sorted((own / "src").rglob("*.ts")):
        if path.name.endswith(".d.ts"):
            continue
        made = own / "build" / "src" / path.relative_to(own / "src").with_suffix(".js")
        try:
            is_old = made.stat().st_mtime_ns < path.stat().st_mtime_ns
        except OSError:
            is_old = True
        if is_old:
            sys.exit(f"{path.relative_to(own.parent)} has changed since it was compiled: {how}")


def is_checkout(folder: Path) -> bool:
    """Return whether a folder contains the folders of both packages."""
    return all((folder / "packages" / name.rpartition("/")[2]).is_dir() for name in NAMES)


def pinned_for(version: str) -> str:
    """Return the release of grpc-js-xds that fits a grpc-js without one."""
    own = json.loads(Path(__file__).with_name("package.json").read_text("utf-8"))
    pinned: str = own["dependencies"][XDS]
    if version.split(".")[:2] != pinned.split(".")[:2]:
        sys.exit(
            f"{GRPC} {version} needs a {XDS} that is made for it, and the adapter has {pinned}: "
            "name a folder with the tarballs of both"
        )
    return pinned


def put(found: dict[str, tuple[Path, str]], folder: Path) -> None:
    """Let npm find them under names without anything odd."""
    for name, (path, _) in found.items():
        short = name.rpartition("/")[2]
        if path.is_dir():
            (folder / short).symlink_to(path.resolve())
        else:
            (folder / f"{short}.tgz").write_bytes(path.read_bytes())


if __name__ == "__main__":
    main()
