"""Find the clauses that a change is about. Pure.

Code is compared with all code that was there before, so a statement may move to another file. A
change of many clauses, such as a rename of the whole repository, does not run all of them: a sample
runs, drawn by the day, which prefers clauses where more than names changed.

Uses the standard library only.
"""

from __future__ import annotations

import ast
import random
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

Ids = frozenset[str]
NONE = Ids()
ID = re.compile(r"\bA\d+-[A-Z]+-\d+\b")

MOST = 150
"""Touched clauses that all run. Their mutants take about a minute and a half."""


@dataclass(frozen=True, kw_only=True)
class ChangedParts:
    """What a change is about."""

    clients: frozenset[str] = NONE
    clauses: Ids = NONE
    certain: Ids = NONE
    """Clauses among them where more than names changed."""
    scenarios: Ids = NONE
    """Clauses among them that a changed scenario decides."""

    def sample(self, seed: str) -> ChangedParts:
        """Return a change of at most `MOST` clauses, those with more than new names first."""
        if len(self.clauses) <= MOST:
            return self
        draw = random.Random(f"clauses {seed}")
        certain = self.certain
        if len(certain) > MOST:
            certain = Ids(draw.sample(sorted(certain), MOST))
        rest = sorted(self.clauses - self.certain)
        chosen = certain | {*draw.sample(rest, min(MOST - len(certain), len(rest)))}
        return ChangedParts(
            clients=self.clients,
            clauses=chosen,
            certain=certain,
            scenarios=self.scenarios & chosen,
        )


@dataclass(frozen=True)
class Change:
    """A file that changed."""

    path: str
    before: str = ""
    now: str = ""
    """Its content; empty if there is no such file."""


def touched(changes: Iterable[Change], mutants: Iterable[str] = ()) -> ChangedParts:
    """Return what a change is about.

    Args:
        changes: the files that changed.
        mutants: all modules of mutants, which name the rules that they replace.
    """
    by_rule = clauses_by_rule(mutants)
    clients, rows, code = set[str](), list[Change](), list[Change]()
    scenarios = list[str]()
    for change in changes:
        parts, suffix = PurePosixPath(change.path).parts, PurePosixPath(change.path).suffix
        if parts[:2] == ("client_under_test", "adapters") and suffix != ".md" and change.now:
            clients.add(parts[2])
        elif "catalogue" in parts and suffix == ".toml":
            rows.append(change)
        elif suffix == ".py" and "tests" not in parts:
            if "scenarios" in parts:
                scenarios.append(change.path)
            if "scenarios" in parts or "mutation" in parts or parts[1:2] == ("reference",):
                code.append(change)
    of_rows = _rows(code_of_rows(rows, "before"), code_of_rows(rows, "now"))
    by_file = changed_in(code, lambda code: code, by_rule)
    of_code = Ids().union(*by_file.values())
    return ChangedParts(
        clients=frozenset(clients),
        clauses=of_rows | of_code,
        certain=of_rows | Ids().union(*changed_in(code, shape, by_rule).values()),
        scenarios=Ids().union(*(by_file[path] for path in scenarios)),
    )


def beyond_renames(changes: Iterable[Change]) -> list[Change]:
    """Return the changes but for modules in which only names changed, or that moved."""
    changes = tuple(changes)
    modules = [change for change in changes if change.path.endswith(".py")]
    before = {shape(passage.code) for module in modules for passage in passages(module.before)}
    renamed = [
        module
        for module in modules
        if all(shape(passage.code) in before for passage in passages(module.now))
    ]
    return [change for change in changes if change not in renamed]


# Rows.

TEXT = {"title", "seen_by", "basis", "section", "document", "amends"}
"""Fields of a row that are for people."""

PRESENCE = {"unobservable", "awaits", "grpc_only", "envoy"}
"""Fields that count by being there, as the wordings of gRFCs do."""

Rows = dict[str, dict[str, object]]


def code_of_rows(changes: Iterable[Change], side: str) -> Rows:
    """Return the code that decides each row's verdict, with the settings that its file shares."""
    found: Rows = {}
    for change in changes:
        rows = _parsed(getattr(change, side))
        common = {name: value for name, value in rows.items() if not isinstance(value, dict)}
        for name, row in rows.items():
            if isinstance(row, dict) and ID.fullmatch(name):
                found[name] = {
                    field: is_there(field) or value
                    for field, value in (common | row).items()
                    if field not in TEXT
                }
    return found


def _parsed(text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}


def is_there(field: str) -> bool:
    """Return whether a field of a row counts by being there, whatever it says."""
    return field in PRESENCE or re.fullmatch(r"A\d+(-[A-Z0-9]+)?", field) is not None


