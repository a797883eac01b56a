"""`python -m client_under_test.reference`: the adapter."""

import asyncio

from client_under_test.reference.adapter import main

if __name__ == "__main__":
    asyncio.run(main())
