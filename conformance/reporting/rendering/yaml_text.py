"""Write plain values as YAML, block by block, up to the length that a page shows. Pure.

Written here, as the general writers of YAML take most of the time of a page: they look at a value
several times to find out what it is, and what JSON can say is of six kinds.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*|\d{1,3}(\.\d{1,3}){3}")
"""Strings that need no quotes: plain words and addresses."""

RESERVED: Final = frozenset(["null", "true", "false", "yes", "no", "on", "off", "y", "n"])
"""Words that some reader of YAML takes for something else, in any case of letters."""


class _Enough(Exception):
    """There is as much as was wanted."""


class _Writer:
    def __init__(self, most: int) -> None:
        self.lines: list[str] = []
        self._left = most

    def line(self, text: str) -> None:
        self.lines.append(text)
        self._left -= len(text) + 1
        if self._left < 0:
            raise _Enough

    def value(self, head: str, value: Any, indent: str) -> None:
        """A value behind a key or the dash of a list, which is the head with its indentation."""
        if not value or not isinstance(value, dict | list):
            self.line(f"{head} {_scalar(value)}")
        elif isinstance(value, list):
            lead = indent
            if head.endswith(":"):
                self.line(head)
            else:
                indent += "  "
                lead = f"{head} "
            for item in value:
                self.value(f"{lead}-", item, indent)
                lead = indent
        elif head.endswith(":"):
            self.line(head)
            self.mapping(value, f"{indent}  ", f"{indent}  ")
        else:
            self.mapping(value, f"{indent}  ", f"{head} ")

    def mapping(self, value: dict[str, Any], indent: str, lead: str) -> None:
        for key, item in value.items():
            self.value(f"{lead}{_scalar(key)}:", item, indent)
            lead = indent


def as_yaml(value: Any, most: int) -> tuple[str, bool]:
    """A value that JSON has, as YAML; and whether that is all of it.

    Args:
        value: a value.
        most: letters; what is longer ends behind the line that is too long.
    """
    writer = _Writer(most)
    try:
        if isinstance(value, dict) and value:
            writer.mapping(value, "", "")
        elif isinstance(value, list) and value:
            for item in value:
                writer.value("-", item, "")
        else:
            writer.line(_scalar(value))
    except _Enough:
        return "\n".join(writer.lines)[:most] + "\n", False
    return "\n".join(writer.lines) + "\n", True


def _scalar(value: Any) -> str:
    if not isinstance(value, str):
        text = json.dumps(value)
        is_bare = isinstance(value, float) and "." not in text
        return text.replace("e", ".0e") if is_bare else text  # else it is read as a word
    if PLAIN.fullmatch(value) and value.lower() not in RESERVED:
        return value
    return json.dumps(value, ensure_ascii=not value.isprintable())
