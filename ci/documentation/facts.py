"""Pages that are facts of the code, as Markdown, made from it: so they cannot go untrue."""

from __future__ import annotations

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import click

from ci.documentation.markdown import cell, table, words
from conformance.catalogue import FOLDER, Catalogue, Clause, Edition, ground
from conformance.command.cli import main
from conformance.judging.claims import Claims
from conformance.oracles import FALSE_ALARM
from conformance.reporting.explain import deciding

ROOT = Path(__file__).parents[2]

SECTIONS = re.compile(r"^ *(Args|Attributes|Raises|Returns|Yields):$", re.MULTILINE)


class Facts:
    """The catalogue, and which scenarios there are.

    Attributes:
        known: the clauses and editions.
        declared: the scenarios, by id.
    """

    def __init__(self, known: Catalogue, declared: Mapping[str, Claims]) -> None:
        self.known = known
        self.declared = declared
        self._pages = {
            clause: _page(name)
            for one in known.editions
            for name in one.files
            for clause in _ids(FOLDER / name)
        }

    def link(self, clause: str) -> str:
        """A clause's id, as a link to its row from anywhere in the documentation."""
        page = self._pages.get(clause)
        return f"[{clause}](/{page}#{clause.lower()})" if page else clause

    def words(self, text: str) -> str:
        """Plain text, with links to the clauses that it names."""
        return words(text, self.link)

    # The pages of clauses.

    def clause_pages(self) -> Iterator[tuple[str, str]]:
        """A page for each file of rows: where it stands, and what is on it."""
        for edition in self.known.editions:
            for name in edition.files:
                yield _page(name), self._clause_page(edition, name)

    def _clause_page(self, edition: Edition, name: str) -> str:
        path = FOLDER / name
        about = _first_comment(path)
        text = f"# {edition.id}: {_title(name)}\n\n{self.words(about)}\n\n"
        text += f"The rows of `{path.relative_to(ROOT).as_posix()}`.\n"
        return text + "".join(self._clause(self.known[one]) for one in _ids(path))

    def _clause(self, clause: Clause) -> str:
        text = f"\n## {clause.id} {words(clause.title)}\n\n"
        link = self.known.editions.link(clause.document)
        document = f"[{clause.document}]({link})" if link else clause.document
        text += f"{clause.strength.value} · {document}, {words(clause.section)}\n\n"
        rows = [
            (f"`{edition}`", cell(self.words(said))) for edition, said in clause.wordings.items()
        ]
        text += table(("edition", "what it says"), iter(rows)) + "\n"
        told = {
            "Left open by": ", ".join(clause.open_in),
            "Superseded": ", ".join(clause.superseded_in),
            "Basis": clause.basis,
            "Rests on": clause.rests_on,
            "Seen by": clause.seen_by,
            "Choices": "; ".join(clause.choices),
            "Not in Envoy": clause.grpc_only,
            "Cannot be seen": clause.unobservable,
        }
        lines = [f"- {head}: {self.words(what)}" for head, what in told.items() if what]
        deciders = sorted({one.partition("[")[0] for one in deciding(clause.id, self.declared)})
        if deciders:
            lines.append(f"- Scenarios: {', '.join(f'`{one}`' for one in deciders)}")
        return text + "\n".join(lines) + "\n"

    def clauses(self) -> str:
        """All files of rows, by document."""
        rows = (
            (
                edition.id,
                f"[{_title(name)}](/{_page(name)})",
                cell(self.words(_first_comment(FOLDER / name))),
                f"{len(_ids(FOLDER / name))}",
            )
            for edition in self.known.editions
            for name in edition.files
        )
        return table(("text", "rows", "what they are about", "clauses"), rows)

    # Others.

    def editions(self) -> str:
        """Every edition, in the order in which they amend each other."""

        def row(one: Edition) -> tuple[str, ...]:
            link = self.known.editions.link(one.id)
            date = f"{one.date or ''}"
            worded = self.known.worded_by(one.id)
            pages = dict.fromkeys(self._pages[clause.id] for clause in worded)
            links = ", ".join(f"[{_title(page)}](/{page})" for page in pages)
            return (
                f"`{one.id}`",
                f"[{date}]({link})" if link else date,
                words(f"{one.relation}: {one.brings}" if one.relation else one.brings),
                f"{len(worded)}" + (f": {links}" if 0 < len(pages) <= FEW else ""),
            )

        head = ("edition", "since", "what it brings", "clauses")
        return table(head, map(row, self.known.editions))

    def not_seen(self) -> str:
        """Every clause that cannot be seen, and why."""
        hidden = [clause for clause in self.known if clause.unobservable]
        text = f"{len(hidden)} of {len(self.known)} clauses cannot be seen from outside a client.\n"
        for document in dict.fromkeys(clause.document for clause in hidden):
            rows = (
                (
                    self.link(clause.id),
                    cell(words(clause.title)),
                    cell(self.words(clause.unobservable or "")),
                )
                for clause in hidden
                if clause.document == document
            )
            text += f"\n### {document}\n\n" + table(("clause", "", "why it cannot be seen"), rows)
        waiting = [clause for clause in self.known if clause.awaits]
        if waiting:
            text += f"\n{len(waiting)} more could be seen, and no scenario decides them yet:\n\n"
            text += "\n".join(
                f"- {self.link(clause.id)} awaits {self.words(clause.awaits or '')}"
                for clause in waiting
            )
        return text

    def not_covered(self) -> str:
        """What implementations test themselves and no scenario sees, with the reason."""
        text = ""
        for section, lines in ground().items():
            missing = [line for line in lines if line.missing]
            text += f"\n### {words(section)}\n\n"
            text += f"{len(lines) - len(missing)} of {len(lines)} are seen.\n"
            rows = (
                (cell(self.words(line.says)), cell(self.words(line.missing or "")))
                for line in missing
            )
            if missing:
                text += "\n" + table(("what a client does", "why it is not seen"), rows)
        return text

    def oracles(self) -> str:
        """Each module of the oracles, by what it says of itself."""
        text = f"A check that is random has a chance of at most {FALSE_ALARM:g} of a false alarm.\n"
        return text + self._modules(ROOT / "conformance/oracles")

    def expectations(self) -> str:
        """Each module of the expectations."""
        return self._modules(ROOT / "conformance/judging/expectations")

    def _modules(self, folder: Path) -> str:
        text = ""
        for path in sorted(folder.rglob("*.py")):
            if path.name == "__init__.py":
                continue
            module = ast.parse(path.read_text("utf-8"))
            name = path.relative_to(folder).with_suffix("").as_posix().replace("/", " / ")
            about = self.words(_told(ast.get_docstring(module)))
            source = path.relative_to(ROOT).as_posix()
            text += f"\n### {words(name.replace('_', ' '))}\n\n{about}\n\n"
            for node in module.body:
                if not isinstance(node, ast.FunctionDef | ast.ClassDef):
                    continue
                said = _told(ast.get_docstring(node))
                if said and not node.name.startswith("_"):
                    indented = self.words(said).replace("\n", "\n    ")
                    text += f"- `{node.name}`: {indented}\n"
            text += f"\nIn [`{source}`](/{source}).\n"
        return text

    def command_line(self) -> str:
        """The help of every command."""
        context = click.Context(main, info_name="xdspec", **main.context_settings)
        return "".join(_helps(main, context))

    def messages(self) -> str:
        """The fields of every message of the contract."""
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
                f"`{name}`" + ("" if name in definition["required"] else ", may be left out"),
                cell(_type(field)),
            )
            for name, field in definition["properties"].items()
        )
        return f"{self.words(definition['description'])}\n\n" + table(("field", "value"), rows)

    def control_calls(self) -> str:
        """The calls of the control service, by the comments above them."""
        text = (ROOT / "fake_control_plane/control.proto").read_text("utf-8")
        found = re.finditer(
            r"((?: *//.*\n)*) *rpc (\w+)\((\w+)\) returns \((?:stream )?(\w+)\);", text
        )
        rows = (
            (
                f"`{call}`",
                cell(words(re.sub(r"^ *// ?", "", comment, flags=re.MULTILINE))),
                f"`{asked}` → `{said}`",
            )
            for comment, call, asked, said in (one.groups() for one in found)
        )
        return table(("call", "what it does", "messages"), rows)


