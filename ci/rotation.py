"""Print which of the long parts of CI run today: they take turns by the day of the year.

Slow clients take turns, and variants of a client that hardly differ from one that runs every day.
After as many days as there are turns, everything has run. What a change touches runs on any day:

- the mutants of each clause that a changed row, scenario, mutant or rule of the reference client
  names, unless only text such as a docstring changed
- the scenarios among them, against all clients
- a client whose adapter changed
- slow tests whose file changed, or a file that `WATCHED` lists for them
- adapters that do not say how they name ring entries, if a file of `RING_KEYS` changed

`ci/changed_clauses.py` finds what a change touches. If it touches many clauses, a sample of them
runs, and standard error says so.

Other files, such as those that judge, add nothing: the clients of every day run all scenarios, and
the mutants of the turn run theirs.

The change is what is here and not in the main that has landed, whether committed or not. If git
knows no such main, or this is it, the change is the last commit: of a merge, all that it brought.
Without history everything runs. XDSPEC_CI_SINCE names another commit to compare with.
XDSPEC_CI_TURN chooses a turn by its number, or `all`. XDSPEC_CI_SEED replaces the seed of the day.

Uses the standard library only. Prints lines that may be empty: clients; clients that run touched
scenarios only, with options that select these; options of `xdspec mutants` for the turn; its
options for the change; adapters that do not say how they name ring entries; files with slow tests.
Standard error says what is left out.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ci.changed_clauses import ID, Change, ChangedParts, Ids, beyond_renames, touched

ROOT = Path(__file__).resolve().parent.parent
MUTANTS = ROOT / "conformance" / "mutation" / "mutants"

TURN = "XDSPEC_CI_TURN"
SINCE = "XDSPEC_CI_SINCE"
SEED = "XDSPEC_CI_SEED"
ALL = "all"
BAD_INPUT = 4

BROKEN = re.compile(rf'\bclause="({ID.pattern})"')
"""How a mutant declares the clause that it breaks."""

LANDED = ("origin/HEAD", "origin/main", "main")
"""Names of the main that has landed; the first that exists counts."""

MANY = 200
"""Files of a change beyond which slow tests do not run if only names changed in them."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """What runs on one of the days.

    Attributes:
        clients: as the command line names them.
        areas: of mutants, by topic.
        undeclared: adapters that do not say how they name ring entries; .ci/run makes them.
    """

    clients: tuple[str, ...] = ()
    areas: tuple[str, ...] = ()
    undeclared: tuple[str, ...] = ()


EVERY_DAY = ("reference+seed", "python@1.85.1", "go")
"""Clients. A real client without a version runs in the version that its manifest pins."""

TURNS: tuple[Turn, ...] = (
    Turn(
        clients=("reference+seed-2021", "reference+weighted-round-robin"),
        areas=("ring_hash",),
        undeclared=("silent-python@1.85.1",),
    ),
    Turn(
        clients=("envoy", "reference+modern"),
        areas=("aggregate", "dns", "hash_policy"),
    ),
    Turn(
        clients=(
            "reference+2023",
            "reference+data-errors",
            "reference+outlier-detection",
            "reference+session-affinity",
        ),
        areas=("cds", "circuit_breaking", "data_errors", "drops"),
        undeclared=("silent-reference",),
    ),
    Turn(
        clients=("node", "reference+least-request"),
        areas=("eds", "lb_policy_list", "lds_rds", "locality"),
    ),
    Turn(
        clients=("java",),
        areas=(
            *("ads", "load_reports", "outlier_detection", "pick_first", "priority"),
            *("session_affinity", "weighted_round_robin"),
        ),
        undeclared=("unknown-reference",),
    ),
)

WATCHED = {
    "tests/ci/test_action.py": ("ci/action/", "ci/examples/"),
    "tests/ci/test_container.py": ("ci/container/", "ci/examples/"),
    "tests/ci/test_documentation_commands.py": ("docs/", "README.md", "CONTRIBUTING.md"),
    "tests/ci/test_documentation_site.py": ("docs/", "ci/documentation/", "requirements-docs.lock"),
    "tests/ci/test_examples.py": ("ci/action/", "ci/examples/"),
    "tests/ci/test_package.py": ("pyproject.toml", "requirements.lock"),
    "tests/conformance/cli/test_gate.py": (
        "conformance/cli/base_cache.py",
        "conformance/cli/gate.py",
        "conformance/cli/repetition.py",
    ),
    "tests/conformance/cli/test_early_ends.py": ("conformance/runner/known_causes.py",),
    "tests/conformance/cli/test_serve_go.py": ("fake_control_plane/control.proto",),
    "tests/conformance/cli/test_shared_processes.py": (
        "conformance/runner/collector.py",
        "conformance/runner/retry.py",
        "conformance/world/launched.py",
    ),
    "tests/conformance/reporting/site/test_pages.py": ("conformance/reporting/site/",),
    "tests/conformance/runner/test_fast.py": ("conformance/runner/selection.py",),
    "tests/fakexds/test_go_module.py": ("go/", "fake_control_plane/control.proto"),
    "tests/pytest_xdspec/test_plugin.py": ("docs/own-scenarios/", "pytest_xdspec/"),
}
"""Beginnings of the paths with which slow tests run on any day, by file of tests."""

RING_KEYS = (
    "conformance/judging/ring_keys.py",
    "conformance/runner/calibration.py",
    "conformance/runner/targets.py",
)
"""Paths with which all adapters run that do not say how they name ring entries."""

SLOW = tuple(client for turn in TURNS for client in turn.clients)
AREAS = tuple(area for turn in TURNS for area in turn.areas)
UNDECLARED = tuple(adapter for turn in TURNS for adapter in turn.undeclared)


@dataclass(frozen=True, kw_only=True)
class Today:
    """What runs of the long parts."""

    clients: tuple[str, ...]
    """The slow clients that run whole."""
    areas: tuple[str, ...]
    mutants: tuple[str, ...]
    """Clauses of other areas."""
    scenarios: tuple[str, ...]
    """Clauses that the other slow clients run."""
    undeclared: tuple[str, ...]

    @property
    def others(self) -> tuple[str, ...]:
        """Slow clients that do not run whole."""
        return tuple(client for client in SLOW if client not in self.clients)

    def lines(self) -> tuple[str, str, str, str, str]:
        """Return what is printed."""
        part = (*self.others, *(f"--clause={clause}" for clause in self.scenarios))
        return (
            " ".join((*EVERY_DAY, *self.clients)),
            " ".join(part) if self.others and self.scenarios else "",
            " ".join(f"--area={area}" for area in self.areas),
            " ".join(f"--clause={clause}" for clause in self.mutants),
            " ".join(self.undeclared),
        )

    def left_out(self) -> str:
        """Return what does not run, or only in part."""
        part = f" (but for {_count(self.scenarios)})" if self.scenarios else ""
        rest = [f"{client}{part}" for client in self.others]
        if areas := [area for area in AREAS if area not in self.areas]:
            part = f" (but for those of {_count(self.mutants)})" if self.mutants else ""
            rest.append(f"mutants of {' '.join(areas)}{part}")
        rest += [
            f"undeclared ring keys of {name}" for name in UNDECLARED if name not in self.undeclared
        ]
        return ", ".join(rest) or "nothing"


def _count(clauses: tuple[str, ...]) -> str:
    return " ".join(clauses) if len(clauses) < 6 else f"{len(clauses)} clauses"  # noqa: PLR2004


class BadVariable(Exception):
    """A variable has a value that it cannot have; the text says which."""


def number_of(forced: str, day: int) -> int:
    """Return the number of a turn, from 1 on.

    Args:
        forced: the value of the variable, or nothing.
        day: of the year.
    """
    if not forced:
        return day % len(TURNS) + 1
    if forced not in map(str, range(1, len(TURNS) + 1)):
        raise BadVariable(
            f"{TURN} is {forced!r}: set it to {ALL}, or to a number from 1 to {len(TURNS)}"
        )
    return int(forced)


def today(
    turns: Iterable[Turn], change: ChangedParts, mutants: Mapping[str, Ids], *, ring_keys: bool
) -> Today:
    """Return what runs in these turns, and for a change.

    Args:
        turns: of the day.
        change: what it touches.
        mutants: the clauses that the mutants of each area break.
        ring_keys: whether the change is about how clients name ring entries.
    """
    turns = tuple(turns)
    clients = change.clients.union(*(turn.clients for turn in turns))
    areas = {area for turn in turns for area in turn.areas}
    broken = {area: mutants.get(area, Ids()) for area in AREAS}
    of_turn = Ids().union(*(broken[area] for area in areas))
    others = Ids().union(*broken.values()) - of_turn
    return Today(
        clients=tuple(client for client in SLOW if client in clients),
        areas=tuple(area for area in AREAS if area in areas),
        mutants=tuple(sorted(change.clauses & others)),
        scenarios=tuple(sorted(change.scenarios)),
        undeclared=tuple(
            adapter
            for adapter in UNDECLARED
            if ring_keys or any(adapter in turn.undeclared for turn in turns)
        ),
    )


def slow_tests(
    files: Iterable[str], numbers: AbstractSet[int], changes: Iterable[str]
) -> list[str]:
    """Return the files of slow tests that run.

    Args:
        files: with slow tests; the turns share them out.
        numbers: of the turns, from 1 on.
        changes: paths of changed files.
    """
    changes = tuple(changes)
    return [
        file
        for place, file in enumerate(sorted(files))
        if place % len(TURNS) + 1 in numbers
        or any(path.startswith((file, *WATCHED.get(file, ()))) for path in changes)
    ]


# What is read: files, and git.


def git(*arguments: str) -> str:
    """Return its output; nothing if it fails, or is not installed."""
    command = ["git", "-C", str(ROOT), *arguments]
    try:
        ended = subprocess.run(
            command, check=False, capture_output=True, encoding="utf-8", errors="replace"
        )
    except OSError:
        return ""
    return ended.stdout.strip() if ended.returncode == 0 else ""


def since(forced: str) -> str:
    """Return the commit from which on files have changed; nothing if it is not known."""
    if forced:
        if not (commit := git("rev-parse", "--verify", f"{forced}^{{commit}}")):
            raise BadVariable(f"{SINCE} is {forced!r}, which is no commit here")
        return commit
    bases = [base for name in LANDED if (base := git("merge-base", name, "HEAD"))]
    if bases and bases[0] != git("rev-parse", "HEAD"):
        return bases[0]
    return git("rev-parse", "--verify", "HEAD^")


def changed(commit: str) -> tuple[Change, ...]:
    """Return the files that are not as they were in a commit, but for those that are not text."""
    names = git("diff", "--name-only", "--no-renames", "--relative", commit).splitlines()
    names += git("ls-files", "--others", "--exclude-standard").splitlines()
    return tuple(
        Change(name, before=git("show", f"{commit}:./{name}"), now=_content(ROOT / name))
        for name in names
    )


def _content(path: Path) -> str:
    return path.read_text("utf-8", "replace") if path.is_file() else ""


def broken_by_area() -> dict[str, Ids]:
    """Return the clauses that the mutants of each area break."""
    return {
        area.name: Ids(
            clause for file in area.glob("*.py") for clause in BROKEN.findall(_content(file))
        )
        for area in MUTANTS.iterdir()
        if area.is_dir()
    }


def files_with_slow_tests() -> list[str]:
    """Return the paths of test modules that mark tests as slow."""
    found = (ROOT / "tests").rglob("test_*.py")
    return [str(file.relative_to(ROOT)) for file in found if "mark.slow" in _content(file)]


def main() -> int:
    """Print what runs."""
    turns, name, looked_at, change = TURNS, "all turns", "no history", ChangedParts()
    numbers, files = {*range(1, len(TURNS) + 1)}, tuple[Change, ...]()
    forced = os.environ.get(TURN, "")
    seed = os.environ.get(SEED, "") or f"{datetime.now(UTC):%Y%m%d}"
    try:
        if commit := since(os.environ.get(SINCE, "")):
            files = changed(commit)
            looked_at = f"{len(files)} files changed since {commit[:9]}"
            mutants = (path.read_text("utf-8") for path in sorted(MUTANTS.rglob("*.py")))
            everything = touched(files, mutants)
            change = everything.sample(seed)
            if len(files) > MANY:
                files = tuple(beyond_renames(files))
            if change != everything:
                looked_at += (
                    f" touch {len(everything.clauses)} clauses, {len(everything.certain)} by more "
                    f"than names: {len(change.clauses)} of them are drawn, with seed {seed}"
                )
        if forced != ALL and (forced or commit):
            number = number_of(forced, datetime.now(UTC).timetuple().tm_yday)
            numbers = {number}
            turns, name = (TURNS[number - 1],), f"turn {number} of {len(TURNS)}"
    except BadVariable as error:
        print(f"ci: {error}", file=sys.stderr)
        return BAD_INPUT
    ring_keys = any(file.path in RING_KEYS for file in files)
    runs = today(turns, change, broken_by_area(), ring_keys=ring_keys)
    slow = files_with_slow_tests()
    tests = slow_tests(slow, numbers, (file.path for file in files))
    print(
        f"ci: {name}; {looked_at}; left out: {runs.left_out()}; "
        f"{len(tests)} of {len(slow)} files of slow tests run",
        file=sys.stderr,
    )
    print(*runs.lines(), " ".join(tests), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
