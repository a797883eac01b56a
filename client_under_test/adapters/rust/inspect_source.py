"""Print the version of the tonic-xds in a folder, or say why the folder has none.

With a second argument, a file, write the Cargo.toml there that has cargo take the crates from a
link `source`, which this makes beside it.
"""
# ruff: noqa: INP001 - a program

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

TONIC_XDS: Final = "tonic-xds"
XDS_CLIENT: Final = "xds-client"

Table = dict[str, Any]


def main() -> None:
    """Look at the folder that the first argument names."""
    path, *file = map(Path, sys.argv[1:])
    crates = crates_in(path)
    if file:
        write(path, crates, file[0])
        return
    sys.stdout.write(json.dumps({"version": version_of(path, crates[TONIC_XDS])}))


def crates_in(path: Path) -> dict[str, Path]:
    """Return the folders of the crates below the path."""
    if not path.is_dir():
        sys.exit("it is a file")
    name = name_of(path)
    if name == TONIC_XDS:
        above = path.resolve().parent
        if is_part_of_workspace(manifest_in(path)):
            sys.exit(f"this crate belongs to a workspace: did you mean {above}?")
        return {TONIC_XDS: Path()}
    if name is not None:
        sys.exit(f"its Cargo.toml is that of the crate {name}")
    names: tuple[str, ...] = (TONIC_XDS, XDS_CLIENT)
    found = {crate: Path(crate) for crate in names if name_of(path / crate) == crate}
    if TONIC_XDS not in found:
        near = [
            parent for parent in path.resolve().parents if name_of(parent / TONIC_XDS) == TONIC_XDS
        ]
        hint = f"; did you mean {near[0]}?" if near else ""
        sys.exit(f"it has no {TONIC_XDS}/Cargo.toml{hint}")
    return found


def manifest_in(folder: Path) -> Table | None:
    """Return the content of a folder's Cargo.toml; None if the file does not exist."""
    try:
        return tomllib.loads((folder / "Cargo.toml").read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as trouble:
        sys.exit(f"{folder / 'Cargo.toml'} cannot be read: {trouble}")


def name_of(folder: Path) -> str | None:
    """Return the name of the crate in a folder; None for a folder such as a workspace's root."""
    package = (manifest_in(folder) or {}).get("package")
    return str(package.get("name")) if isinstance(package, dict) else None


def is_part_of_workspace(manifest: Table | None) -> bool:
    """Return whether a crate inherits from a workspace, or depends on a sibling crate."""
    tables = [manifest or {}]
    for table in tables:
        if table.get("workspace") is True:
            return True
        if str(table.get("path", "")).startswith(".."):
            return True
        tables += [section for section in table.values() if isinstance(section, dict)]
    return False


def version_of(path: Path, crate: Path) -> str:
    """Return the version of a crate, which may be the version of its workspace."""
    package = (manifest_in(path / crate) or {}).get("package", {})
    version = package.get("version")
    if isinstance(version, dict):
        shared = (manifest_in(path) or {}).get("workspace", {}).get("package", {})
        version = shared.get("version")
    if not isinstance(version, str):
        sys.exit(f"{path / crate / 'Cargo.toml'} has no version")
    return version


def write(path: Path, crates: dict[str, Path], file: Path) -> None:
    """Write the adapter's Cargo.toml with the versions of these crates, and where they are.

    A path may have anything in it, so cargo finds them by a link.
    """
    text = Path(__file__).with_name("Cargo.toml").read_text("utf-8")
    versions = {name: f"={version_of(path, crate)}" for name, crate in crates.items()}
    needed = (manifest_in(path / crates[TONIC_XDS]) or {}).get("dependencies", {})
    if XDS_CLIENT not in versions and XDS_CLIENT in needed:
        beside = needed[XDS_CLIENT]
        versions[XDS_CLIENT] = beside["version"] if isinstance(beside, dict) else beside
    for name, version in versions.items():
        text = re.sub(
            rf'^{name} = "[^"]*"', f"{name} = {json.dumps(version)}", text, flags=re.MULTILINE
        )
    (file.parent / "source").symlink_to(path.resolve())
    lines = [
        f"{name} = {{ path = {json.dumps(str(Path('source', crate)))} }}"
        for name, crate in crates.items()
    ]
    file.write_text("\n".join([text, "[patch.crates-io]", *lines, ""]), "utf-8")


if __name__ == "__main__":
    main()
