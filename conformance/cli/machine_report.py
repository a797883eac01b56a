"""What this machine and this user on it can do, and what is skipped because of what they cannot."""

from __future__ import annotations

import asyncio
import os
import platform
import pwd
import re
import shutil
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from client_under_test.contract.exceptions import NoOwnHosts
from client_under_test.launching.private_names import with_private_names, write_private_names
from conformance.runner import preflight
from conformance.runner.files import scratch
from conformance.runner.jobs import cores, default_jobs
from regular_files import read_text
from test_servers import NameServer
from test_servers.exceptions import FleetTrouble, PortForbidden

BROWSERS: Final = ("chromium", "chromium-browser", "chrome")
"""Programs that the tests of pages can steer; the first one that is there counts."""

BY_NAME_SERVER: Final = ("dns.*", "dns_reresolution.*", "dns_names.*")
"""Scenarios whose names are looked up at a name server of the suite, which needs port 53."""

BY_HOSTS: Final = (*BY_NAME_SERVER, "endpoint_addresses.logical_dns*")
"""Scenarios that give a client host names of its own, which needs a mount namespace."""

BY_IPV6: Final = ("dns_names.invalid_name[ipv6]",)

_MEMORY: Final = Path("/proc/meminfo")
_GIB: Final = 1 << 30


class Ability(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a run or a test of the suite needs of a machine.

    Attributes:
        name: what it is.
        is_here: whether this machine and this user have it.
        seen: what was found, or why it is not there.
        skipped: what is skipped without it; unset, everything stops.
        do: what would bring it; empty, if `seen` says so.
    """

    name: str
    is_here: bool
    seen: str
    skipped: str = ""
    do: str = ""


def survey() -> tuple[Ability, ...]:
    """Try each ability."""
    return tuple(look() for look in (_carries, _namespaces, _port_53, _ipv6, _git, _browser))


def lines(abilities: Iterable[Ability]) -> Iterator[str]:
    """Return the survey as text for a terminal."""
    yield f"This machine: {_system()}"
    yield f"  {_resources()}"
    for ability in abilities:
        yield f"  {'yes' if ability.is_here else 'no':4} {ability.name:11} {ability.seen}"
        if not ability.is_here:
            yield f"{'':19}skipped: {ability.skipped or 'every run, with exit code 3'}"
            if ability.do:
                yield f"{'':19}do: {ability.do}"


def _system() -> str:
    system = (
        platform.freedesktop_os_release()["PRETTY_NAME"] if _has_release() else platform.system()
    )
    return f"{system}, Python {platform.python_version()}, {_user()}"


def _has_release() -> bool:
    return any(Path(path).is_file() for path in ("/etc/os-release", "/usr/lib/os-release"))


def _user() -> str:
    """Return the user; in a container, a number may have no name."""
    try:
        return f"user {pwd.getpwuid(os.geteuid()).pw_name}"
    except KeyError:
        return f"user {os.geteuid()}, which has no name"


def _resources() -> str:
    jobs = f"{default_jobs()} scenarios at once unless --jobs says otherwise"
    found = f"{cores()} {'core' if cores() == 1 else 'cores'}: {jobs}"
    if _MEMORY.is_file():
        text = read_text(_MEMORY)
        kilobytes = dict(re.findall(r"^(MemTotal|MemAvailable): +(\d+) kB$", text, re.MULTILINE))
        total, free = (
            int(kilobytes.get(field, 0)) * 1024 / _GIB for field in ("MemTotal", "MemAvailable")
        )
        found += f"; {total:.1f} GiB of memory, {free:.1f} GiB available"
    return found


def _carries() -> Ability:
    try:
        preflight.check(default_jobs())
    except preflight.Unfit as unfit:
        return Ability(name="loopback", is_here=False, seen=str(unfit))
    seen = f"connections to {preflight.ADDRESS}, and threads for {default_jobs()} scenarios"
    return Ability(name="loopback", is_here=True, seen=seen)


def _namespaces() -> Ability:
    skipped = f"scenarios with private host names: {', '.join(BY_HOSTS)}"
    seen, is_here = "a client can have private host names", True
    try:
        with scratch() as folder:
            with_private_names(write_private_names(folder / "names", {}))
    except NoOwnHosts as lacking:
        seen, is_here = str(lacking), False
    return Ability(name="namespaces", is_here=is_here, seen=seen, skipped=skipped)


def _port_53() -> Ability:
    skipped = f"scenarios with a name server: {', '.join(BY_NAME_SERVER)}"

    async def begin_and_stop() -> None:
        await (await NameServer.start({})).stop()

    seen, is_here = "a name server can listen at 127.53.0.0/16", True
    try:
        asyncio.run(begin_and_stop())
    except (PortForbidden, FleetTrouble) as lacking:
        seen, is_here = str(lacking), False
    return Ability(name="port 53", is_here=is_here, seen=seen, skipped=skipped)


def _ipv6() -> Ability:
    seen, is_here = "servers can listen at ::1", True
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError as trouble:
        seen, is_here = f"servers cannot listen at ::1: {trouble.strerror or trouble}", False
    return Ability(
        name="IPv6",
        is_here=is_here,
        seen=seen,
        skipped=f"{', '.join(BY_IPV6)}, and tests of IPv6",
        do="sysctl net.ipv6.conf.lo.disable_ipv6=0; of a container, give it an IPv6 loopback",
    )


def _program(name: str, programs: Iterable[str], skipped: str, do: str) -> Ability:
    found = next(filter(None, map(shutil.which, programs)), None)
    seen = found or "is not installed"
    return Ability(name=name, is_here=found is not None, seen=seen, skipped=skipped, do=do)


def _git() -> Ability:
    skipped = "the commit of the suite in reports, and tests of a change's turn in CI"
    return _program("git", ("git",), skipped, "install git from the system's packages")


def _browser() -> Ability:
    skipped = "tests of pages in a browser"
    return _program("browser", BROWSERS, skipped, "install Chromium from the system's packages")
