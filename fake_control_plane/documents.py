"""JSON and YAML as plain values, of texts that may be written to do harm.

Rules of this file:

* A duplicate key in a mapping is an error: parsers differ in which of the two values they keep, so
  one of them is a mistake.
* The size of a parsed document is bounded before parsing: the depth of its nesting, the length of
  its integers, and the repetition by YAML aliases.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

import yaml

# Protobuf's own JSON reads 100 messages within one another. The parsers of YAML go down by
# recursion, the C one without a check.
_DEEPEST: Final = 200

# A double has no more than 309 digits before its point, and 64 bits are 20. Python refuses to read
# or write more than 4,300 of them, by an error that says nothing of where.
_LONGEST_INTEGER: Final = 400

# The most values that aliases may add: a thousand endpoints that share a hundred. A text that
# doubles itself thirty times exceeds it at once.
_MOST_REPEATED: Final = 100_000

# The C loader is not part of every build of PyYAML; without it a thousand endpoints take seconds.
_YAML_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER: Final = "tag:yaml.org,2002:int"

# What escapes from the constructors of PyYAML where a text is not what its tag says.
_NO_SUCH_VALUE: Final = (ArithmeticError, AttributeError, KeyError, TypeError, ValueError)


# How JSON, which is UTF-8 itself, can name half of a surrogate pair.
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")


class BadDocument(Exception):
    """A text is not a valid document; the message is a clause, with the line if it is known."""


def json_document(text: str) -> Any:
    """Parse a text in JSON.

    Raises:
        BadDocument: it is not JSON, or has a duplicate key.
    """
    try:
        value = json.loads(text, object_pairs_hook=_mapping, parse_int=_integer)
    except json.JSONDecodeError as trouble:
        raise BadDocument(f"is not JSON: {trouble.args[0]}") from trouble
    except RecursionError as trouble:
        raise BadDocument("is not JSON: it is nested too deeply") from trouble
    if _SURROGATE.search(text):
        _refuse_half_pairs(value)
    return value


def yaml_documents(text: str) -> list[Any]:
    """Parse the documents of a text in YAML, and return them in order.

    Raises:
        BadDocument: one is not YAML, has a duplicate key, or an alias within its own anchor.
    """
    try:
        _refuse_deep_nesting(text)
        loader = _YAML_LOADER(text)
        documents = []
        try:
            while loader.check_node():
                node = loader.get_node()
                assert node is not None
                _Repetition().refuse(node)
                documents.append(loader.construct_document(node))
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as trouble:
        line = f"line {trouble.problem_mark.line + 1}: " if trouble.problem_mark else ""
        raise BadDocument(f"is not YAML: {line}{trouble.problem}") from trouble
    except (yaml.YAMLError, RecursionError, *_NO_SUCH_VALUE) as trouble:
        raise BadDocument(f"is not YAML: {' '.join(str(trouble).split())}") from trouble
    return documents


def _refuse_half_pairs(value: Any) -> None:
    # Such a text is no Unicode, and protobuf's descriptors end in a SystemError over it.
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as trouble:
        half = ascii(trouble.object[trouble.start])
        raise BadDocument(f"is no Unicode text: {half} is half of a surrogate pair") from None


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        seen = set()
        for key, _ in pairs:
            if key in seen:
                raise BadDocument(f"has the key {key!r} twice in one object: leave one out")
            seen.add(key)
    return mapping


def _integer(text: str) -> int:
    if len(text) > _LONGEST_INTEGER:
        raise BadDocument(f"has an integer of {len(text)} digits, which no field can hold")
    return int(text)


def _refuse_deep_nesting(text: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=_YAML_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _DEEPEST:
            raise BadDocument(f"{_line(event)}: more than {_DEEPEST} levels within one another")


class _Repetition:
    """The size of a document with its aliases expanded; measures each node once."""

    def __init__(self) -> None:
        self._sizes: dict[int, int] = {}
        self._depths: dict[int, int] = {}
        self._above: set[int] = set()

    def refuse(self, document: yaml.Node) -> None:
        """Raise BadDocument if a document is too large, or repeats a key."""
        size, _ = self._measure(document)
        if size - len(self._sizes) > _MOST_REPEATED:
            raise BadDocument(f"repeats more than {_MOST_REPEATED:,} values by its aliases")

    def _measure(self, node: yaml.Node) -> tuple[int, int]:
        """Return the number of values in a node with its aliases expanded, and its depth."""
        known = id(node)
        if known in self._above:
            raise BadDocument(f"{_line(node)}: an alias within its own anchor")
        if known not in self._sizes:
            self._above.add(known)
            size, depth = 1, 0
            for part in _parts(node):
                of_part, levels = self._measure(part)
                size, depth = size + of_part, max(depth, levels)
            self._above.discard(known)
            if depth >= _DEEPEST:
                raise BadDocument(
                    f"{_line(node)}: by its aliases more than {_DEEPEST} levels within one another"
                )
            # Numbers that double with each line would themselves grow beyond all bounds.
            self._sizes[known] = min(size, len(self._sizes) + 2 * _MOST_REPEATED)
            self._depths[known] = depth + 1
        return self._sizes[known], self._depths[known]


def _parts(node: yaml.Node) -> list[yaml.Node]:
    match node:
        case yaml.MappingNode():
            _refuse_doubled_keys(node)
            return [part for pair in node.value for part in pair]
        case yaml.SequenceNode():
            return list(node.value)
    if node.tag == _INTEGER and len(node.value) > _LONGEST_INTEGER:
        raise BadDocument(
            f"{_line(node)}: an integer of {len(node.value)} digits, which no field can hold"
        )
    return []


def _refuse_doubled_keys(mapping: yaml.MappingNode) -> None:
    # Before `<<` is merged: a key beside it may well stand in what is merged.
    seen: dict[tuple[str, str], yaml.Node] = {}
    for key, _ in mapping.value:
        if isinstance(key, yaml.ScalarNode):
            first = seen.setdefault((key.tag, key.value), key)
            if first is not key:
                raise BadDocument(
                    f"{_line(key)}: the key {key.value!r} is in {_line(first)} already: "
                    "leave one out"
                )


def _line(of: yaml.Node | yaml.Event) -> str:
    assert of.start_mark is not None
    return f"line {of.start_mark.line + 1}"
