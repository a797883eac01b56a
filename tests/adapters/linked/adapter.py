"""The reference client behind a program that is linked to a library.

The program sets what the library says: its version, and the mutant that stands for what the library
does.
"""

import asyncio
import os

from client_under_test.reference import adapter

vars(adapter).update(NAME="linked", VERSION=os.environ["LINKED_VERSION"])
asyncio.run(adapter.main())
