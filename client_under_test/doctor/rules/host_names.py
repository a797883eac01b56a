"""Rules of how names are looked up."""

from __future__ import annotations

import asyncio
from typing import Final

from client_under_test.contract.exceptions import ConversationFailed, NoOwnHosts, NotSeen
from client_under_test.doctor.check import check
from client_under_test.doctor.demands import Lacking
from client_under_test.doctor.examined_adapter import ExaminedAdapter
from client_under_test.launching.private_names import with_private_names, write_private_names

# A name that is in the table of hosts of one process alone.
_NAME: Final = "doctor.xdspec.test"


@check(
    "host-names",
    rule="a name is looked up in the table of hosts that the adapter's process sees",
    advice="",  # who does not is not wrong
    after="unary",
)
async def _host_names(adapter: ExaminedAdapter) -> None:
    """In this way a run gives names to a process, for LOGICAL_DNS. It may be unable to see them."""
    address, _, port = adapter.backend.address.rpartition(":")
    try:
        names = write_private_names(adapter.folder / "names", {_NAME: (address,)})
        await adapter.replaced(await asyncio.to_thread(with_private_names, names))
        outcome = await adapter.outcome(adapter.call(), f"{_NAME}:{port}")
        became = "" if outcome.status == "OK" else f"{outcome.status} ({outcome.details})"
    except NoOwnHosts as lacking:
        raise Lacking(str(lacking)) from None
    except (ConversationFailed, NotSeen) as failure:
        became = f"{failure}"
    await adapter.end()
    if became:
        raise Lacking(
            f"what became of a call to {_NAME}, which is there: {became}. Scenarios that need such "
            "names will be skipped. Start the client so that it reads the /etc/hosts of its "
            "adapter, in no chroot or container of its own"
        )


CHECKS: Final = (_host_names,)
