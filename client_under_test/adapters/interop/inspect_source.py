"""Print the version of the bridge for a stock client, or say why a path is none.

A stock client cannot say its own version.
"""

from __future__ import annotations

import json
import os
import sys
import tomllib
from pathlib import Path


def main() -> None:
    """Look at the path that the argument names."""
    path = Path(sys.argv[1])
    if not path.is_file():
        sys.exit("it is a folder: name the program")
    if not os.access(path, os.X_OK):
        sys.exit(
            f"it cannot be executed: run `chmod +x {path}`, "
            "or name a whole command with --env XDSPEC_INTEROP_CLIENT=..."
        )
    stated = tomllib.loads(Path(__file__).with_name("client.toml").read_text("utf-8"))
    sys.stdout.write(json.dumps({"version": stated["version"]}))


if __name__ == "__main__":
    main()
