"""Print the version of an Envoy binary, or say why a path is none."""
# ruff: noqa: INP001 - a program

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

ANSWER: Final = 60
"""In seconds. Envoy answers at once; a cold disk may need some seconds for 100 MB."""


def main() -> None:
    """Look at the path that the argument names."""
    path = Path(sys.argv[1])
    if not path.is_file():
        sys.exit("it is a folder: name the program")
    if not os.access(path, os.X_OK):
        sys.exit(f"it cannot be executed: run `chmod +x {path}`")
    try:
        done = subprocess.run(
            [path.absolute(), "--version"],
            check=False,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            encoding="utf-8",
            errors="replace",
            timeout=ANSWER,
        )
    except subprocess.TimeoutExpired:
        sys.exit(f"--version did not end within {ANSWER} s")
    except OSError as trouble:
        sys.exit(f"it cannot be started: {trouble.strerror}")
    # /usr/bin/envoy  version: 9e5580933739/1.40.0/Clean/RELEASE/BoringSSL
    found = re.search(r"version: \w+/([^/\s]+)/", done.stdout)
    if done.returncode != 0 or found is None:
        sys.exit("--version prints no version as Envoy does")
    sys.stdout.write(json.dumps({"version": found[1]}))


if __name__ == "__main__":
    main()
