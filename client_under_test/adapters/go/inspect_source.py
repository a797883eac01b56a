"""Print the version of the grpc-go in a folder, or say why the folder has none."""
# ruff: noqa: INP001 - a program

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

MODULE = "google.golang.org/grpc"


def main() -> None:
    """Look at the folder that the argument names."""
    folder = Path(sys.argv[1])
    if not folder.is_dir():
        sys.exit("it is a file")
    name = module_of(folder)
    if name is None:
        above = next(
            (parent for parent in folder.resolve().parents if module_of(parent) == MODULE), None
        )
        sys.exit("it has no go.mod" + (f"; did you mean {above}?" if above else ""))
    if name != MODULE:
        sys.exit(f"its go.mod is that of the module {name}")
    try:
        text = (folder / "version.go").read_text("utf-8")
    except (OSError, UnicodeDecodeError) as trouble:
        sys.exit(f"its version.go cannot be read: {trouble}")
    found = re.search(r'^(?:const )?\s*Version\s*=\s*"([^"]+)"', text, re.MULTILINE)
    if found is None:
        sys.exit("its version.go has no constant Version")
    sys.stdout.write(json.dumps({"version": found[1]}))


def module_of(folder: Path) -> str | None:
    """Return the module path of a folder's go.mod; None if the file does not exist."""
    try:
        text = (folder / "go.mod").read_text("utf-8", "replace")
    except OSError:
        return None
    found = re.search(r'^module\s+"?([^\s"]+)', text, re.MULTILINE)
    return found[1] if found else ""


if __name__ == "__main__":
    main()
