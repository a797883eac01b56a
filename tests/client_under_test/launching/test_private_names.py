"""A process with host names of its own."""

import subprocess
from pathlib import Path

import pytest

from client_under_test.contract.exceptions import NoOwnHosts
from client_under_test.launching.private_names import with_private_names, write_private_names

NAMES = {"several.xdspec.test": ("127.0.0.2", "127.0.0.3")}
ASK = ("getent", "ahostsv4", "several.xdspec.test")


def test_a_name_of_several_addresses(tmp_path: Path) -> None:
    """It is known behind the command, and nowhere else."""
    table = Path("/etc/hosts").read_bytes()
    try:
        within = with_private_names(*write_private_names(tmp_path, NAMES))
    except NoOwnHosts as lacking:
        pytest.skip(str(lacking))
    inside = subprocess.run([*within, *ASK], check=True, capture_output=True, text=True)
    assert {line.split()[0] for line in inside.stdout.splitlines()} == {"127.0.0.2", "127.0.0.3"}
    assert Path("/etc/hosts").read_bytes() == table


def test_a_machine_that_cannot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason is told in a sentence."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoOwnHosts, match=r"host names of its own: .*unshare"):
        with_private_names(*write_private_names(tmp_path, NAMES))