FEW = 3
"""Pages to which a row of a table links, before it only says how many clauses there are."""


def symbol(path: Path, name: str) -> str:
    """A function, class or value of a module, as it is written, decorators and all.

    Args:
        path: of the module.
        name: `function`, `Class`, `Class.method` or `value`.

    Raises:
        LookupError: there is none.
    """
    text = path.read_text("utf-8")
    node: ast.AST = ast.parse(text)
    for part in name.split("."):
        node = next((one for one in ast.iter_child_nodes(node) if _name(one) == part), node)
    if _name(node) != name.rpartition(".")[2] or not isinstance(node, ast.stmt):
        raise LookupError(f"{path} has no {name}")
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(one.lineno for one in decorators)])
    return textwrap.dedent("\n".join(text.splitlines()[first - 1 : node.end_lineno]))


def _name(node: ast.AST) -> str | None:
    """What a statement gives a name to."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return getattr(node, "name", None)


def row(path: Path, name: str) -> str:
    """A table of a TOML file, as it is written.

    Raises:
        LookupError: there is none.
    """
    found = re.search(
        rf"^\[{re.escape(name)}\]\n(?:[^\[\n].*\n)*", path.read_text("utf-8"), re.MULTILINE
    )
    if not found:
        raise LookupError(f"{path} has no [{name}]")
    return found[0].rstrip()


def _page(name: str) -> str:
    return f"clauses/{PurePosixPath(name).with_suffix('.md').as_posix()}"


def _title(name: str) -> str:
    """`a42/ring.toml` in words."""
    return PurePosixPath(name).stem.replace("_", " ")


def _ids(path: Path) -> list[str]:
    return re.findall(r"^\[(A\d+-[A-Z]+-\d+)\]$", path.read_text("utf-8"), re.MULTILINE)


def _first_comment(path: Path) -> str:
    """What a file of rows says of itself at its head."""
    lines = path.read_text("utf-8").splitlines()
    comment = [line.removeprefix("#").strip() for line in lines if line.startswith("#")]
    head = next((n for n, line in enumerate(lines) if not line.startswith("#")), 0)
    return " ".join(comment[:head])


def _told(docstring: str | None) -> str:
    """A docstring without what is for callers."""
    if not docstring:
        return ""
    found = SECTIONS.search(docstring)
    return docstring[: found.start()].rstrip() if found else docstring


def _helps(command: click.Command, context: click.Context) -> Iterator[str]:
    """The help of a command and of those below it."""
    if not isinstance(command, click.Group):
        usage = " ".join(command.collect_usage_pieces(context))
        yield f"\n## {context.command_path}\n\n```text\n{context.command_path} {usage}\n```\n\n"
        yield words(inspect.cleandoc(command.help or "")) + "\n\n"
        records = filter(
            None, (one.get_help_record(context) for one in command.get_params(context))
        )
        rows = [(f"`{names}`", cell(words(what))) for names, what in records if what]
        if rows:
            yield table(("option", ""), iter(rows))
        return
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        if below is not None:
            yield from _helps(below, click.Context(below, info_name=name, parent=context))


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
    """What a field may hold, in words."""
    match field:
        case {"anyOf": several}:
            said = " or ".join(map(_type, several))
        case {"$ref": place}:
            said = f"`{place.rpartition('/')[2]}`"
        case {"enum": texts}:
            said = " or ".join(f"`{one}`" for one in texts)
        case {"type": "array", "prefixItems": items}:
            said = f"[{', '.join(map(_type, items))}]"
        case {"type": "array", "items": dict() as items}:
            said = f"a list, of each: {_type(items)}"
        case {"type": "object", "additionalProperties": dict() as values}:
            said = f"an object, of each value: {_type(values)}"
        case _:
            said = _KINDS.get(field.get("type", ""), "anything")
            said += f" from {field['minimum']} on" if "minimum" in field else ""
            said += f", {field['description']}" if "description" in field else ""
    return said


GENERATED: Mapping[str, Callable[[Facts], str]] = {
    "clauses": Facts.clauses,
    "command-line": Facts.command_line,
    "control-calls": Facts.control_calls,
    "editions": Facts.editions,
    "expectations": Facts.expectations,
    "messages": Facts.messages,
    "not-covered": Facts.not_covered,
    "not-seen": Facts.not_seen,
    "oracles": Facts.oracles,
}
"""By the name that a page calls it by."""
