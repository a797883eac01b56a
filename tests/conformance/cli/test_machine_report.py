"""What `xdspec doctor` says of a machine: what it cannot do, what is skipped, what would help."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import pytest

from conformance.cli.machine_report import Ability, lines, survey
from conformance.runner import preflight
from test_servers import NameServer
from test_servers.exceptions import PortForbidden


def by_name() -> dict[str, Ability]:
    return {check.name: check for check in survey()}


def test_an_ability_that_is_not_here_says_what_is_skipped_and_what_to_do() -> None:
    there = Ability(name="git", is_here=True, seen="/usr/bin/git", skipped="much", do="nothing")
    lacking = Ability(name="IPv6", is_here=False, seen="no ::1", skipped="dns_names", do="ask")
    _, resources, *rows = lines([there, lacking])
    assert "scenarios at once unless --jobs says otherwise" in resources
    assert [" ".join(row.split()) for row in rows] == [
        "yes git /usr/bin/git",
        "no IPv6 no ::1",
        "skipped: dns_names",
        "do: ask",
    ]


def test_all_of_it_fits_on_one_screen() -> None:
    assert len([*lines(survey())]) <= 24


def test_programs_are_looked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = by_name()
    assert not any(found[name].is_here for name in ("git", "browser", "namespaces"))
    assert "unshare" in found["namespaces"].seen
    (tmp_path / "git").write_text("#!/bin/sh\n")
    (tmp_path / "git").chmod(0o755)
    assert by_name()["git"].seen == str(tmp_path / "git")


def test_a_refused_namespace_says_what_would_allow_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    refusing = tmp_path / "unshare"
    refusing.write_text("#!/bin/sh\necho unshare: Operation not permitted >&2\nexit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = by_name()["namespaces"]
    assert not found.is_here
    assert "Operation not permitted. Allow it to make mount namespaces" in found.seen
    assert "endpoint_addresses.logical_dns" in found.skipped


def test_port_53_is_listened_at(monkeypatch: pytest.MonkeyPatch) -> None:
    async def forbidden(*_: object) -> NameServer:
        raise PortForbidden("a name server needs port 53: Permission denied")

    can = _can_listen()
    assert by_name()["port 53"].is_here == can
    monkeypatch.setattr(NameServer, "start", forbidden)
    found = by_name()["port 53"]
    assert (found.is_here, found.seen) == (False, "a name server needs port 53: Permission denied")


def _can_listen() -> bool:
    async def begin() -> None:
        await (await NameServer.start({})).stop()

    try:
        asyncio.run(begin())
    except PortForbidden:
        return False
    return True


def test_ipv6_is_listened_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> socket.socket:
        raise OSError(99, "Cannot assign requested address")

    monkeypatch.setattr(preflight, "check", lambda _jobs: None)
    monkeypatch.setattr(socket, "create_server", refused)
    found = by_name()["IPv6"]
    assert (found.is_here, found.seen) == (
        False,
        "servers cannot listen at ::1: Cannot assign requested address",
    )


def test_a_machine_that_cannot_carry_a_run_stops_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unfit(_jobs: int) -> None:
        raise preflight.Unfit("this machine does not let the suite connect to itself")

    monkeypatch.setattr(preflight, "check", unfit)
    rows = "\n".join(lines(survey()))
    assert "no   loopback    this machine does not let the suite connect to itself" in rows
    assert "skipped: every run, with exit code 3" in rows
