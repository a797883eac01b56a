"""A process with host names of its own."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from client_under_test.contract.exceptions import NoOwnHosts
from client_under_test.launching.private_names import with_private_names, write_private_names
from test_servers import NameRecords, NameServer, PortForbidden

NAMES = {"several.xdspec.test": ("127.0.0.2", "127.0.0.3")}
ASK = ("getent", "ahostsv4")
ETC = ("hosts", "resolv.conf", "nsswitch.conf")


def entered(folder: Path, server: str | None = None) -> tuple[str, ...]:
    try:
        return with_private_names(write_private_names(folder / "names", NAMES, server=server))
    except NoOwnHosts as lacking:
        pytest.skip(str(lacking))


def contents() -> list[bytes | None]:
    paths = [Path("/etc") / name for name in ETC]
    return [path.read_bytes() if path.exists() else None for path in paths]


def looked_up(within: tuple[str, ...], name: str) -> set[str]:
    asked = [*within, *ASK, name]
    inside = subprocess.run(asked, check=True, capture_output=True, text=True)
    return {line.split()[0] for line in inside.stdout.splitlines()}


def test_a_name_of_several_addresses(tmp_path: Path) -> None:
    """It is known behind the command, and nowhere else."""
    before = contents()
    assert looked_up(entered(tmp_path), "several.xdspec.test") == {"127.0.0.2", "127.0.0.3"}
    assert contents() == before


async def test_other_names_are_asked_for_at_the_server(tmp_path: Path) -> None:
    """Without being completed, and the table comes before it."""
    try:
        server = await NameServer.start({"asked.xdspec.test": NameRecords(("127.0.0.9",))})
    except PortForbidden as forbidden:
        pytest.skip(str(forbidden))
    within = entered(tmp_path, server.host)
    for name in ("asked.xdspec.test", "several.xdspec.test", "nobody.xdspec.test"):
        await asyncio.to_thread(subprocess.run, [*within, *ASK, name], check=False)
    await server.stop()
    asked = {query.question.name for query in server.queries}
    assert asked == {"asked.xdspec.test", "nobody.xdspec.test"}


def test_who_reads_old_words_gives_a_silent_server_up_as_soon(tmp_path: Path) -> None:
    """Who knows both goes by what comes later, and the old word counts thousandths of a second."""
    told = subprocess.run(
        [*entered(tmp_path), "cat", "/etc/resolv.conf"], check=True, capture_output=True, text=True
    )
    (options,) = (
        line.split()[1:] for line in told.stdout.splitlines() if line.startswith("options")
    )
    assert options == ["retrans:1000", "retry:1", "timeout:1", "attempts:1"]


def test_a_machine_that_cannot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason is told in a sentence."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoOwnHosts, match=r"private host names: .*unshare"):
        with_private_names(write_private_names(tmp_path, NAMES))


def test_a_container_that_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So is what would allow it."""
    refusing = tmp_path / "bin" / "unshare"
    refusing.parent.mkdir()
    refusing.write_text("#!/bin/sh\necho unshare: Operation not permitted >&2\nexit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setenv("PATH", f"{refusing.parent}:{os.environ['PATH']}")
    with pytest.raises(NoOwnHosts, match=r"not permitted\. Allow .*--cap-add SYS_ADMIN"):
        with_private_names(write_private_names(tmp_path / "names", NAMES))
