"""Generate what an author of an adapter looks up: keys of client.toml, knobs, rules of the doctor.

A key, a knob or a rule without a description is an error, so that none is left out.
"""

from __future__ import annotations

import ast
import inspect
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from ci.documentation.markdown import cell, escaped, table
from client_under_test.contract.messages import Capability
from client_under_test.doctor.rules import SECTIONS, every_check
from client_under_test.manifests import manifest
from client_under_test.manifests.manifest import Knob, Manifest
from conformance.runner.collection import scenarios
from conformance.runner.explore.course_runner import BACKOFF_KNOBS
from conformance.runner.settings import FAILOVER_KNOB
from conformance.runner.targets import RESOLUTIONS_KNOB

if TYPE_CHECKING:
    from ci.documentation.facts import Facts

KNOBS: Mapping[str, tuple[str, str]] = {
    "ring_size_cap": ("the upper limit of all ring sizes, 4,096 by default", "entries"),
    "initial_backoff_ms": ("the first pause before connecting again", "milliseconds"),
    "max_backoff_ms": ("the longest pause before connecting again", "milliseconds"),
    "connect_timeout_ms": (
        "how long the client tries to connect, up to the server's HTTP/2 settings",
        "milliseconds",
    ),
    "failover_timeout_ms": ("the failover timer of a priority, 10 s by default", "milliseconds"),
    "dns_min_interval_ms": ("the shortest time between two resolutions of a name", "milliseconds"),
}
"""What each knob sets, and its unit."""

OPTIONAL = {"host-names", "name-server"}
"""Rules that cost an adapter scenarios if it does not follow them, and nothing else."""


def manifest_keys(_: Facts) -> str:
    """Describe every key of client.toml, table by table."""
    text = ""
    waiting: list[tuple[str, type[msgspec.Struct]]] = [("", Manifest)]
    seen = set[type]()
    while waiting:
        name, kind = waiting.pop(0)
        if kind in seen:
            continue
        seen.add(kind)
        if name:
            text += f"\n## {name}\n\n{escaped(_first(kind))}\n\n"
        rows, tables = [], []
        described = _descriptions(kind)
        for field in msgspec.structs.fields(kind):
            key = field.encode_name
            if inner := _table_of(field.type):
                tables.append((_heading(name, key, field.type), inner))
                words = described.get(field.name) or f"the table {tables[-1][0]} below"
            else:
                words = described[field.name]
            needed = "required" if field.required else ""
            rows.append((f"`{key}`", cell(_words(field.type)), needed, cell(escaped(words))))
        text += table(("key", "value", "", "meaning"), rows)
        waiting[:0] = tables
    return text


def _first(kind: type) -> str:
    return (inspect.getdoc(kind) or "").replace("\n", " ").replace("  ", " ")


def _heading(parent: str, key: str, kind: Any) -> str:
    """Return a table as TOML writes it: `[build]`, `[[build.tools]]`, `[variants.NAME]`."""
    path = parent.strip("`[]")
    full = f"{path}.{key}" if path else key
    args = [arg for arg in typing.get_args(kind) if arg is not type(None)]
    origin = typing.get_origin(kind)
    if origin is tuple:
        return f"`[[{full}]]`"
    if origin is dict:
        return f"`[{full}.{'KNOB' if args[0] is Knob else 'NAME'}]`"
    return f"`[{full}]`"


def _table_of(kind: Any) -> type[msgspec.Struct] | None:
    """Return the struct in a type, if it has one."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind
    return next(filter(None, map(_table_of, typing.get_args(kind))), None)


def _descriptions(kind: type) -> dict[str, str]:
    """Return the text below each field of a class."""
    tree = ast.parse(inspect.getsource(manifest))
    node = next(each for each in tree.body if getattr(each, "name", "") == kind.__name__)
    assert isinstance(node, ast.ClassDef)
    found = {}
    for field, below in zip(node.body, node.body[1:], strict=False):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str())):
                found[name] = inspect.cleandoc(str(ast.literal_eval(below.value))).replace(
                    "\n", " "
                )
    return found


def _words(kind: Any) -> str:  # noqa: PLR0911 - one for each kind
    """Return a type as words."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in {typing.Union, types.UnionType}:
        return " or ".join(_words(arg) for arg in args if arg is not type(None))
    if origin is typing.Annotated:
        return _words(args[0])
    if origin is Literal:
        return " or ".join(f"`{arg}`" for arg in sorted(args)) if len(args) > 1 else f"`{args[0]}`"
    if origin is tuple:
        inner = _table_of(args[0])
        return "tables" if inner else f"list of {_words(args[0])}"
    if origin is dict:
        return "tables by name" if _table_of(args[1]) else "table of text"
    if _table_of(kind):
        return "table"
    return {str: "text", float: "number", bool: "true or false"}[kind]


