"""Host names for one client process alone, where the machine has mount namespaces.

What the process sees in the place of the machine's own is a table of names, who else is asked, and
in which order. The C library reads these files, and so do the resolvers of c-ares and of Go.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from client_under_test.contract.exceptions import NoOwnHosts

_ETC: Final = Path("/etc")

_MOUNT: Final = (
    'while [ "$1" != -- ]; do mount --bind "$1" "$2" || exit; shift 2; done; shift; exec "$@"'
)

_ORDER: Final = "hosts: files dns\n"
"""The table first, then name servers; nothing else, such as a service that keeps answers."""

# No name server listens at this address, so a query fails at once.
_NOBODY: Final = "127.0.0.1"

# One try of a second, as who is silent stays so, also by the old words that C-core read in c-ares
# before 1.23; and no name is completed by the machine's domain.
_SERVERS: Final = (
    "nameserver {server}\noptions retrans:1000 retry:1 timeout:1 attempts:1\nsearch .\n"
)

_SECONDS: Final = 10.0
"""Far more than a mount takes."""

_LEAVE: Final = (
    "Allow it to make mount namespaces: as root, in a container by `docker run --cap-add SYS_ADMIN "
    "--security-opt apparmor=unconfined`, as another user by `sysctl user.max_user_namespaces=1000 "
    "kernel.apparmor_restrict_unprivileged_userns=0`"
)


class PrivateNames(msgspec.Struct, frozen=True):
    """Files that stand in the place of the machine's own: each with that one's path."""

    files: tuple[tuple[Path, Path], ...]


def write_private_names(
    folder: Path, names: Mapping[str, Iterable[str]], *, server: str | None = None
) -> PrivateNames:
    """Write a table with these addresses by name, and have this server asked for all others.

    Args:
        folder: which is made for them.
        names: the table, beside localhost.
        server: the address of a name server; else there is none.
    """
    rows = [("127.0.0.1", "localhost")]
    rows += [(address, name) for name, addresses in names.items() for address in addresses]
    contents = {
        "hosts": "".join(f"{address} {name}\n" for address, name in rows),
        "resolv.conf": _SERVERS.format(server=server or _NOBODY),
        "nsswitch.conf": _ORDER,
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in contents.items():
        (folder / name).write_text(text, "utf-8")
    # One that is not there is not in the way either: what is written here is the usual default.
    return PrivateNames(
        tuple((folder / name, _ETC / name) for name in contents if (_ETC / name).exists())
    )


def with_private_names(names: PrivateNames) -> tuple[str, ...]:
    """Return the command prefix that replaces the machine's hosts file and resolver settings.

    A user other than root needs a user namespace as well. The namespace cancels the signal at the
    parent's death. Such a process ends only with its standard input, as on systems without the
    signal.

    Raises:
        NoOwnHosts: this machine, or this user on it, cannot do that.
    """
    user = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    pairs = (str(path) for pair in names.files for path in pair)
    command = ("unshare", *user, "--mount", "sh", "-c", _MOUNT, "sh", *pairs, "--")
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
        raise NoOwnHosts(f"a client cannot have private host names: {trouble}") from None
    if tried.returncode:
        said = tried.stderr.strip() or f"unshare ended with {tried.returncode}"
        raise NoOwnHosts(f"a client cannot have private host names: {said}. {_LEAVE}")
    return command
