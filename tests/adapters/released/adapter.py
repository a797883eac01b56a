"""The reference client as a project that has versions: `adapter.py VERSION`.

From 1.5 on it breaks A42-RING-05, as one of the mutants does. In 1.2 alone it exits at once.
"""

import asyncio
import os
import sys

from client_under_test.reference import adapter
from client_under_test.reference.editions.behavior import MUTANT_VARIABLE

BROKEN = "conformance.mutation.mutants.ring_hash.ring:rounded_down"

version = sys.argv[1]
if version.startswith("1.2."):
    sys.exit("no licence")
if version >= "1.5":
    os.environ[MUTANT_VARIABLE] = BROKEN
vars(adapter).update(NAME="released", VERSION=version)
asyncio.run(adapter.main())
