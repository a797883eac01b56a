"""A client that does not see the host names that it was given is not failed for that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from client_under_test.contract.exceptions import NoOwnHosts
from client_under_test.launching.private_names import with_private_names, write_private_names

SECLUDED = Path(__file__).parents[2] / "adapters" / "secluded"
SCENARIO = "endpoint_addresses.logical_dns"
BROKEN = "conformance.mutation.mutants.a42.a61:name_without_addresses"


@pytest.fixture(autouse=True)
def _possible(tmp_path: Path) -> None:
    try:
        with_private_names(*write_private_names(tmp_path, {}))
    except NoOwnHosts as lacking:
        pytest.skip(str(lacking))


async def test_who_sees_no_names_is_not_asked_for_what_stands_behind_them(xdspec: Any) -> None:
    ended = await xdspec.run("run", str(SECLUDED), "--scenario", SCENARIO)
    found = ended.clauses["A61-DNS-01"]
    assert (found["verdict"], found["reason"]) == ("skip", "environment"), ended.said
    assert "to dns:///several.xdspec.test:" in ended.out
    assert "no chroot or container of its own; `xdspec doctor`" in ended.out


async def test_who_sees_them_and_uses_no_address_has_failed(xdspec: Any) -> None:
    ended = await xdspec.run(
        *("run", "reference", "--scenario", SCENARIO),
        *("--env", f"XDSPEC_REFERENCE_MUTANT={BROKEN}"),
    )
    found = ended.clauses["A61-DNS-01"]
    assert (found["verdict"], found["reason"]) == ("fail", "deviates"), ended.said
