"""The map of the ground: what it names is there, and what it prints can be counted again."""

from pathlib import Path

import msgspec
import pytest

from conformance.runner.collection import scenarios
from conformance.spec.catalogue import CatalogueError, PeerBehavior, peer_coverage
from conformance.spec.catalogue.peer_coverage import coverage_lines


def test_every_scenario_that_is_named_exists() -> None:
    known = set(scenarios())
    known |= {name.partition("[")[0] for name in known}
    for section, lines in peer_coverage().items():
        for line in lines:
            gone = set(line.scenarios) - known
            assert not gone, f"{section}: {line.says} names {gone}"


def test_no_line_is_there_twice() -> None:
    said = [line.says for lines in peer_coverage().values() for line in lines]
    assert len(set(said)) == len(said)


def test_a_line_without_scenarios_says_why() -> None:
    for broken in ({"says": "A."}, {"says": "A.", "scenarios": ["a.b"], "missing": "no"}):
        with pytest.raises(msgspec.ValidationError, match="either `scenarios` or `missing`"):
            msgspec.convert(broken, PeerBehavior)


def test_a_bad_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "peer_coverage.toml").write_text("[[lrs]]\nsays = 'A.'\nscenario = ['a.b']\n")
    with pytest.raises(CatalogueError, match=r"peer_coverage\.toml: .*scenario"):
        peer_coverage(tmp_path)


def test_the_share_comes_last() -> None:
    seen = PeerBehavior(says="One.", scenarios=("ring.search", "picker.states"))
    unseen = PeerBehavior(says="Two.", missing="nobody looks")
    lines = list(coverage_lines({"a": (seen, unseen), "b": (seen,)}))
    assert lines == [
        "What the tests of gRPC's implementations check, and the scenarios that check it:",
        "a: 1 of 2 behaviors, 50 %",
        "  One.",
        "    ring.search, picker.states",
        "  Two.",
        "    not checked: nobody looks",
        "b: 1 of 1 behaviors, 100 %",
        "  One.",
        "    ring.search, picker.states",
        "all: 2 of 3 behaviors, 66 %",
    ]
