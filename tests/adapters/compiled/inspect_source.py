"""Print the version of the library in a folder."""

import json
import sys
from pathlib import Path

version = Path(sys.argv[1], "version")
if not version.is_file():
    sys.exit("it has no version")
sys.stdout.write(json.dumps({"version": version.read_text("utf-8")}))
