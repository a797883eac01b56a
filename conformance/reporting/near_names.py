"""Propose names of scenarios for one that does not exist."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection

NEAREST = 4
"""Names that a message proposes."""


def no_scenario(name: str, scenarios: Collection[str]) -> str:
    """Return that no scenario has this name, and which name is nearest."""
    if re.fullmatch(r"[A-Z]\d+(-\d{4})?-[A-Z0-9-]+", name.upper()):
        return f"there is no scenario {name}: it is a clause, so use --clause"
    functions = dict.fromkeys(scenario.partition("[")[0] for scenario in scenarios)
    modules = dict.fromkeys(f"{scenario.partition('.')[0]}.*" for scenario in scenarios)
    part = name.strip("*.")
    among = scenarios if "[" in part else functions
    alike = [each for each in scenarios if each.partition("[")[0] == name]  # rows of a table
    alike = alike or [each for each in among if each.partition(".")[2] == part]
    alike = alike or [each for each in among if part and part in each]
    choices = [*scenarios, *functions, *modules]
    near = alike or difflib.get_close_matches(name, choices, n=1, cutoff=0.7)
    near = near or _with_word(part, modules, functions)
    more = f", or {len(near) - NEAREST} more" if len(near) > NEAREST else ""
    named = f"{' or '.join(near[:NEAREST])}{more}"
    hint = f"did you mean {named}?" if near else "`xdspec list scenarios` lists all"
    return f"there is no scenario {name}: {hint}"


def _with_word(part: str, modules: Collection[str], functions: Collection[str]) -> list[str]:
    """Return the modules, or else scenarios, with almost a word of the part: its last one first."""
    for word in reversed(re.split(r"[._\W]", part)):
        for names in (modules, functions):
            words: dict[str, list[str]] = {}
            for name in names:
                for each in filter(str.isalpha, re.split(r"[._]", name)):
                    words.setdefault(each, []).append(name)
            if near := difflib.get_close_matches(word, words, n=1, cutoff=0.7):
                return words[near[0]]
    return []
