"""Tests that share what is costly to make are dealt to one worker."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
FIXTURE = re.compile(
    r"^@pytest(?:_asyncio)?\.fixture\(scope=.*\)\n(?:async )?def (\w+)\(", re.MULTILINE
)


@pytest.fixture(scope="module")
def dealing(pytestconfig: pytest.Config) -> Any:
    return pytestconfig.pluginmanager.get_plugin(str(HERE / "conftest.py"))


def test_each_costly_fixture_is_there_once(dealing: Any) -> None:
    found = Counter(
        name for file in HERE.rglob("*.py") for name in FIXTURE.findall(file.read_text("utf-8"))
    )
    assert {found[name] for name in dealing.COSTLY} == {1}


def test_who_asks_for_one_stays_with_the_others_and_begins_first(
    dealing: Any, pytestconfig: pytest.Config
) -> None:
    class Item:
        def __init__(self, *fixturenames: str) -> None:
            self.fixturenames = fixturenames
            self.groups: list[str] = []

        def add_marker(self, marker: pytest.MarkDecorator) -> None:
            self.groups += marker.args

        def get_closest_marker(self, name: str) -> str | None:
            return next(iter(self.groups), None) if name == "xdist_group" else None

    items = [Item("xdspec"), Item("fakes", "xdspec"), Item("kept"), Item("fakes")]
    dealing.pytest_collection_modifyitems(pytestconfig, items)
    assert [item.groups for item in items] == [["fakes"], ["kept"], ["fakes"], []]


GROUPED = """
import pytest

@pytest.mark.xdist_group("costly")
@pytest.mark.parametrize("number", range(4))
def test_it(number, worker_id):
    print(f"worker {worker_id}")
"""


@pytest.mark.slow
def test_what_deals_them_out_keeps_a_group_together(tmp_path: Path) -> None:
    """A release of pytest after which it silently did not is kept out in pyproject.toml."""
    for name in "ab":
        (tmp_path / f"test_{name}.py").write_text(GROUPED)
    ended = subprocess.run(
        [*(sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadgroup", "-rP"), tmp_path],
        check=False,
        capture_output=True,
        encoding="utf-8",
        cwd=tmp_path,
    )
    assert ended.returncode == 0, ended.stdout
    workers = re.findall(r"^worker (\w+)$", ended.stdout, re.MULTILINE)
    assert len(workers) == 8
    assert len({*workers}) == 1
