"""Generate the parts of pages that are facts of the code, as Markdown.

Links begin with "/" at the root of the repository; `refresh` makes them relative to the page.
"""

from __future__ import annotations

import ast
import copy
import json
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import click

from ci.documentation.markdown import cell, escaped, table
from conformance.cli.commands import main
from conformance.spec.catalogue import FOLDER, Catalogue, Edition, peer_coverage
from conformance.spec.oracles.statistics import FALSE_ALARM

ROOT = Path(__file__).parents[2]


class Facts:
    """Generate Markdown from the catalogue and from the code.

    Attributes:
        known: the clauses and editions.
    """

    def __init__(self, known: Catalogue) -> None:
        self.known = known
        self._files = {
            clause: (FOLDER / name).relative_to(ROOT).as_posix()
            for clause, name in known.files.items()
        }

    def link(self, clause: str) -> str:
        """Return a clause's id as a link to the file with its row."""
        file = self._files.get(clause)
        return f"[{clause}](/{file})" if file else clause

    def words(self, text: str) -> str:
        """Return plain text as Markdown, with links to the clauses that it names."""
        return escaped(text, self.link)

    def clauses(self) -> str:
        """Return a table of the files of rows, by topic."""
        text = f"{len(self.known)} clauses in all.\n\n"
        rows = (
            (
                PurePosixPath(name).parent.name,
                f"[{PurePosixPath(name).stem}](/{(FOLDER / name).relative_to(ROOT).as_posix()})",
                cell(self.words(_first_comment(FOLDER / name))),
                f"{count}",
            )
            for name, count in sorted(Counter(self.known.files.values()).items())
        )
        return text + table(("topic", "file", "subject", "clauses:"), rows)

    def editions(self) -> str:
        """Return a table of every edition, in the order in which they amend each other."""

        def row(edition: Edition) -> tuple[str, ...]:
            link = self.known.editions.link(edition.id)
            date = f"{edition.date or ''}"
            said = f"{edition.relation}: {edition.brings}" if edition.relation else edition.brings
            return (
                f"`{edition.id}`",
                f"[{date}]({link})" if link else date,
                cell(escaped(said)),
                f"{len(self.known.worded_by(edition.id))}",
            )

        return table(("edition", "since", "content", "clauses:"), map(row, self.known.editions))

    def not_seen(self) -> str:
        """Every clause that cannot be seen, and why."""
        hidden = [clause for clause in self.known if clause.unobservable]
        text = f"{len(hidden)} of {len(self.known)} clauses cannot be observed from outside.\n"
        for document in dict.fromkeys(clause.document for clause in hidden):
            rows = (
                (
                    self.link(clause.id),
                    cell(escaped(clause.title)),
                    cell(self.words(clause.unobservable or "")),
                )
                for clause in hidden
                if clause.document == document
            )
            text += f"\n### {document}\n\n" + table(
                ("clause", "title", "why it cannot be observed"), rows
            )
        waiting = [clause for clause in self.known if clause.awaits]
        if waiting:
            text += "\n### Not decided yet\n\n"
            text += f"No scenario decides these {len(waiting)} clauses yet:\n\n"
            text += "\n".join(
                f"- {self.link(clause.id)}: {self.words(clause.awaits or '')}" for clause in waiting
            )
        return text

    def not_covered(self) -> str:
        """List the implementations' own tests that no scenario covers, with the reason."""
        text = ""
        for section, lines in peer_coverage().items():
            missing = [line for line in lines if line.missing]
            text += f"\n### {escaped(section)}\n\n"
            text += f"Scenarios observe {len(lines) - len(missing)} of {len(lines)} behaviors.\n"
            rows = (
                (cell(self.words(line.says)), cell(self.words(line.missing or "")))
                for line in missing
            )
            if missing:
                text += "\n" + table(("behavior", "why no scenario observes it"), rows)
        return text

    def oracles(self) -> str:
        """Return a table of the modules of the oracles."""
        times = f"{round(1 / FALSE_ALARM):,}"
        text = f"A random check fails a conforming client at most once in {times} times.\n\n"
        return text + self._modules(ROOT / "conformance/spec/oracles")

    def expectations(self) -> str:
        """Return a table of the modules of the expectations."""
        return self._modules(ROOT / "conformance/judging/expectations")

    def _modules(self, folder: Path) -> str:
        def row(path: Path) -> tuple[str, ...]:
            text = path.read_text("utf-8")
            about = (ast.get_docstring(ast.parse(text)) or "").partition("\n\n")[0]
            areas = sorted({file.rpartition("-")[0] for file in self._files if file in text})
            name = path.relative_to(folder).with_suffix("").as_posix()
            source = path.relative_to(ROOT).as_posix()
            return f"[{name}](/{source})", cell(escaped(about)), ", ".join(areas)

        paths = [path for path in sorted(folder.rglob("*.py")) if path.name != "__init__.py"]
        return table(("module", "what it computes", "clauses of"), map(row, paths))

    def command_line(self) -> str:
        """Return the help of every command."""
        return "".join(_helps(main, "xdspec", None)).strip() + "\n"

    def messages(self) -> str:
        """List the fields of every message of the contract."""
        path = ROOT / "client_under_test/contract/contract.schema.json"
        definitions: Mapping[str, Any] = json.loads(path.read_text("utf-8"))["$defs"]
        text = ""
        for side in ("Request", "Answer"):
            mapping = definitions[side]["discriminator"]["mapping"]
            for name, place in mapping.items():
                text += f"\n### {side.lower()} `{name}`\n\n"
                text += self._fields(definitions[place.rpartition("/")[2]])
        for name in _referred(definitions):
            text += f"\n### {name}\n\n" + self._fields(definitions[name])
        return text

    def _fields(self, definition: Mapping[str, Any]) -> str:
        rows = (
            (
                f"`{name}`" + ("" if name in definition["required"] else " (optional)"),
                cell(_type(field)),
            )
            for name, field in definition["properties"].items()
        )
        return f"{self.words(definition['description'])}\n\n" + table(("field", "value"), rows)

    def control_calls(self) -> str:
        """List the calls of the control service, with the comments above them."""
        text = (ROOT / "fake_control_plane/control.proto").read_text("utf-8")
        found = re.findall(rf"{COMMENT}rpc (\w+)\((\w+)\) returns \((?:stream )?(\w+)\);", text)
        rows = (
            (f"`{call}`", comment_text(comment), f"`{request}` → `{response}`")
            for comment, call, request, response in found
        )
        return table(("call", "what it does", "messages"), rows)

    def control_faults(self) -> str:
        """Every fault of the control service, by its proto."""
        text = (ROOT / "fake_control_plane/control.proto").read_text("utf-8")
        fault = re.search(r"^message Fault \{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL)
        assert fault is not None, "control.proto has no message Fault"
        fields, messages = fault[1].split("oneof fault {")[1].split("\n  }\n", 1)
        comments = {
            name: comment for comment, name in re.findall(rf"{COMMENT}message (\w+)", messages)
        }
        rows = (
            (f"`{field}`", comment_text(comment or comments[message]))
            for comment, message, field in re.findall(rf"{COMMENT}(\w+) (\w+) = \d+;", fields)
        )
        return table(("fault", "what it does"), rows)


COMMENT = r"((?: *//.*\n)*) *"
"""In front of a declaration of a proto."""


def comment_text(comment: str) -> str:
    """Return a comment of a proto as the cell of a table."""
    return cell(escaped(re.sub(r"^ *// ?", "", comment, flags=re.MULTILINE)))


def symbol(path: Path, name: str) -> str:
    """Return the source of a function, class or value of a module, with its decorators.

    Args:
        path: of the module.
        name: `function`, `Class`, `Class.method` or `value`.

    Raises:
        LookupError: there is none.
    """
    text = path.read_text("utf-8")
    node: ast.AST = ast.parse(text)
    for part in name.split("."):
        node = next((child for child in ast.iter_child_nodes(node) if _name(child) == part), node)
    if _name(node) != name.rpartition(".")[2] or not isinstance(node, ast.stmt):
        raise LookupError(f"{path} has no {name}")
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return textwrap.dedent("\n".join(text.splitlines()[first - 1 : node.end_lineno]))


def _name(node: ast.AST) -> str | None:
    """Return the name that a statement binds."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return getattr(node, "name", None)


def row(path: Path, name: str) -> str:
    """Return the source of a table of a TOML file.

    Raises:
        LookupError: there is none.
    """
    found = re.search(
        rf"^\[{re.escape(name)}\]\n(?:[^\[\n].*\n)*", path.read_text("utf-8"), re.MULTILINE
    )
    if not found:
        raise LookupError(f"{path} has no [{name}]")
    return found[0].rstrip()


def _ids(path: Path) -> list[str]:
    return re.findall(r"^\[(A\d+-[A-Z]+-\d+)\]$", path.read_text("utf-8"), re.MULTILINE)


def _first_comment(path: Path) -> str:
    """Return the comment at the head of a file of rows."""
    lines = path.read_text("utf-8").splitlines()
    comment = [line.removeprefix("#").strip() for line in lines if line.startswith("#")]
    head = next((n for n, line in enumerate(lines) if not line.startswith("#")), 0)
    return " ".join(comment[:head])


def _helps(command: click.Command, name: str, parent: click.Context | None) -> Iterator[str]:
    """Yield the help of a command and of those below it, as `--help` prints it."""
    settings = {**command.context_settings, "terminal_width": 100, "max_content_width": 100}
    command = copy.copy(command)
    command._help_option = None  # noqa: SLF001 - click keeps that of the first context of a process
    context = command.context_class(command, info_name=name, parent=parent, **settings)
    yield f"\n## {context.command_path}\n\n```text\n{command.get_help(context).rstrip()}\n```\n"
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            if found is not None and not found.hidden:
                yield from _helps(found, below, context)


def _referred(definitions: Mapping[str, Any]) -> Iterator[str]:
    """Definitions that are no message: what messages are made of."""
    messages = {
        place.rpartition("/")[2]
        for side in ("Request", "Answer")
        for place in definitions[side]["discriminator"]["mapping"].values()
    }
    return (name for name in definitions if name not in {*messages, "Request", "Answer"})


_KINDS: Mapping[str, str] = {
    "integer": "a whole number",
    "string": "text",
    "boolean": "true or false",
    "null": "null",
    "number": "a number",
}


def _type(field: Mapping[str, Any]) -> str:
    """Return the allowed values of a field, as text."""
    match field:
        case {"anyOf": several}:
            said = " or ".join(map(_type, several))
        case {"$ref": place}:
            said = f"`{place.rpartition('/')[2]}`"
        case {"enum": texts}:
            said = " or ".join(f"`{text}`" for text in texts)
        case {"type": "array", "prefixItems": items}:
            said = f"[{', '.join(map(_type, items))}]"
        case {"type": "array", "items": dict() as items}:
            said = f"list of {_type(items)}"
        case {"type": "object", "additionalProperties": dict() as values}:
            said = f"object with values: {_type(values)}"
        case _:
            said = _KINDS.get(field.get("type", ""), "anything")
            said += f", at least {field['minimum']}" if "minimum" in field else ""
            said += f", {field['description']}" if "description" in field else ""
    return said


GENERATED: Mapping[str, Callable[[Facts], str]] = {
    "clauses": Facts.clauses,
    "command-line": Facts.command_line,
    "control-calls": Facts.control_calls,
    "control-faults": Facts.control_faults,
    "editions": Facts.editions,
    "expectations": Facts.expectations,
    "messages": Facts.messages,
    "not-covered": Facts.not_covered,
    "not-seen": Facts.not_seen,
    "oracles": Facts.oracles,
}
"""Generators by the name that a page's marker has."""
