"""What the built-in clients state to follow, and the evidence of each."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.version import Version

from client_under_test.manifests.clients import built_in, find
from client_under_test.manifests.manifest import Editions, Evidence, Manifest, Variant
from client_under_test.manifests.version_ranges import beginning, is_within
from conformance.spec.catalogue import edition_for, load

TABLE = re.compile(
    r"https://github\.com/grpc/grpc/blob/[0-9a-f]{40}/doc/grpc_xds_features\.md(?!.)"
)
"""gRPC's table of xDS features, as it was at some time."""

FEATURES = {
    "xDS Infrastructure in gRPC client channel": {
        "python": "1.30.0",
        "java": "1.30.0",
        "go": "1.30.0",
        "node": "1.2.0",
    },
    "Request matching": {
        "python": "1.31.0",
        "java": "1.31.0",
        "go": "1.31.0",
        "node": "1.3.0",
    },
    "Circuit Breaking": {
        "python": "1.37.1",
        "java": "1.37.1",
        "go": "1.37.0",
        "node": "1.4.0",
    },
    "Aggregate Clusters and Logical DNS Clusters": {
        "python": "1.47.0",
        "java": "1.39.0",
        "go": "1.52.2",
        "node": "1.9.0",
    },
    "Ring hash": {"python": "1.40.0", "java": "1.40.1", "go": "1.41.0", "node": "1.10.0"},
    "Security": {"python": "1.41.0", "java": "1.41.0", "go": "1.41.0"},
    "Outlier Detection": {"python": "1.51.0", "java": "1.49.0", "go": "1.50.0", "node": "1.7.0"},
    "xDS Federation": {"python": "1.55.0", "java": "1.55.0", "go": "1.55.0"},
    "Custom Load Balancer Configuration": {
        "python": "1.55.0",
        "java": "1.47.0",
        "go": "1.56.0",
        "node": "1.10.0",
    },
    "Least Request LB Policy": {"java": "1.48.0"},
    "Ignore Resource Deletion": {
        "python": "1.48.0",
        "java": "1.48.0",
        "go": "1.55.0",
        "node": "1.7.0",
    },
    "Client-Side Weighted Round Robin LB Policy": {
        "python": "1.55.0",
        "java": "1.54.0",
        "go": "1.56.0",
    },
    "LRS Custom Metrics Support": {"python": "1.54.0", "java": "1.57.0", "go": "1.63.0"},
    "Pick First": {"python": "1.58.0", "java": "1.58.1", "go": "1.56.0"},
    "Dualstack Backend Support": {"python": "1.66.1", "go": "1.71.0", "node": "1.12.0"},
    "Aggregate Cluster Behavior Fixes": {"python": "1.61.0"},
    "Stateful Session Affinity": {"python": "1.61.0"},
}
"""Its rows that matter here: from which release on a client has the feature."""

ELSEWHERE = re.compile(
    r"https://github\.com/[\w.-]+/[\w.-]+/"
    r"(pull/\d+|commit/[0-9a-f]{40}|releases/tag/v(?P<release>[\d.]+)|blob/[0-9a-f]{40}/.+)"
    r"|https://www\.envoyproxy\.io/docs/envoy/v[\d.]+/.+"
)
"""A pull request, a commit, a release note, or a text as it was: nothing that may change."""

INTEROP = Path(__file__).parents[3] / "client_under_test" / "adapters" / "interop"

ASKED = [*sorted(set(built_in()) - {"reference"}), str(INTEROP / "java")]
"""The reference client is ours: what it follows is what its rules are written from."""


def tables(manifest: Manifest) -> Iterator[tuple[str, Editions | Variant]]:
    """Whatever states an edition, with its name."""
    for table in manifest.editions:
        yield f"{', '.join(table.follows)} in {table.versions or 'all versions'}", table
    for name, variant in manifest.variants.items():
        if variant.follows_also:
            yield f"variant {name}", variant


@pytest.mark.parametrize("name", ASKED)
def test_each_edition_that_is_stated_has_its_evidence(name: str) -> None:
    manifest = find(name).manifest
    for stated, table in tables(manifest):
        assert table.evidence is not None, f"{name}: {stated}: who says so?"
        check(manifest.name, table.evidence)


def check(client: str, evidence: Evidence) -> None:
    """See that the evidence is of a kind that can be looked up, and says what it is cited for."""
    elsewhere = ELSEWHERE.fullmatch(evidence.at)
    if TABLE.match(evidence.at):
        row = FEATURES[evidence.says.partition(";")[0].partition(",")[0]]
        if evidence.since is not None:
            language = "python" if client == "cpp" else client.removeprefix("interop-")
            assert row[language] == evidence.since, evidence
    elif elsewhere is not None and elsewhere["release"]:
        assert elsewhere["release"] == evidence.since, evidence
    else:
        assert elsewhere is not None, evidence


