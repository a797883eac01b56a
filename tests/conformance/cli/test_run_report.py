"""A run of the reference client, by its report and evidence."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import parse

import pytest

from conformance.spec.catalogue import load
from conformance.world import BY_ARCS

# A run, by its report.


async def test_a_run_without_failures(passing: Any) -> None:
    assert passing.code == 0
    assert passing.out.splitlines()[-1].endswith(" s: no failures")  # of a selection
    assert "conforms" not in passing.out
    assert "pass  ring.size[by-weight]" in passing.out
    assert passing.err == ""
    assert len(passing.scenarios) == 7
    assert {clause["verdict"] for clause in passing.clauses.values()} == {"pass", "seen"}


async def test_the_report_is_valid(passing: Any) -> None:
    import jsonschema  # noqa: PLC0415

    from conformance.reporting import report  # noqa: PLC0415

    jsonschema.validate(passing.report, json.loads(report.SCHEMA_FILE.read_text()))


def test_junit_is_written_too(passing: Any) -> None:
    root = parse(passing.folder / "r.xml").getroot()  # noqa: S314  # written here
    assert {case.get("name") for case in root.iter("testcase")} == set(passing.scenarios)
    assert [suite.get("failures") for suite in root] == ["0"]


async def test_the_report_says_where_it_comes_from(passing: Any) -> None:
    origin = passing.report["provenance"]
    assert origin["seed"] == 7
    assert origin["catalogue"] == load().version
    assert origin["dependencies"]["grpcio"]
    assert {"version", "commit"} <= set(origin["suite"])
    assert {"system", "cores", "python"} <= set(origin["machine"])
    assert passing.report["runs"][0]["client"] == {
        "name": "python",
        "version": "1.85.1",
        "variant": None,
        "told": "",
    }


def test_evidence_is_complete(passing: Any) -> None:
    folder = Path(passing.scenarios["ring.size[by-weight]"]["evidence"])
    names = {path.name for path in folder.iterdir()}
    rows = {"transcript.jsonl", "rpcs.jsonl", "calls.jsonl", "attempts.jsonl", "gates.jsonl"}
    may_be_empty = {"load.jsonl", "states.jsonl", "suite.jsonl"}
    assert names == rows | may_be_empty | {"scenario.json", "stderr.log", "bootstrap.json"}
    for name in rows:
        lines = (folder / name).read_text().splitlines()
        assert [json.loads(line) for line in lines], name


def sessions(folder: Path) -> list[str]:
    record = json.loads((folder / "scenario.json").read_text())
    return [dict(call["metadata"])["session"] for call in record["checks"][0]["seen"]["calls"]]


async def test_a_seed_repeats_a_run_and_what_env_says_reaches_the_client(
    passing: Any, xdspec: Any
) -> None:
    name = "header.hash_of_the_value"
    first = sessions(Path(passing.scenarios[name]["evidence"]))
    assert len(set(first)) == len(first) == BY_ARCS
    words = ["run", "python@1.85.1", "--scenario", name, "--keep-evidence", "--jobs", "1"]
    traced = ["--env", "GRPC_TRACE=xds_client", "--env", "GRPC_VERBOSITY=debug"]
    same, other = await asyncio.gather(
        xdspec.run(*words, "--seed", "7", *traced), xdspec.run(*words, "--seed", "8")
    )
    assert sessions(Path(same.scenarios[name]["evidence"])) == first
    long = {value for value in first if len(value) > 8}  # two runs may draw the same short value
    assert long
    assert long.isdisjoint(sessions(Path(other.scenarios[name]["evidence"])))
    logs = [
        (Path(run.scenarios[name]["evidence"]) / "stderr.log").read_text() for run in (same, other)
    ]
    assert "xds_client" in logs[0]
    assert "xds_client" not in logs[1]


# A client that states an edition which it does not follow, and its baseline.


@pytest.fixture(scope="session")
def pretender(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python client, with a manifest that says it normalises weights."""
    import client_under_test  # noqa: PLC0415

    real = Path(client_under_test.__file__).parent / "adapters" / "python"
    folder = tmp_path_factory.mktemp("pretender")
    for path in real.iterdir():
        if path.is_file() and path.name != "expected.toml":
            (folder / path.name).write_bytes(path.read_bytes())
    text = (folder / "client.toml").read_text()
    wrong = text.replace('follows = ["A42"]', 'follows = ["A42", "A113"]')
    assert wrong != text
    (folder / "client.toml").write_text(wrong)
    return folder


WEIGHTS = "locality.weight_of_locality_and_endpoint"
ENTRY = f"""
[[expected]]
clause = "A42-LOC-07"
reason = "edition"
scenario = "{WEIGHTS}"
shows = "calls went elsewhere"
seen = "Weights 1 to 3 in two localities: the shares are the raw products'."
words = "does not normalise weights yet"
"""


@pytest.mark.slow
async def test_an_edition_that_is_only_stated(xdspec: Any, pretender: Path) -> None:
    words = ["run", f"{pretender}@1.85.1", "--scenario", WEIGHTS, "--jobs", "1"]
    (pretender / "expected.toml").unlink(missing_ok=True)
    ended = await xdspec.run(*words)
    assert ended.code == 1
    clause = ended.clauses["A42-LOC-07"]
    assert (clause["verdict"], clause["reason"]) == ("fail", "edition")
    assert clause["editions_consistent"] == ["A42"]
    assert "; the behavior is that of A42\n" in ended.out
    assert "1 failure shows the behavior of A42, but client.toml declares" in ended.out

    (pretender / "expected.toml").write_text(ENTRY.replace(WEIGHTS, "locality.nonsense"))
    refused = await xdspec.run(*words)
    assert refused.code == 4
    assert "expected.toml: A42-LOC-07: there is no scenario locality.nonsense" in refused.err

    (pretender / "expected.toml").write_text(ENTRY)
    again, known, counted = await asyncio.gather(
        xdspec.run("judge", ended.scenarios[WEIGHTS]["evidence"]),
        xdspec.run(*words),
        xdspec.run(*words, "--no-baseline"),
    )
    assert again.code == 1
    assert "FAIL (edition)  A42-LOC-07" in again.out
    assert "not the verdicts of the run" not in again.out

    assert known.code == 0
    assert f"fail (edition) known  {WEIGHTS}" in known.out
    assert "instead of the edition in client.toml" not in known.out
    title = load()["A42-LOC-07"].title
    assert f"fail (edition) known  {title}: Weights 1 to" in known.out
    assert [entry["scenarios"] for entry in known.report["runs"][0]["known"]] == [[WEIGHTS]]
    assert f"fail (edition)  {WEIGHTS}" in counted.out
    assert known.clauses["A42-LOC-07"]["expected"] is True
    assert counted.code == 1
