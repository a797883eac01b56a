"""The check of a bootstrap for each channel, on adapters that have it, and have it wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from client_under_test.doctor import deadlines
from client_under_test.doctor.adapter_under_check import AdapterUnderCheck
from client_under_test.doctor.backend import Backend
from client_under_test.doctor.requirements import Violation
from client_under_test.doctor.rules import bootstrap, checks_for
from client_under_test.environments import prepare
from client_under_test.manifests.clients import find

ADAPTERS = Path(__file__).parents[2] / "adapters"
(CHECK,) = bootstrap.CHECKS


@asynccontextmanager
async def examined(name: str, folder: Path) -> AsyncIterator[AdapterUnderCheck]:
    prepared = prepare(find(str(ADAPTERS / "sharer")))
    command = (*prepared.command[:-1], name)
    async with Backend.running() as backend:
        made = msgspec.structs.replace(prepared, command=command)
        adapter = AdapterUnderCheck(made, folder, backend, lambda _line: None)
        try:
            yield adapter
        finally:
            await adapter.end()


async def test_each_channel_has_its_own(tmp_path: Path) -> None:
    async with examined("sharer", tmp_path) as adapter:
        await CHECK.run(adapter)


async def test_the_first_one_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "ANSWER_DEADLINE", deadlines.ANSWER_DEADLINE / 5)
    async with examined("rooted", tmp_path) as adapter:
        with pytest.raises(
            Violation, match="the second of two channels did not connect to the contr"
        ):
            await CHECK.run(adapter)


def test_it_is_asked_of_nobody_else() -> None:
    assert CHECK in checks_for(("watch", "bootstrap_per_channel"))
    assert CHECK not in checks_for(("watch", "custom_policy"))
