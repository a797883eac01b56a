"""Name the priorities of endpoints in what a scenario expected."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

FEW: Final = 3
"""Addresses of a text up to which each gets its priority: a longer list would be hard to read."""

ADDRESS: Final = re.compile(r"\b\d+\.\d+\.\d+\.\d+:\d+\b")
LOCALITY: Final = re.compile(r"\(priority (\d+), weight \d+\): ([^;]*)")
"""A locality in the description of a configuration."""


def with_priorities(text: str, served: Iterable[str]) -> str:
    """Return a text with the priority behind each address, if there are several priorities.

    Args:
        text: what was expected.
        served: the descriptions of the configurations of the scenario. An address that has two
            priorities in them gets none.
    """
    found = defaultdict[str, set[str]](set)
    for priority, endpoints in (match for each in served for match in LOCALITY.findall(each)):
        for address in ADDRESS.findall(endpoints):
            found[address].add(priority)
    are_several = len(set[str]().union(*found.values())) > 1
    if not are_several or len(ADDRESS.findall(text)) > FEW:
        return text

    def named(match: re.Match[str]) -> str:
        priorities = found.get(match[0], set())
        return f"{match[0]} (priority {min(priorities)})" if len(priorities) == 1 else match[0]

    return ADDRESS.sub(named, text)
