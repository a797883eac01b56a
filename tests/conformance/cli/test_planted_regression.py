"""A client whose version 1.5.0 breaks a rule: what stops it, names it, dates it and explains it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import html5lib
import pytest

RELEASED = str(Path(__file__).parents[2] / "adapters" / "released")

CLAUSE = "A42-RING-05"
SCENARIO = "ring.size[minimum-not-divisible]"
SVG = "{http://www.w3.org/2000/svg}svg"
ONE = ("--scenario", SCENARIO.replace("[", "[[]"))


@pytest.fixture(scope="module")
async def versions(xdspec: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the reports of the last good version and of the first bad one."""
    folder = tmp_path_factory.mktemp("regression")
    for version, code in (("1.4.0", 0), ("1.5.0", 1)):
        words = (*ONE, "--json", str(folder / f"{version}.json"), "--out", str(folder / "out"))
        ended = await xdspec.run("run", f"{RELEASED}@{version}", *words)
        assert ended.code == code, ended.said  # the gate
    return folder


@pytest.mark.slow
async def test_diff_names_it(xdspec: Any, versions: Path) -> None:
    ended = await xdspec.run("diff", str(versions / "1.4.0.json"), str(versions / "1.5.0.json"))
    assert ended.code == 1
    assert "released 1.4.0 → released 1.5.0: 2 broken" in ended.out
    assert f"  broken   {CLAUSE}    pass by A42 → fail (deviates) by A42" in ended.out


@pytest.mark.slow
async def test_a_baseline_knows_it_and_no_other_failure(xdspec: Any, versions: Path) -> None:
    """Who has written it down goes on; in the version before, the entry is not true."""
    mine = versions / "mine.toml"
    words = (
        "--explanation",
        f"{CLAUSE}=rounded down",
        "--explanation",
        "A42-RING-04=fewer than it should",
    )
    reports = [str(versions / f"{version}.json") for version in ("1.4.0", "1.5.0")]
    ended = await xdspec.run("baseline", "update", str(mine), *reports, *words)
    assert ended.code == 0, ended.said
    assert 'versions = ">=1.5.0"' in mine.read_text()
    ended = await xdspec.run("run", f"{RELEASED}@1.5.0", *ONE, "--baseline", str(mine))
    assert ended.code == 0, ended.said


@pytest.mark.slow
async def test_history_dates_it(xdspec: Any, versions: Path) -> None:
    ended = await xdspec.run(
        "history",
        "released",
        *(str(versions / f"{version}.json") for version in ("1.5.0", "1.4.0")),
    )
    assert ended.code == 0, ended.said
    assert "released: 2 versions, 2 clauses, 2 changed" in ended.out
    assert "broken from 1.4.0 to 1.5.0: pass → fail (deviates)" in ended.out


@pytest.mark.slow
async def test_bisecting_finds_it_in_few_runs(xdspec: Any, versions: Path) -> None:
    """Beside what is recorded three of ten versions are run, and one cannot be built."""
    ended = await xdspec.run(
        "history",
        RELEASED,
        *(f"1.{minor}.0" for minor in (8, 7, 6, 5, 3, 2, 1, 0)),
        *("1.4.1", str(versions / "1.4.0.json"), "--bisect", CLAUSE, *ONE),
        *("--json", "h.json", "--report", "r.json"),
    )
    told = json.loads((ended.folder / "h.json").read_text())["bisected"]
    assert (told["change"]["before"], told["change"]["after"]) == ("1.4.0", "1.5.0"), ended.said
    assert [*told["between"]] == ["1.4.1"]
    assert ended.code == 6  # for 1.4.1 may have it already
    ran = [run["client"]["version"] for run in ended.report["runs"]]
    assert ran == ["1.8.0", "1.0.0", "1.5.0"]
    assert told["not_looked_at"] == ["1.1.0", "1.2.0", "1.3.0", "1.6.0", "1.7.0"]


@pytest.mark.slow
async def test_versions_side_by_side(xdspec: Any) -> None:
    """One that does not come up, and one that cannot be built, are told of and stop no other."""
    versions = ("1.5.0", "1.4.1", "1.2.0", "1.1.0")
    ended = await xdspec.run("history", RELEASED, *versions, *ONE)
    assert ended.code == 6, ended.said
    assert (
        "  1.2.0: the client exited with code 1, but the suite had not asked it to exit"
        in ended.out
    )
    assert "  1.4.1: client released could not be built: no such header" in ended.out
    (row,) = (line for line in ended.out.splitlines() if line.startswith(f"  {CLAUSE}"))
    assert row.split()[:5] == [CLAUSE, "pass", "-", "-", "fail"]
    assert row.endswith("broken from 1.1.0 to 1.5.0: pass → fail (deviates)")


@pytest.fixture(scope="module")
async def page(xdspec: Any, versions: Path) -> Element:
    """The page of the failure."""
    reports = (str(versions / f"{version}.json") for version in ("1.4.0", "1.5.0"))
    ended = await xdspec.run("site", str(versions / "site"), *reports)
    assert ended.code == 0, ended.said
    text = (versions / "site" / "failure" / f"released-1.5.0-{CLAUSE}.html").read_text("utf-8")
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    made: Element = parser.parse(text)
    return made


async def test_its_page_has_all_that_explains_it(page: Element) -> None:
    """Read by itself: the text, what was served, what was wanted, what came, and since when."""
    text = " ".join("".join(page.itertext()).split())
    for piece in (
        "The ring must have at least min_ring_size entries",
        "A42, Ring Hash LB Policy",
        "MUST · worded by A42",
        "fail since 1.5.0, pass in 1.4.0",
        "endpoint that owns its hash (computed ring: 15 entries)",
        "calls went elsewhere",
        "RING_HASH, minimum_ring_size 12",
        "minimumRingSize: '12'",
        f"--scenario '{SCENARIO}'",
        "Timeline",
    ):
        assert piece in text, piece
    assert len([*page.iter(SVG)]) >= 2  # the ring with its calls, and the timeline
