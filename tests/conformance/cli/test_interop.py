"""`xdspec run interop`: a stock client in miniature as the user's, reconciled by counts."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

STOCK = Path(__file__).parents[2] / "adapters" / "stock" / "stock.py"
PATH = "/grpc.testing.TestService/UnaryCall"


def told(*more: str) -> str:
    return f"XDSPEC_INTEROP_CLIENT={shlex.join([sys.executable, str(STOCK), *more])}"


def only(*scenarios: str) -> list[str]:
    return [word for name in scenarios for word in ("--scenario", name.replace("[", "[[]"))]


@pytest.mark.slow
async def test_a_first_report_without_an_adapter(xdspec: Any) -> None:
    ended = await xdspec.run(
        *("run", "interop", "--env", told()),
        *only(
            "cluster.rejected[minimum-beyond-8m]",
            "cluster.round_robin",
            "hash_policy.random_hash[header-not-sent]",
            "header.header",
            "header.binary_header",
            "picker.states[all-failed]",
            "ring.lowered_cap",
        ),
    )
    assert ended.code == 0, ended.said
    found = {
        name: (scenario["verdict"], scenario["reason"])
        for name, scenario in ended.scenarios.items()
    }
    cannot = ("skip", "capability")
    assert found == {
        "cluster.rejected[minimum-beyond-8m]": ("pass", None),
        "cluster.round_robin": ("pass", None),
        "hash_policy.random_hash[header-not-sent]": ("pass", None),
        "header.header": ("pass", None),
        "header.binary_header": cannot,
        "picker.states[all-failed]": cannot,
        "ring.lowered_cap": cannot,
    }
    told_of = shlex.join([sys.executable, str(STOCK)])
    assert ended.report["runs"][0]["client"]["told"] == told_of
    assert f"interop 1.0.0 ({told_of})" in ended.out


@pytest.mark.slow
async def test_who_reports_what_the_backends_did_not_count_lies(xdspec: Any) -> None:
    ended = await xdspec.run(
        "run", "interop", "--env", told("--misdeed=lies"), *only("cluster.round_robin")
    )
    assert ended.code == 1, ended.said
    scenario = ended.scenarios["cluster.round_robin"]
    assert (scenario["verdict"], scenario["reason"]) == ("fail", "lied")
    assert "more than were received there" in scenario["findings"][0]["saw"]


async def test_the_user_is_asked_for_the_command(xdspec: Any) -> None:
    ended = await xdspec.run("run", "interop", "--env", "XDSPEC_INTEROP_CLIENT=")
    assert ended.code == 4
    assert ended.err.startswith("xdspec: client interop needs the command of a stock")
    assert "--env XDSPEC_INTEROP_CLIENT=..." in ended.err
