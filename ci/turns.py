"""Which of the long parts of CI run today: they take turns by the day of the year.

Clients that are slow take turns, and a variant of one that hardly differs from what runs every day.

All that runs on a day takes about 25 minutes on a quiet machine with two cores; after as many days
as there are turns everything has run. What a change touched runs whatever the day:

- the mutants of each clause that a touched row, scenario, mutant or rule of the reference client
  names, where it is touched by more than words, with those beside them in their files;
- touched scenarios, against all clients;
- a client whose adapter it is.

Any other file, such as one of those that judge, adds nothing: the clients of every day run all
scenarios, and the turn's mutants run theirs.

The change is what is here and not in the main that has landed, also what is not committed. Where
git knows of no such main, or this is it, the change is the last commit: of a merge, all that it
brought. Where git knows nothing, all files are. XDSPEC_CI_SINCE names another commit to look from;
XDSPEC_CI_TURN forces a turn, by its number or as `all`.

Uses the standard library only. Prints what the script is to do, in three lines that may be empty:
clients; clients that run touched scenarios only, with these; options of `xdspec mutants`. What is
left out is said on standard error.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
MUTANTS = ROOT / "conformance" / "mutation" / "mutants"

TURN = "XDSPEC_CI_TURN"
SINCE = "XDSPEC_CI_SINCE"
ALL = "all"
BAD_INPUT = 4

Ids = frozenset[str]
ID = re.compile(r"\bA\d+-[A-Z]+-\d+\b")

LANDED = ("origin/HEAD", "origin/main", "main")
"""What the main that has landed may be called; the first that there is counts."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """What runs on one of the days.

    Attributes:
        clients: as the command line names them.
        areas: of mutants, by base text.
    """

    clients: tuple[str, ...] = ()
    areas: tuple[str, ...] = ()


EVERY_DAY = (
    *("reference+seed", "reference+seed-2021", "reference+2023", "reference+modern"),
    *("python@1.85.1", "go", "envoy"),
)
"""Clients. The real ones without a version stand for the one that their manifest pins."""

TURNS: tuple[Turn, ...] = (
    Turn(clients=("java", "reference+weighted-round-robin")),
    Turn(clients=("reference+data-errors", "reference+least-request"), areas=("a42",)),
    Turn(clients=("node",), areas=("a27", "a32", "a37", "a52")),
)

SLOW = tuple(client for turn in TURNS for client in turn.clients)
AREAS = tuple(area for turn in TURNS for area in turn.areas)


@dataclass(frozen=True, kw_only=True)
class Touched:
    """What a change is about."""

    clients: frozenset[str] = frozenset()
    areas: frozenset[str] = frozenset()
    """Of mutants: a base text, or a file of one, such as ``a42/ring``."""
    scenarios: frozenset[str] = frozenset()
    """Patterns of names."""


@dataclass(frozen=True, kw_only=True)
class Today:
    """What runs of the long parts."""

    clients: tuple[str, ...]
    """The slow ones that run whole."""
    areas: tuple[str, ...]
    scenarios: tuple[str, ...]
    """What the other slow ones run."""

    @property
    def others(self) -> tuple[str, ...]:
        """Slow clients that do not run whole."""
        return tuple(one for one in SLOW if one not in self.clients)

    def orders(self) -> tuple[str, str, str]:
        """The three lines."""
        part = (*self.others, *(f"--scenario={one}" for one in self.scenarios))
        return (
            " ".join((*EVERY_DAY, *self.clients)),
            " ".join(part) if self.others and self.scenarios else "",
            " ".join(f"--area={one}" for one in self.areas),
        )

    def left_out(self) -> str:
        """What does not run, or runs in part."""
        beside = f" (but for {' '.join(self.scenarios)})" if self.scenarios else ""
        rest = []
        for area in (one for one in AREAS if one not in self.areas):
            files = [one for one in self.areas if one.startswith(f"{area}/")]
            rest.append(f"mutants of {area}" + (f" (but for {' '.join(files)})" if files else ""))
        return ", ".join([*(f"{one}{beside}" for one in self.others), *rest]) or "nothing"


class BadVariable(Exception):
    """It says what cannot be."""


def number_of(forced: str, day: int) -> int:
    """The number of a turn, from 1 on.

    Args:
        forced: what the variable says, if anything.
        day: of the year.
    """
    if not forced:
        return day % len(TURNS) + 1
    if forced not in map(str, range(1, len(TURNS) + 1)):
        raise BadVariable(
            f"{TURN} is {forced!r}: {ALL}, or a number from 1 to {len(TURNS)} is wanted"
        )
    return int(forced)


def touched(files: Mapping[str, Ids], mutants: Mapping[str, Ids]) -> Touched:
    """Tell what a change is about.

    Args:
        files: that it changed, by path, and the clauses that are named there.
        mutants: their files, such as ``a42/ring``, and the clauses that each names.
    """
    clients, ids, scenarios = set[str](), set[str](), set[str]()
    for path, names in files.items():
        match PurePosixPath(path).parts:
            case ("client_under_test", "adapters", client, *_):
                clients.add(client)
            case ("client_under_test", "reference", *_):
                ids |= names
            case ("conformance", "catalogue" | "mutation", *_):
                ids |= names
            case ("conformance", "scenarios", _, name) if name.endswith(".py"):
                ids |= names
                scenarios.add(f"{name.removesuffix('.py')}.*")
    return Touched(
        clients=frozenset(clients),
        areas=frozenset(file for file, names in mutants.items() if names & ids),
        scenarios=frozenset(scenarios),
    )


def today(turns: Iterable[Turn], change: Touched) -> Today:
    """What runs in these turns, and for a change."""
    turns = tuple(turns)
    clients = change.clients.union(*(turn.clients for turn in turns))
    areas = change.areas.union(*(turn.areas for turn in turns))
    return Today(
        clients=tuple(one for one in SLOW if one in clients),
        areas=tuple(
            sorted(one for one in areas if "/" not in one or one.partition("/")[0] not in areas)
        ),
        scenarios=tuple(sorted(change.scenarios)),
    )


# What is read: files, and git.


def ids_in(path: Path) -> Ids:
    """The clauses that a file names."""
    return frozenset(ID.findall(path.read_text("utf-8", "replace"))) if path.is_file() else Ids()


def ids_touched(path: Path, commit: str) -> Ids:
    """Return the clauses that are named where a file is not as it was in a commit.

    In a module that is the same function, assignment or other statement of it or of a class, unless
    only its docstring differs. Of a row of the catalogue that is the row, unless only its text
    differs: what is judged is the same. Elsewhere it is the same paragraph.
    """
    if not path.is_file():
        return Ids()
    text = path.read_text("utf-8", "replace")
    told = git("diff", "--unified=0", "--no-renames", commit, "--", str(path))
    before = git("show", f"{commit}:./{path.relative_to(ROOT)}") if told else ""
    if before and path.suffix == ".toml" and "catalogue" in path.parts:
        return rows_touched(before, text)
    hunks = [(int(first), int(count or 1)) for first, count in HUNK.findall(told)]
    # Where lines were only taken away, those on either side stand for them.
    places = [(first, first + (count - 1 if count else 1)) for first, count in hunks]
    lines = text.splitlines()
    same = code_of(before) if path.suffix == ".py" else {}
    now = code_of(text) if same else {}
    return Ids(
        clause
        for begin, end in passages(path.suffix, text)
        if not told or any(first <= end and begin <= last for first, last in places)
        if not (begin in now and now[begin] in same.values())
        for clause in ID.findall("\n".join(lines[begin - 1 : end]))
    )


TEXT = {"title", "seen_by", "basis", "section"}
"""Fields of a row that are for people."""

PRESENCE = {"unobservable", "awaits", "grpc_only", "envoy"}
"""Fields that count by being there, as the wordings of gRFCs do."""


def rows_touched(before: str, now: str) -> Ids:
    """Return the rows that are not judged as they were before."""
    was, told = (_judged(tomllib.loads(text)) for text in (before, now))
    return Ids(name for name in {*was, *told} if was.get(name) != told.get(name))


def _judged(rows: Mapping[str, object]) -> dict[str, dict[str, object]]:
    """Return what decides how each row is judged, with what the file says of all of them."""
    common = {name: one for name, one in rows.items() if not isinstance(one, dict)}
    return {
        name: {
            field: is_there(field) or value
            for field, value in (common | row).items()
            if field not in TEXT
        }
        for name, row in rows.items()
        if isinstance(row, dict)
    }


def is_there(field: str) -> bool:
    """Return whether a field of a row counts by being there, whatever it says."""
    return field in PRESENCE or re.fullmatch(r"A\d+(-[A-Z0-9]+)?", field) is not None


def code_of(text: str) -> dict[int, str]:
    """Return the code of each statement by its first line, without docstrings."""
    try:
        module = ast.parse(text)
    except SyntaxError:
        return {}
    for node in ast.walk(module):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [one for one in node.body if not _is_text(one)] or [ast.Pass()]
    return {first: ast.dump(one) for first, one in _of_module(module.body)}


def _is_text(one: ast.stmt) -> bool:
    return isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)


def _of_module(body: Iterable[ast.stmt]) -> Iterator[tuple[int, ast.stmt]]:
    """Return statements with their first lines; those in a class follow the empty class."""
    for one in body:
        decorators = getattr(one, "decorator_list", [])
        first = min([getattr(one, "lineno", 0), *(each.lineno for each in decorators)])
        if isinstance(one, ast.ClassDef):
            inside, one.body = one.body, []
            yield first, one
            yield from _of_module(inside)
        else:
            yield first, one


HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


def passages(suffix: str, text: str) -> Iterator[tuple[int, int]]:
    """The first and the last line, counted from 1, of what belongs together in a file."""
    last = len(text.splitlines())
    begins = [1, *(_statements(text) if suffix == ".py" else _paragraphs(text))]
    for begin, following in zip(begins, [*begins[1:], last + 1], strict=True):
        yield begin, following - 1


def _paragraphs(text: str) -> Iterator[int]:
    """The first line of each."""
    before = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not before.strip():
            yield number
        before = line


def _statements(text: str) -> Iterator[int]:
    """The first line of each of a module or class; a string goes with what it describes."""
    try:
        left: list[ast.stmt] = ast.parse(text).body
    except SyntaxError:
        return
    while left:
        one, *left = left
        if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)):
            yield min([one.lineno, *(each.lineno for each in getattr(one, "decorator_list", []))])
        if isinstance(one, ast.ClassDef):
            left = [*one.body, *left]


def git(*words: str) -> str:
    """What it says; nothing if it cannot, or is not there."""
    command = ["git", "-C", str(ROOT), *words]
    try:
        done = subprocess.run(command, check=False, capture_output=True, encoding="utf-8")
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def since(forced: str) -> str:
    """The commit from which on files have changed; nothing if it is not known."""
    if forced:
        if not (commit := git("rev-parse", "--verify", f"{forced}^{{commit}}")):
            raise BadVariable(f"{SINCE} is {forced!r}, which is no commit here")
        return commit
    bases = [base for name in LANDED if (base := git("merge-base", name, "HEAD"))]
    if bases and bases[0] != git("rev-parse", "HEAD"):
        return bases[0]
    return git("rev-parse", "--verify", "HEAD^")


def changed(commit: str) -> list[str]:
    """The files that are there and not as they were in a commit."""
    told = git("diff", "--name-only", "--no-renames", "--diff-filter=d", "--relative", commit)
    return [*told.splitlines(), *git("ls-files", "--others", "--exclude-standard").splitlines()]


def main() -> int:
    """Print what is to be done."""
    turns, name, looked_at, change = TURNS, "all turns", "no history", Touched()
    forced = os.environ.get(TURN, "")
    try:
        if commit := since(os.environ.get(SINCE, "")):
            names = changed(commit)
            looked_at = f"{len(names)} files changed since {commit[:9]}"
            mutants = {f"{one.parent.name}/{one.stem}": one for one in MUTANTS.glob("*/[!_]*.py")}
            change = touched(
                {name: ids_touched(ROOT / name, commit) for name in names},
                {name: ids_in(path) for name, path in mutants.items()},
            )
        if forced != ALL and (forced or commit):
            number = number_of(forced, datetime.now(UTC).timetuple().tm_yday)
            turns, name = (TURNS[number - 1],), f"turn {number} of {len(TURNS)}"
    except BadVariable as error:
        print(f"ci: {error}", file=sys.stderr)
        return BAD_INPUT
    runs = today(turns, change)
    print(f"ci: {name}; {looked_at}; left out: {runs.left_out()}", file=sys.stderr)
    print(*runs.orders(), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