def knobs(_: Facts) -> str:
    """Describe every knob, with what uses it."""
    rows = [
        (f"`{knob}`", *KNOBS[knob], "; ".join(_uses(knob)) or "nothing today")
        for knob in typing.get_args(Knob)
    ]
    return table(("knob", "sets", "unit", "used by"), rows)


def _uses(knob: str) -> Iterator[str]:
    declared = scenarios()
    needing = dict.fromkeys(
        f"`{name.partition('[')[0]}`" for name, each in declared.items() if knob in each.knobs
    )
    if needing:
        yield f"{', '.join(needing)}, which are skipped without it"
    if knob == RESOLUTIONS_KNOB:
        again = dict.fromkeys(
            f"`{name.partition('[')[0]}`" for name, each in declared.items() if each.resolutions
        )
        yield f"{', '.join(again)}, which wait longer without it"
    if knob == FAILOVER_KNOB:
        count = sum(each.failover for each in declared.values())
        yield f"`--fast`, to shorten the {count} scenarios that wait for the timer"
    if knob in BACKOFF_KNOBS:
        yield "`xdspec explore`, to shorten its courses"


CAPABILITIES: Mapping[str, tuple[str, str, str]] = {
    "metadata": (
        "sends metadata of its own with each call",
        "minutes",
        "scenarios whose requests differ",
    ),
    "wait_for_ready": (
        "sets wait-for-ready for a call",
        "minutes",
        "requests that wait while endpoints fail",
    ),
    "channels": (
        "has several channels at once",
        "minutes",
        "counters and streams that channels share",
    ),
    "cancel": (
        "cancels calls, also those that wait for their turn",
        "hours",
        "ring_hash after a cancelled request",
    ),
    "kept_open": (
        "keeps bidirectional streams open, up to 1,000 at once",
        "hours",
        "circuit breaking, LEAST_REQUEST",
    ),
    "watch": ("reports the channel's states", "hours", "the state that ring_hash reports"),
    "connect": ("asks an idle channel to connect", "minutes", "nothing: it is optional"),
    "custom_policy": ("registers a load-balancing policy", "day", "custom policies of A52"),
    "bootstrap_per_channel": (
        "gives each channel its own bootstrap",
        "hours",
        "nothing: runs are only slower",
    ),
    "response_headers": ("reports response headers", "minutes", "session affinity of A55"),
}
"""What a client with each capability does, how long an author works on it, and what is skipped."""


def capabilities(_: Facts) -> str:
    """Describe every capability, the cheapest first, with what it costs and what needs it."""
    order = ("minutes", "hours", "day")
    rows = [(f"`{name}`", *CAPABILITIES[name]) for name in typing.get_args(Capability)]
    rows.sort(key=lambda row: order.index(row[2]))
    return table(("capability", "the client", "work", "skipped without it"), rows)


def doctor_rules(_: Facts) -> str:
    """List the rules of the doctor, with the section of the contract that has each."""
    rows = (
        (
            f"`{check.name}`",
            cell(escaped(check.rule)),
            f"[{SECTIONS[check.name]}](#{SECTIONS[check.name].lower().replace(' ', '-')})",
            "optional"
            if check.name in OPTIONAL
            else f"with {', '.join(f'`{need}`' for need in check.needs)}"
            if check.needs
            else "required",
        )
        for check in every_check()
    )
    return table(("rule", "what the doctor checks", "section", ""), rows)


GENERATED: Mapping[str, Callable[[Facts], str]] = {
    "manifest-keys": manifest_keys,
    "knobs": knobs,
    "capabilities": capabilities,
    "doctor-rules": doctor_rules,
}
