"""What is in a bundle, and how a replay is held against it; nothing runs here."""

from __future__ import annotations

import json
import stat
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from client_under_test.environments import Identity
from conformance.cli.bundles import ReplayOptions, bundle, replay
from conformance.cli.failures import Failure
from conformance.judging import evidence
from conformance.judging.evidence import JudgedClient, Record
from conformance.judging.verdicts import Decision, Reason, Verdict
from conformance.reporting import report as reports
from conformance.reporting.baseline import Entry
from conformance.reporting.build_run import build_run
from conformance.reporting.bundle.expected_failure import (
    FILE,
    Again,
    BadBundle,
    Bundle,
    Failed,
    alike,
    compare,
    read,
)
from conformance.reporting.report import ClientId
from conformance.reporting.stdout import Screen
from conformance.runner.evidence_files import BOOTSTRAP
from conformance.spec.catalogue import load
from fake_control_plane.files import load_file

from . import sample_reports as made

CATALOGUE = load()
SCENARIO, CLAUSE = "ring.search", "A42-RING-13"
ADDRESS = "127.0.0.1:34101"
SAW = "3 calls elsewhere: ```\n127.0.0.1:34101"
GO = JudgedClient(name="go", version="1.85.0", variant=None, follows=("A42",))
OWN = msgspec.structs.replace(GO, name="mine")
FAILURE = Decision(
    clause=CLAUSE,
    verdict=Verdict.FAIL,
    reason=Reason.DEVIATES,
    edition="A42",
    saw=SAW,
    wanted="as its ring says",
    oracle="Ring",
)
CLUSTER = "type.googleapis.com/envoy.config.cluster.v3.Cluster"


def response(at: float, version: str, *resources: dict[str, Any]) -> dict[str, Any]:
    return {
        "event": "Response",
        "at": at,
        "stream": 1,
        "kind": "cluster",
        "type_url": CLUSTER,
        "version": version,
        "resources": resources,
    }


def cluster(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "type_url": CLUSTER, "message": {"name": name, **more}}


EVENTS = (
    response(100.1, "1", cluster("one"), cluster("two")),
    response(100.2, "2", cluster("one", lbPolicy="RING_HASH"), cluster("two")),
    response(100.3, "3", {"name": "odd", "type_url": CLUSTER, "base64": "AAEC"}),
    response(100.4, "4", cluster("two")),
)


def call(number: int, **more: Any) -> dict[str, Any]:
    return {
        "id": f"call-{number}",
        "channel": "channel-1",
        "metadata": [["session", "value-7"]],
        "status": "OK",
        "endpoint": ADDRESS,
        "started_at": 101.0 + number,
        "ended_at": 101.5 + number,
    } | more


