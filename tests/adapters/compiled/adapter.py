"""The reference client as a program that is built from a library: `adapter.py OUTPUT`.

The library's file `ring` says whether the client rounds the size of a ring down, as a mutant does.
"""

import asyncio
import os
import sys
from pathlib import Path

from client_under_test.reference import adapter
from client_under_test.reference.editions.behavior import MUTANT_VARIABLE

output = Path(sys.argv[1])
if (output / "ring").read_text("utf-8").strip() == "down":
    os.environ[MUTANT_VARIABLE] = "conformance.mutation.mutants.a42.ring:rounded_down"
vars(adapter).update(NAME="compiled", VERSION=(output / "version").read_text("utf-8").strip())
asyncio.run(adapter.main())
