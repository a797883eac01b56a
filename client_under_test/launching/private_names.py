"""A table of host names for one client process alone, where the machine has mount namespaces."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from client_under_test.contract.exceptions import NoOwnHosts

_TABLE: Final = "/etc/hosts"
_NAME_SERVERS: Final = "/etc/resolv.conf"

_MOUNT: Final = (
    f'mount --bind "$0" {_TABLE} && mount --bind "$1" {_NAME_SERVERS} && shift && exec "$@"'
)

_SECONDS: Final = 10.0
"""Far more than a mount takes."""


def write_private_names(folder: Path, names: Mapping[str, Iterable[str]]) -> tuple[Path, Path]:
    """Write a table with these addresses by name, and a list of name servers that has none."""
    table, servers = folder / "hosts", folder / "resolv.conf"
    rows = [("127.0.0.1", "localhost")]
    rows += [(address, name) for name, addresses in names.items() for address in addresses]
    table.write_text("".join(f"{address} {name}\n" for address, name in rows), "utf-8")
    # At this address nobody listens, which is told at once.
    servers.write_text("nameserver 127.0.0.1\n", "utf-8")
    return table, servers


def with_private_names(table: Path, servers: Path) -> tuple[str, ...]:
    """What stands before a command so that it sees these in the place of the machine's own.

    Who is not root needs a user namespace as well. That undoes the signal at the parent's death,
    so that such a process ends with its standard input only, as it does where there is no signal.

    Raises:
        NoOwnHosts: this machine, or this user on it, cannot do that.
    """
    user = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    command = ("unshare", *user, "--mount", "sh", "-c", _MOUNT, str(table), str(servers))
    try:
        tried = subprocess.run(
            [*command, "true"],
            check=False,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as trouble:
        raise NoOwnHosts(f"a client cannot be given host names of its own: {trouble}") from None
    if tried.returncode:
        said = tried.stderr.strip() or f"unshare ended with {tried.returncode}"
        raise NoOwnHosts(f"a client cannot be given host names of its own: {said}")
    return command
