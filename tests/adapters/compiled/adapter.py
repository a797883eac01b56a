"""The reference client as a program that is built from a library: `adapter.py OUTPUT`.

The library's file `ring` says whether the client rounds the size of a ring down, as a mutant does.
With `down 2` it does so only when it is started for the second time.
"""

import asyncio
import os
import sys
from pathlib import Path

from client_under_test.reference import adapter
from client_under_test.reference.editions.behavior import MUTANT_VARIABLE

output = Path(sys.argv[1])
ring, _, only = (output / "ring").read_text("utf-8").strip().partition(" ")
is_down = ring == "down"
if only:
    starts = Path(os.environ["COMPILED_LIBRARY"]).with_name("starts")
    with starts.open("a") as opened:
        opened.write("x")
    is_down = is_down and starts.stat().st_size == int(only)
if is_down:
    os.environ[MUTANT_VARIABLE] = "conformance.mutation.mutants.ring_hash.ring:rounded_down"
vars(adapter).update(NAME="compiled", VERSION=(output / "version").read_text("utf-8").strip())
asyncio.run(adapter.main())
