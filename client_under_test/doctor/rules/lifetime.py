"""Rules of how the process ends."""

from __future__ import annotations

from typing import Final

from client_under_test.contract.exceptions import signal_name
from client_under_test.doctor.adapter_under_check import AdapterUnderCheck
from client_under_test.doctor.check import check
from client_under_test.doctor.deadlines import ANSWER_DEADLINE
from client_under_test.doctor.requirements import require


@check(
    "end",
    rule="the end of stdin ends the process with code 0, whatever is in progress",
    advice="exit with code 0 as soon as stdin ends; wait for no call and close nothing",
    after="open-channel",
)
async def _end(adapter: AdapterUnderCheck) -> None:
    channel, process = await adapter.channel(), await adapter.process()
    await channel.start_calls([adapter.call("sleep-9000")])
    ended = await process.close(deadline=ANSWER_DEADLINE)
    await adapter.end()
    require(not ended.killed, "the adapter kept running and had to be killed")
    require(ended.signal is None, f"the adapter died by {signal_name(ended.signal or 0)}")
    require(ended.code == 0, f"the exit code was {ended.code}")


CHECKS: Final = (_end,)
