"""A client that does not see the host names that it was given is not failed for that."""

from __future__ import annotations

import os
import shutil
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from client_under_test.contract.exceptions import NoOwnHosts
from client_under_test.launching.private_names import with_private_names, write_private_names
from conformance.cli import machine_report
from test_servers import NameServer
from test_servers.exceptions import PortForbidden

SECLUDED = Path(__file__).parents[2] / "adapters" / "secluded"
SCENARIO = "endpoint_addresses.logical_dns"
BROKEN = "conformance.mutation.mutants.ring_hash.endpoint_addresses:name_without_addresses"


@pytest.fixture(autouse=True)
def _possible(tmp_path: Path) -> None:
    try:
        with_private_names(write_private_names(tmp_path, {}))
    except NoOwnHosts as lacking:
        pytest.skip(str(lacking))


async def port_53() -> None:
    """Skip a test that needs a name server where this user may not start one."""
    try:
        await (await NameServer.start({})).stop()
    except PortForbidden as forbidden:
        pytest.skip(str(forbidden))


async def test_who_sees_no_names_is_not_asked_for_what_stands_behind_them(xdspec: Any) -> None:
    ended = await xdspec.run("run", str(SECLUDED), "--scenario", SCENARIO)
    found = ended.clauses["A61-DNS-01"]
    assert (found["verdict"], found["reason"]) == ("skip", "environment"), ended.said
    assert "to dns:///several.xdspec.test:" in ended.out
    assert "copy that file into the client's chroot or container. `xdspec doctor`" in ended.out


async def test_who_sees_them_and_uses_no_address_has_failed(xdspec: Any) -> None:
    ended = await xdspec.run(
        *("run", "reference", "--scenario", SCENARIO),
        *("--env", f"XDSPEC_REFERENCE_MUTANT={BROKEN}"),
    )
    found = ended.clauses["A61-DNS-01"]
    assert (found["verdict"], found["reason"]) == ("fail", "deviates"), ended.said


@pytest.mark.slow
async def test_who_may_make_no_namespace_is_told_what_would_allow_it(
    xdspec: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing fails in a container that refuses mounts, and nothing passes for it."""
    refusing = tmp_path / "bin" / "unshare"
    refusing.parent.mkdir()
    refusing.write_text("#!/bin/sh\necho unshare: Operation not permitted >&2\nexit 1\n", "utf-8")
    refusing.chmod(0o755)
    monkeypatch.setenv("PATH", f"{refusing.parent}:{os.environ['PATH']}")
    wanted = ("--scenario", "dns*", "--scenario", "endpoint_addresses.*", "--jobs", "4")
    ended = await xdspec.run("run", "reference", *wanted)
    assert ended.code == 0, ended.said
    found = ended.clauses["A61-DNS-01"]
    assert (found["verdict"], found["reason"]) == ("skip", "environment"), ended.said
    skipped = {
        name for name, scenario in ended.scenarios.items() if scenario["reason"] == "environment"
    }
    as_doctor_says = {
        name
        for name in ended.scenarios
        if any(fnmatchcase(name, host) for host in machine_report.BY_HOSTS)
    }
    assert skipped == as_doctor_says
    assert "Allow it to make mount namespaces: as root" in ended.out


NO_MOUNTS = ("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-all")
"""What a container leaves its root without, unless somebody asks for it."""


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a capability up for others")
@pytest.mark.skipif(shutil.which(NO_MOUNTS[0]) is None, reason="setpriv of util-linux is missing")
async def test_nothing_about_names_fails_where_root_may_not_mount(started: Any) -> None:
    """Of the scenarios of LOGICAL_DNS those without names pass, and the others have their hint."""
    async with started("run", "reference", "--scenario", "dns*", by=NO_MOUNTS) as running:
        ended = await running.ended()
    assert ended.code == 0, ended.said
    skipped = [clause for clause in ended.clauses.values() if clause["verdict"] != "pass"]
    assert {(result["verdict"], result["reason"]) for result in skipped} == {
        ("skip", "environment")
    }
    reasons = {result["seen"][0] for result in skipped}
    reasons.discard("this machine has no address ::1 (EADDRNOTAVAIL)")
    assert reasons
    assert all("Allow it to make mount namespaces" in reason for reason in reasons)
    assert ended.clauses["A37-DNS-13"]["verdict"] == "pass"


@pytest.mark.slow
async def test_who_asks_elsewhere_is_not_failed(xdspec: Any) -> None:
    await port_53()
    ended = await xdspec.run("run", str(SECLUDED), "--scenario", "dns.name_and_port")
    found = ended.clauses["A37-DNS-01"]
    assert (found["verdict"], found["reason"]) == ("skip", "environment"), ended.said
    assert "does not query the private name server of its process" in ended.out
