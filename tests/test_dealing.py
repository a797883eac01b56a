"""Tests that share what is costly to make are dealt to one worker."""

from __future__ import annotations

import re
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


def test_who_asks_for_one_stays_with_the_others_and_begins_first(dealing: Any) -> None:
    class Item:
        def __init__(self, *fixturenames: str) -> None:
            self.fixturenames = fixturenames
            self.groups: list[str] = []

        def add_marker(self, marker: pytest.MarkDecorator) -> None:
            self.groups += marker.args

        def get_closest_marker(self, _: str) -> str | None:
            return next(iter(self.groups), None)

    items = [Item("xdspec"), Item("fakes", "xdspec"), Item("kept"), Item("fakes")]
    dealing.pytest_collection_modifyitems(items)
    assert [one.groups for one in items] == [["fakes"], ["kept"], ["fakes"], []]