@pytest.mark.parametrize("name", ASKED)
def test_a_text_and_an_earlier_wording_of_it_are_never_stated_together(name: str) -> None:
    """And between them there is no version that follows neither."""
    manifest = find(name).manifest
    variants = [None, *manifest.variants]
    first = [(edition.id, edition.text) for edition in load().editions if edition.first_wording_of]
    parts = [(edition.id, edition.text) for edition in load().editions if edition.part_of]
    for then, now in first:
        follows = [now in told for told in by_version(manifest)]
        before = [then in told for told in by_version(manifest)]
        assert not any(map(all, zip(follows, before, strict=True))), (name, now)
        either = [edition or other for edition, other in zip(follows, before, strict=True)]
        assert not any(a and not b for a, b in itertools.pairwise(either)), (name, now)
    for version, variant in itertools.product(versions(manifest), variants):
        if variant is None or is_within(version, manifest.variant(variant).versions):
            told = manifest.editions_of(version, variant)
            assert not any(less in told and more in told for less, more in (*first, *parts))


def versions(manifest: Manifest) -> list[str]:
    """The versions at which anything changes, and one before and one after all of them."""
    ranges = [table.versions for table in manifest.editions]
    ranges += [variant.versions for variant in manifest.variants.values()]
    begin = {str(first) for range_ in ranges if (first := beginning(range_)) is not None}
    ended = {number for range_ in ranges for number in re.findall(r"<([\d.]+)", range_)}
    return ["0.0.1", *sorted(begin | ended, key=Version), "999"]


def by_version(manifest: Manifest) -> list[tuple[str, ...]]:
    """What is stated in each of these versions."""
    return [manifest.editions_of(version) for version in versions(manifest)]


@pytest.mark.parametrize("name", ASKED)
def test_what_is_stated_stands_in_the_order_of_the_documents(name: str) -> None:
    places = {edition: place for place, edition in enumerate(load().editions.ids)}
    stated = [places[table.follows[0]] for table in find(name).manifest.editions]
    assert stated == sorted(stated)


def test_two_clients_of_one_core_state_the_same() -> None:
    python_client, other = find("python"), find("cpp")
    fields = ("editions", "variants", "choices", "ring_key_formats", "backoff", "knobs")
    for field in fields:
        assert getattr(python_client.manifest, field) == getattr(other.manifest, field), field
    known = [
        (client.folder / "expected.toml").read_text().partition("\n")[2]
        for client in (python_client, other)
    ]
    assert known[0] == known[1]


JUDGED_BY = """\
                          A42-HASH-16 A42-LOC-07 A42-CDS-25 A42-PRO-03 A56-TIMER-04 A76-KEY-01
python@1.54.0             A42         A42        A42        A42        A56-2022     -
python@1.60.0             A42         A42        A42        A61-2023   A56-2022     -
python@1.85.1             A42         A42        A75        A61        A56          -
python@1.85.1+hash-key    A42         A42        A75        A61        A56          A76
go@1.64.0                 A42         A42        A42        A42        A56-2022     -
go@1.85.0                 A42         A113       A42        A61        A56-2022     A76
go@1.85.0+no-hash-key     A42         A113       A42        A61        A56-2022     -
java@1.52.0               A42         A42        A42        A42        -            -
java@1.78.0               A42         A42        A75        A61-2023   A56          -
java@1.85.1+hash-header   A42         A113       A75        A61        A56          -
node@1.12.0               A42         A42        A42        A61-2023   A56-2022     -
node@1.14.1               A42         A42        A75        A61        A56-2022     -
rust@0.1.0-alpha.4        -           -          -          -          -            -
rust@0.1.0-alpha.4+a42    A42         A42        A42        A42        -            -
envoy@1.36.2              A42         envoy      envoy      -          -            A76
reference@1.0.0           A42         A113       A75        A61        A56          A76
reference@1.0.0+2023      A42         A42        A75        A61-2023   A56-2022     -
reference@1.0.0+seed-2021 A42-2021    A42        -          A42        -            -
"""
"""Clauses that have several wordings, or are not in every text, and clients judged by them."""


def test_clients_are_judged_by_the_wordings_that_they_state() -> None:
    heads, *rows = (line.split() for line in JUDGED_BY.splitlines())
    for client, *expected in rows:
        name, version, variant = re.split("[@+]", f"{client}+")[:3]
        follows = find(name).manifest.editions_of(version, variant or None)
        judged = [edition_for(load()[clause], follows) or "-" for clause in heads]
        assert judged == expected, client
