"""The reference client, reading otherwise what the text leaves open, is right all the same.

None of these ways is known of a client, so that no run of a real one shows them accepted.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

import client_under_test
from client_under_test.reference.editions.behavior import MUTANT_VARIABLE, from_environment

REFERENCE = Path(client_under_test.__file__).parent / "adapters" / "reference" / "client.toml"
STATED = re.compile(r"\[\[choices\]\]\n.*\n.*\n|reads-late = .*\n")

READINGS = '''
"""Rules in the place of the reference client's own."""

import math
from bisect import bisect_left
from dataclasses import replace


def above_the_minimum(weights, sizes):
    lightest = min(weights) / sum(weights)
    return min((math.floor(lightest * sizes.minimum) + 1) / lightest, float(sizes.maximum))


def past_the_last_the_last(hashes, request_hash):
    return min(bisect_left(hashes, request_hash), len(hashes) - 1)


def strict(behavior):
    return replace(behavior, rules=replace(behavior.rules, entries_for=above_the_minimum))


def clamping(behavior):
    return replace(behavior, rules=replace(behavior.rules, find_entry=past_the_last_the_last))


def named_alone(known, names, all_of_them):
    return [cluster for cluster in known if cluster in names]


def by_names(behavior):
    xds = replace(behavior.xds, load_features=(), clusters_to_report=named_alone)
    return replace(behavior, xds=xds)
'''

OF_RINGS = (
    "cluster.sizes[[]no-config]",
    "header.hash_of_the_value",
    "picker.first_endpoint",
    "picker.past_the_end_of_the_ring",
    "ring.hash_of_an_entry",
    "ring.search",
    "ring.size*",
)

OF_LOAD = (
    "leaf_load.*",
    "load_report.*",
    "load_streams.requested_clusters",
    "load_streams.changed_cluster_list",
    "load_streams.lrs_server_added_and_removed",
    "load_streams.stream_ends*",
    "load_streams.unknown_cluster",
    "load_streams.removed_clusters",
)
"""Whose client need not be able to be asked for all clusters."""


@pytest.mark.parametrize("reading", ["strict", "clamping", "by_names"])
def test_readings_replace_rules_that_exist(
    reading: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "readings.py").write_text(READINGS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "readings", raising=False)
    changed = from_environment({MUTANT_VARIABLE: f"readings:{reading}"})
    assert changed != from_environment({})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reading", "scenarios"),
    [("strict", OF_RINGS), ("clamping", OF_RINGS), ("by_names", OF_LOAD)],
)
async def test_another_reading_is_right(
    reading: str, scenarios: tuple[str, ...], tmp_path: Path, xdspec: Any
) -> None:
    (tmp_path / "readings.py").write_text(READINGS)
    # Nothing of its choices, and its process finds a module of the test's.
    manifest = STATED.sub("", REFERENCE.read_text()).replace('"-I", "-m"', '"-m"')
    own = f'PYTHONPATH = "{tmp_path}", XDSPEC_REFERENCE_MUTANT = "readings:{reading}"'
    added = f"[variants.other]\nenvironment = {{ {own} }}\n"
    (tmp_path / "client.toml").write_text(f"{manifest}\n{added}")
    words = [word for name in scenarios for word in ("--scenario", name)]
    run = await xdspec.run("run", f"{tmp_path}+other", *words, "--jobs", "2")
    assert run.code == 0, run.said
    assert {clause["verdict"] for clause in run.clauses.values()} <= {"pass", "seen", "open"}, (
        run.said
    )
    if reading == "clamping":
        assert run.clauses["A42-RING-14"]["seen"] == ["the last entry"]
