"""A client with a build, in a separate folder."""

from __future__ import annotations

import sys
from pathlib import Path

MANIFEST = """
name = "built"
version = "2.1"
issues = "https://example.com/issues"
capabilities = []
[build]
command = {command}
sources = []
[[build.tools]]
program = "{tool}"
ask = ["sh", "-c", "echo this is version 3.10.2 of 2020"]
at-least = "3.9"
get = "install it from your system"
[start]
command = ["{{output}}/program"]
environment = {{ A = "start", B = "start" }}
[[editions]]
follows = ["A42"]
[variants.other]
environment = {{ B = "variant" }}
follows-also = ["A76"]
"""

# Counts how often it is run, and is slow enough that two makers overlap.
MAKE = """
import pathlib, sys, time
output = pathlib.Path(sys.argv[1])
time.sleep(0.2)
with pathlib.Path(sys.argv[2]).open("a") as count:
    count.write("made\\n")
(output / "program").write_text("done")
"""


def client_folder(tmp_path: Path, code: str = MAKE, tool: str = "sh") -> Path:
    folder = tmp_path / "client"
    folder.mkdir()
    (folder / "make.py").write_text(code)
    count = tmp_path / "count"
    command = [sys.executable, "-I", "{folder}/make.py", "{output}", str(count)]
    (folder / "client.toml").write_text(MANIFEST.format(command=command, tool=tool))
    return folder