def _rows(before: Rows, now: Rows) -> Ids:
    """Return the rows that are not judged as they were before."""
    return Ids(name for name in {*before, *now} if before.get(name) != now.get(name))


# Code.


@dataclass(frozen=True)
class Passage:
    """A statement of a module or class, without docstrings."""

    code: str
    text: str
    """Its lines, with a docstring and comments that follow."""
    defines: frozenset[str]
    """Names."""

    @property
    def ids(self) -> Ids:
        """The clauses that it names."""
        return Ids(ID.findall(self.text))


def clauses_by_rule(mutants: Iterable[str]) -> dict[str, Ids]:
    """Return the clauses of the mutants that replace each rule of the reference client."""
    found = dict[str, Ids]()
    for text in mutants:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Mutant":
                fields = {each.arg: each.value for each in node.keywords}
                clause = Ids(ID.findall(ast.unparse(fields["clause"])))
                for rules in (fields.get("rules"), fields.get("xds")):
                    for key in rules.keys if isinstance(rules, ast.Dict) else ():
                        if isinstance(key, ast.Constant):
                            found[str(key.value)] = found.get(str(key.value), NONE) | clause
    return found


def changed_in(
    changes: Iterable[Change], normal: Callable[[str], str], by_rule: Mapping[str, Ids]
) -> dict[str, Ids]:
    """Return the clauses of changed passages of each file.

    A passage changed if none of those before has its code. It is about the clauses that it names,
    and about those whose mutants replace it. If there are none, the passages of the file that use
    it count as changed, too.

    Args:
        changes: modules.
        normal: returns what of a passage's code is compared.
        by_rule: the clauses whose mutants replace a rule.
    """
    changes = tuple(changes)
    before = {normal(passage.code) for file in changes for passage in passages(file.before)}
    return {
        change.path: _clauses(
            passages(change.now), lambda passage: normal(passage.code) not in before, by_rule
        )
        for change in changes
    }


def _clauses(
    there: Iterable[Passage], is_new: Callable[[Passage], bool], by_rule: Mapping[str, Ids]
) -> Ids:
    left = tuple(there)
    ids = set[str]()
    changed = [passage for passage in left if is_new(passage)]
    while changed:
        left = tuple(passage for passage in left if passage not in changed)
        about = {passage: passage.ids | _replaced(passage, by_rule) for passage in changed}
        ids.update(*about.values())
        helpers = {name for passage in changed if not about[passage] for name in passage.defines}
        changed = [passage for passage in left if helpers & {*NAME.findall(passage.code)}]
    return Ids(ids)


def _replaced(passage: Passage, by_rule: Mapping[str, Ids]) -> Ids:
    """Return the clauses whose mutants replace a rule; an amendment's has its gRFC in the name."""
    rules = (re.sub(r"_a\d+$", "", name) for name in passage.defines)
    return Ids().union(*(by_rule.get(rule, NONE) for rule in rules))


NAME = re.compile(r"\b(?:id|attr|name|arg)='(\w+)'")
"""A name in the dump of a syntax tree."""


def shape(code: str) -> str:
    """Return code with its names numbered in their order: the same for code that was renamed."""
    numbers: dict[str, int] = {}
    return NAME.sub(lambda name: str(numbers.setdefault(name[1], len(numbers))), code)


def passages(text: str) -> Iterator[Passage]:
    """Return the statements of a module, but for imports; all of it if it has bad syntax."""
    try:
        module = ast.parse(text)
    except SyntaxError:
        yield Passage(code=text, text=text, defines=frozenset())
        return
    for node in ast.walk(module):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [child for child in node.body if not _is_text(child)] or [ast.Pass()]
    lines = text.splitlines()
    statements = [*_statements(module.body)]
    ends = [first for first, _ in statements[1:]] + [len(lines) + 1]
    for (first, node), end in zip(statements, ends, strict=True):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            yield Passage(
                code=ast.dump(node),
                text="\n".join(lines[first - 1 : end - 1]),
                defines=frozenset(_defines(node)),
            )


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _defines(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name


def _statements(body: Iterable[ast.stmt]) -> Iterator[tuple[int, ast.stmt]]:
    """Return statements with their first lines; those in a class follow the empty class."""
    for node in body:
        decorators: list[ast.expr] = getattr(node, "decorator_list", [])
        first = min([getattr(node, "lineno", 0), *(each.lineno for each in decorators)])
        if isinstance(node, ast.ClassDef):
            inside, node.body = node.body, []
            yield first, node
            yield from _statements(child for child in inside if not isinstance(child, ast.Pass))
        else:
            yield first, node
