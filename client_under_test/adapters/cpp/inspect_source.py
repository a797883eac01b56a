"""Print the version of the gRPC C++ in an install prefix, or say why the folder has none."""
# ruff: noqa: INP001 - a program

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Final

PLACES: Final = ("lib", "lib64", "lib/*-*-*", "share")
"""Where pkg-config's files are, below a prefix; the third is that of Debian."""

NAME: Final = "grpc++.pc"


def main() -> None:
    """Look at the folder that the argument names."""
    folder = Path(sys.argv[1])
    if not folder.is_dir():
        sys.exit("it is a file")
    file = described_in(folder)
    if file is None:
        sys.exit(f"it has no lib/pkgconfig/{NAME}{hint(folder)}")
    try:
        text = file.read_text("utf-8", "replace")
    except OSError as trouble:
        sys.exit(f"{file} cannot be read: {trouble.strerror}")
    version = re.search(r"^Version:\s*(\S+)", text, re.MULTILINE)
    if version is None:
        sys.exit(f"{file} has no Version")
    if not (folder / "include" / "grpcpp" / "grpcpp.h").is_file():
        sys.exit("it has no include/grpcpp/grpcpp.h")
    sys.stdout.write(json.dumps({"version": version[1]}))


def described_in(folder: Path) -> Path | None:
    """Return what pkg-config reports for the gRPC C++ installation in a folder."""
    found = [file for place in PLACES for file in folder.glob(f"{place}/pkgconfig/{NAME}")]
    return found[0] if found else None


def hint(folder: Path) -> str:
    """Return a hint at the path that the user probably means."""
    if (folder / "include" / "grpcpp").is_dir() and (folder / "CMakeLists.txt").is_file():
        return (
            ": it is a checkout. Install it into a folder with `cmake --install BUILD --prefix "
            "FOLDER`, then name FOLDER"
        )
    near = (*folder.resolve().parents, folder / "usr", folder / "usr" / "local")
    above = next(
        (candidate for candidate in near if described_in(candidate) and candidate != Path("/")),
        None,
    )
    return f"; did you mean {above}?" if above else ""


if __name__ == "__main__":
    main()
