"""The reference client as a process: the contract, its environment, and its faults."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from client_under_test.contract.exceptions import ClientExited
from client_under_test.doctor import examine
from client_under_test.environments import prepare
from client_under_test.launching.channels import Call
from client_under_test.launching.process import ClientProcess
from client_under_test.manifests.clients import find

from .rig import DEADLINE

NOT_HERE = "cannot have private host names|cannot listen at"
"""The doctor's reasons that concern the machine and not the client."""

PROGRAM = [sys.executable, "-I", "-m", "client_under_test.reference"]


async def test_the_doctor_finds_nothing(tmp_path: Path) -> None:
    findings = await examine(prepare(find("reference")), folder=tmp_path)
    assert not [finding for finding in findings if finding.verdict == "wrong"]
    skipped = [finding for finding in findings if finding.verdict == "skipped"]
    assert {check.check for check in skipped} <= {"host-names", "name-server"}
    # Only a machine that refuses a mount or port 53 may skip these two checks.
    assert all(re.search(NOT_HERE, check.seen) for check in skipped), skipped


@pytest.mark.parametrize(
    ("variant", "stated", "not_stated"),
    [
        ("", "A61", "A42-2021"),
        ("+modern", "A113", "A42-2021"),
        ("+seed", "A42", "A61"),
        ("+2023", "A61-2023", "A61"),
        ("+seed-2021", "A42-2021", "A42"),
    ],
)
def test_variants(variant: str, stated: str, not_stated: str) -> None:
    editions = prepare(find(f"reference{variant}")).editions
    assert stated in editions
    assert not_stated not in editions


@pytest.mark.parametrize(
    "environment",
    [
        {"XDSPEC_REFERENCE_EDITION": "seed+A99"},
        {"XDSPEC_REFERENCE_TIME_SCALE": "slow"},
        {"XDSPEC_REFERENCE_TIME_SCALE": "0"},
    ],
)
def test_a_wrong_environment_is_one_sentence(environment: dict[str, str]) -> None:
    done = subprocess.run(
        PROGRAM, input="", env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1


async def test_a_rule_that_raises_ends_the_process(tmp_path: Path) -> None:
    mutant = {"XDSPEC_REFERENCE_MUTANT": "json:loads"}  # which takes no Conduct
    with pytest.raises(ClientExited):
        await ClientProcess.start(
            prepare(find("reference")),
            stderr_path=tmp_path / "stderr",
            environment=mutant,
            deadline=DEADLINE,
        )


async def test_options_are_checked(tmp_path: Path) -> None:
    process = await ClientProcess.start(
        prepare(find("reference")), stderr_path=tmp_path / "stderr", deadline=DEADLINE
    )
    knobs = {"ring_size_cap": 5, "initial_backoff_ms": 10, "max_backoff_ms": 20}
    channel = await process.open_channel("dns:///127.0.0.1:1", knobs=knobs, deadline=DEADLINE)
    call = Call(id="one", path="/a.B/C", deadline=DEADLINE)
    (outcome,) = await (await channel.start_calls([call])).finished(deadline=DEADLINE)
    assert outcome.status == "UNAVAILABLE"
    assert (await process.close(deadline=DEADLINE)).code == 0
