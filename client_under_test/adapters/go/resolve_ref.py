"""Print where the module cache has the grpc-go that a branch, tag or commit names."""
# ruff: noqa: INP001 - a program

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile

MODULE = "google.golang.org/grpc"


def main() -> None:
    """Have the Go command fetch what the argument names."""
    with tempfile.TemporaryDirectory() as folder:  # else a go.mod around it would have its say
        try:
            done = subprocess.run(
                ["go", "mod", "download", "-json", f"{MODULE}@{sys.argv[1]}"],
                cwd=folder,
                check=False,
                capture_output=True,
                encoding="utf-8",
            )
        except OSError as trouble:
            sys.exit(f"go cannot be started: {trouble.strerror}")
    try:
        found = json.loads(done.stdout)
    except ValueError:
        sys.exit(done.stderr.strip())
    if "Error" in found or "Dir" not in found:
        sys.exit(" ".join(found.get("Error", done.stderr).split()))
    version = found["Version"]
    if re.fullmatch(r"v\d+\.\d+\.\d+", version):
        print_as_json(version=version.removeprefix("v"))
        return
    # v1.86.0-dev.0.20260801120000-0123456789ab ends in the commit, by which it is found again.
    commit = found.get("Origin", {}).get("Hash", "")
    short = version.rpartition("-")[2] if version.count("-") > 1 else ""
    print_as_json(
        source=found["Dir"],
        name=f"{MODULE}@{version}",
        commit=commit or short,
        ref=version,
    )


def print_as_json(**fields: str) -> None:
    """Print an object in one line."""
    sys.stdout.write(json.dumps(fields))


if __name__ == "__main__":
    main()