def ran(
    folder: Path,
    *decisions: Decision,
    client: JudgedClient = GO,
    identity: Identity = Identity(),  # noqa: B008 - frozen
    **more: Any,
) -> Path:
    """A report of one scenario, with its evidence beside it."""
    place = folder / "out" / client.name / SCENARIO
    record = Record(
        scenario=SCENARIO,
        clauses=(CLAUSE,),
        client=client,
        seed=1,
        seconds=5.0,
        began=100.0,
        decisions=decisions,
        served=("RING_HASH of *two* endpoints",),
        evidence=str(place),
        **more,
    )
    evidence.write(place, record)
    for name, rows in {"transcript": EVENTS, "calls": [call(n) for n in range(50)]}.items():
        (place / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (place / BOOTSTRAP).write_text('{"xds_servers": []}')
    entry = Entry(
        clause=CLAUSE,
        reason=Reason.DEVIATES,
        seen="A search that ends too early.",
        explanation="search.go, line 7",
        issue="https://example.com/issues/1",
        sometimes="in 2 of 9 runs",
        scenarios=(SCENARIO,),
    )
    run = build_run(
        (record,),
        CATALOGUE,
        client=ClientId(client.name, client.version, client.variant),
        follows=client.follows,
        wall_seconds=1,
        entries=(entry,),
        identity=identity,
    )
    path = folder / "report.json"
    reports.write_json(made.report(run), path)
    return path


def written(folder: Path, *decisions: Decision, **more: Any) -> Path:
    report = ran(folder, *(decisions or (FAILURE,)), **more)
    return bundle(report, SCENARIO, CATALOGUE, client=None, out=folder / "b")


def test_the_page_needs_no_other(tmp_path: Path) -> None:
    page = (written(tmp_path) / "README.md").read_text()
    for words in (
        "# go 1.85.0: ",
        f"## {CATALOGUE[CLAUSE].title} ({CLAUSE})",
        f"[gRFC A42]({CATALOGUE.editions.link('A42')})",
        CATALOGUE[CLAUSE].worded("A42"),
        f"````text\n{SAW}\n````",
        "**Expected**, computed from Ring\n\n```text\nas its ring says\n```",
        "A search that ends too early. search.go, line 7",
        "It does not happen in every run: in 2 of 9 runs.",
        "https://example.com/issues/1",
        "1. RING_HASH of \\*two\\* endpoints",
        "client  50 calls OK at an endpoint that no EDS resource names (50 at 127.0.0.1:34101)",
        "`timeline.txt` lists every call",
        "commit 0123456789abcdef",
        "xdspec replay .\n",
        "go@VERSION",
    ):
        assert words in page, words


def test_the_link_names_the_edition_that_it_leads_to(tmp_path: Path) -> None:
    failure = msgspec.structs.replace(FAILURE, edition="A61")
    page = (written(tmp_path, failure) / "README.md").read_text()
    assert f"[gRFC A42, edition A61]({CATALOGUE.editions.link('A61')})" in page


def test_what_was_served_is_there_once_as_the_control_plane_reads_it(tmp_path: Path) -> None:
    place = written(tmp_path)
    files = sorted((place / "resources").iterdir())
    assert [file.name for file in files] == ["001-cds-1.json", "002-cds-2.json", "003-cds-3.json"]
    first, second, third = (json.loads(file.read_text()) for file in files)
    assert [resource["name"] for resource in first["resources"]] == ["one", "two"]
    assert second == {
        "version_info": "2",
        "resources": [{"@type": CLUSTER, "name": "one", "lbPolicy": "RING_HASH"}],
    }
    assert third["resources"] == [{"name": "odd", "type_url": CLUSTER, "base64": "AAEC"}]
    assert [len(load_file(file).resources) for file in files[:2]] == [2, 1]
    assert json.loads((place / BOOTSTRAP).read_text()) == {"xds_servers": []}
    told = (place / "timeline.txt").read_text()
    assert "call-49 (session: value-7) OK at 127.0.0.1:34101" in told


def test_what_a_replay_has_to_know(tmp_path: Path) -> None:
    place = written(tmp_path, fast=True)
    assert read(place) == Bundle(
        suite="xdspec 0.1.0, commit 0123456789abcdef",
        scenario=SCENARIO,
        client="go@1.85.0",
        is_built_in=True,
        seed=1,
        fast=True,
        failed=(Failed(clause=CLAUSE, reason=Reason.DEVIATES, saw=SAW),),
    )
    assert "--fast" in (place / "README.md").read_text()
    own = written(tmp_path / "own", client=OWN)
    assert (read(own).client, read(own).is_built_in) == ("mine", False)
    assert "xdspec replay . PATH/TO/ITS/ADAPTER" in (own / "README.md").read_text()


def test_a_bundle_of_a_build_is_not_replayed_with_a_release(tmp_path: Path) -> None:
    identity = Identity(source="/home/me/grpc-go", tree="0123456789abcdef")
    place = written(tmp_path, identity=identity)
    assert read(place).built_from.startswith("/home/me/grpc-go, sha256 0123456789ab")
    page = (place / "README.md").read_text()
    assert "built from /home/me/grpc-go" in page
    assert "xdspec replay . go --source PATH/TO/ITS/SOURCES" in page
    with pytest.raises(Failure, match=r"built from /home/me/grpc-go.*--source"):
        next(replay(place, None, CATALOGUE, Screen(), ReplayOptions()))


def test_a_bundle_may_be_one_file(tmp_path: Path) -> None:
    out = tmp_path / "go.zip"
    bundle(ran(tmp_path, FAILURE), SCENARIO, CATALOGUE, client="go", out=out)
    with zipfile.ZipFile(out) as file:
        assert {"go/README.md", "go/replay.py", f"go/{FILE}"} < {*file.namelist()}
    assert not out.stat().st_mode & stat.S_IXUSR


def test_what_cannot_be_bundled_is_one_sentence(tmp_path: Path) -> None:
    report = ran(tmp_path, FAILURE)

    def says(words: str, path: Path = report, scenario: str = SCENARIO, **more: Any) -> None:
        given = {"client": None, "out": tmp_path / "b"} | more
        with pytest.raises(Failure, match=words) as raised:
            bundle(path, scenario, CATALOGUE, **given)
        assert "\n" not in raised.value.message

    says("cannot be read", path=tmp_path / "none.json")
    says("has no scenario ring.none", scenario="ring.none")
    says("has no scenario ring.search of java", client="java")
    says("is there already", out=tmp_path)
    passed = msgspec.structs.replace(FAILURE, verdict=Verdict.PASS, reason=None)
    says("fails nothing in ring.search", path=ran(tmp_path / "good", passed))
    (tmp_path / "out/go/ring.search/scenario.json").unlink()
    says("the evidence of ring.search is gone: the report names")
    with pytest.raises(BadBundle, match="cannot be read"):
        read(tmp_path)
    (tmp_path / FILE).write_text("{}")
    with pytest.raises(BadBundle, match="is of no bundle"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("now", "again"),
    [
        ((FAILURE,), Again.SAME),
        ((msgspec.structs.replace(FAILURE, reason=Reason.CRASHED),), Again.OTHERWISE),
        ((msgspec.structs.replace(FAILURE, verdict=Verdict.PASS, reason=None),), Again.NOT),
        ((msgspec.structs.replace(FAILURE, clause="A42-RING-12"),), Again.NOT),
        (
            (msgspec.structs.replace(FAILURE, verdict=Verdict.ERROR, reason=Reason.TIMING),),
            Again.NOT,
        ),
        ((), Again.NOT),
    ],
)
def test_a_failure_is_shown_again_by_its_clause_and_reason(
    now: tuple[Decision, ...], again: Again
) -> None:
    failed = Failed(clause=CLAUSE, reason=Reason.DEVIATES, saw=SAW)
    (found,) = compare([failed], now)
    assert found.again is again
    assert f"{CLAUSE}  {again.value}: then fail (deviates), now " in str(found)


def test_words_are_alike_but_for_what_is_new_in_each_run() -> None:
    assert alike("127.0.0.1:34101: 60 of 0x7f", "127.0.0.1:5: 61 of 0xab")
    assert not alike("the client died by SIGABRT", "the client died by SIGSEGV")
