"""Check which long parts of CI run for the change of a history of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = (ROOT / "ci" / "rotation.py", ROOT / "ci" / "changed_clauses.py")

# The wheel has no such files.
pytestmark = pytest.mark.skipif(not MODULES[0].exists(), reason="needs a checkout")


class Checkout:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for module in MODULES:
            self.write(f"ci/{module.name}", module.read_text("utf-8"))
        self.write("conformance/mutation/mutants/ring_hash/ring.py", 'a = M(clause="A42-RING-13")')

    def write(self, path: str, text: str) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text, "utf-8")

    def git(self, *words: str) -> None:
        who = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.com")
        subprocess.run(["git", "-C", self.folder, *who, *words], check=True, capture_output=True)

    def commit(self, path: str, text: str = "") -> None:
        self.write(path, text)
        self.git("add", "--all")
        self.git("commit", "--message", path)

    def asks(self, **variables: str) -> subprocess.CompletedProcess[str]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("XDSPEC_CI", "GIT_"))}
        own = {"GIT_CEILING_DIRECTORIES": str(self.folder.parent), "GIT_CONFIG_GLOBAL": "/dev/null"}
        return subprocess.run(
            [sys.executable, "-m", "ci.rotation"],
            check=False,
            cwd=self.folder,
            capture_output=True,
            encoding="utf-8",
            env={**clean, **own, **variables},
        )

    def turn(self, **variables: str) -> list[str]:
        """Return the clauses that run against all clients, and those whose mutants run.

        The turn is one that does not run the mutants of ring_hash whole.
        """
        asked = self.asks(XDSPEC_CI_TURN="2", **variables)
        assert asked.returncode == 0, asked.stderr
        _, part, areas, mutants, _, _, _ = asked.stdout.split("\n")
        assert "ring_hash" not in areas
        return [" ".join(word for word in part.split() if word.startswith("--")), mutants]


@pytest.fixture
def exported(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path / "xdspec")


@pytest.fixture
def checkout(exported: Checkout) -> Checkout:
    if shutil.which("git") is None:
        pytest.skip("needs git")
    exported.git("init", "--initial-branch", "landed")
    exported.commit("README.md")
    return exported


ROW = "conformance/spec/catalogue/ring_hash/ring.toml"
SCENARIO = "conformance/scenarios/ring_hash/ring.py"
ROW_TEXT = '[A42-RING-13]\nstrength = "MUST"\n'
OF_ROW = ["", "--clause=A42-RING-13"]
OF_SCENARIO = ["--clause=A42-RING-14", ""]
DECIDES = '@decides("A42-RING-14")\ndef test_it(): ...\n'


def test_without_history_everything_runs_unless_a_turn_is_forced(exported: Checkout) -> None:
    asked = exported.asks()
    assert asked.returncode == 0
    assert asked.stderr == (
        "ci: all turns; no history; left out: nothing; 0 of 0 files of slow tests run\n"
    )
    topics = ROOT / "conformance" / "mutation" / "mutants"
    wanted = {
        f"--area={topic.name}" for topic in topics.iterdir() if (topic / "__init__.py").exists()
    }
    assert {word for word in asked.stdout.split() if word.startswith("--area=")} == wanted
    assert exported.turn() == ["", ""]


def test_a_first_commit_is_no_history(checkout: Checkout) -> None:
    assert "all turns; no history" in checkout.asks().stderr


def test_a_changed_picture_is_no_change_of_a_clause(checkout: Checkout) -> None:
    checkout.write("docs/assets/site.png", "")
    for content in (b"\x89PNG", b"\x89PNG\r"):
        (checkout.folder / "docs/assets/site.png").write_bytes(content)
        checkout.git("add", "--all")
        checkout.git("commit", "--message", "picture")
    assert checkout.turn() == ["", ""]


def test_the_last_commit_is_the_change(checkout: Checkout) -> None:
    checkout.commit(ROW, ROW_TEXT)
    assert checkout.turn() == OF_ROW
    checkout.commit(SCENARIO, DECIDES)
    assert checkout.turn() == OF_SCENARIO
    assert checkout.turn(XDSPEC_CI_SINCE="HEAD~2") == [OF_SCENARIO[0], OF_ROW[1]]


def test_of_a_merge_all_that_it_brought_is_the_change(checkout: Checkout) -> None:
    checkout.git("checkout", "-b", "branch")
    checkout.commit(ROW, ROW_TEXT)
    checkout.commit(SCENARIO, DECIDES)
    checkout.git("checkout", "landed")
    checkout.git("merge", "--no-ff", "branch")
    assert checkout.turn() == [OF_SCENARIO[0], OF_ROW[1]]


def test_the_change_is_what_has_not_landed(checkout: Checkout) -> None:
    checkout.git("update-ref", "refs/remotes/origin/main", "HEAD")
    checkout.commit(ROW, ROW_TEXT)
    checkout.commit(SCENARIO, DECIDES)
    assert checkout.turn() == [OF_SCENARIO[0], OF_ROW[1]]
    checkout.git("update-ref", "refs/remotes/origin/main", "HEAD")
    assert checkout.turn() == OF_SCENARIO


def test_what_is_not_committed_is_a_change(checkout: Checkout) -> None:
    checkout.commit("docs/some.md")
    assert checkout.turn() == ["", ""]
    checkout.write(ROW, ROW_TEXT)
    assert checkout.turn() == OF_ROW
    checkout.git("add", "--all")
    assert checkout.turn() == OF_ROW


def test_what_is_gone_is_not_asked_for(checkout: Checkout) -> None:
    checkout.commit(SCENARIO, DECIDES)
    checkout.git("rm", SCENARIO)
    checkout.git("commit", "--message", "without it")
    assert checkout.turn() == ["", ""]


RULES = "client_under_test/reference/policies/rules/some.py"
OLD_RULES = """
ALL = 1  # A42-RING-01


class Rules:
    \"\"\"A42-RING-02.\"\"\"

    first: bool
    \"\"\"A42-RING-03.\"\"\"

    def one(self) -> int:
        \"\"\"A42-RING-04.\"\"\"

        return 1

    def two(self) -> int:  # A42-RING-05
        \"\"\"As it is told.\"\"\"
        return 2
"""
TABLES = "conformance/spec/catalogue/ring_hash/some.toml"
OLD_TABLES = """
about = 'route'

[A42-RING-06]
strength = "MUST"
A42 = "A client must."
A61 = "It may."

[A42-RING-07]
title = "two"
strength = "MAY"
A42 = "A client may."
"""


@pytest.mark.parametrize(
    ("path", "old", "was", "becomes", "clauses"),
    [
        (RULES, OLD_RULES, "ALL = 1", "ALL = 2", {"01"}),
        (RULES, OLD_RULES, "first: bool", "first: int", {"03"}),
        (RULES, OLD_RULES, "-03.", "-03, and more.", set()),
        (RULES, OLD_RULES, "As it is told.", "Return two.", set()),
        (RULES, OLD_RULES, "        return 1", "        return 3", {"04"}),
        (RULES, OLD_RULES, "        return 1\n", "", {"04"}),
        (RULES, OLD_RULES, "return 2", "return 3", {"05"}),
        (RULES, OLD_RULES, "class Rules", "class Others", {"02"}),
        (RULES, OLD_RULES, "return 2", "return (", {"01", "02", "03", "04", "05"}),
        (TABLES, OLD_TABLES, '"two"', '"three"', set()),
        (TABLES, OLD_TABLES, "A client may.", "The client may.", set()),
        (TABLES, OLD_TABLES, "MUST", "SHOULD", {"06"}),
        (TABLES, OLD_TABLES, 'A61 = "It may."\n', "", {"06"}),
        (TABLES, OLD_TABLES, 'strength = "MAY"\n', "", {"07"}),
        (TABLES, OLD_TABLES, "about = 'route'", "about = 'cluster'", {"06", "07"}),
    ],
)
def test_what_is_named_where_a_file_changed(
    checkout: Checkout, path: str, old: str, was: str, becomes: str, clauses: set[str]
) -> None:
    mutants = "".join(f'a = M(clause="A42-RING-0{number}")\n' for number in range(1, 8))
    checkout.write("conformance/mutation/mutants/ring_hash/ring.py", mutants)
    checkout.commit(path, old)
    checkout.commit(path, old.replace(was, becomes))
    options = " ".join(f"--clause=A42-RING-{clause}" for clause in sorted(clauses))
    assert checkout.turn() == ["", options]


@pytest.mark.parametrize("variable", ["XDSPEC_CI_TURN", "XDSPEC_CI_SINCE"])
def test_a_variable_that_cannot_be(checkout: Checkout, variable: str) -> None:
    asked = checkout.asks(**{variable: "nothing"})
    assert asked.returncode == 4
    assert asked.stdout == ""
    assert asked.stderr.startswith(f"ci: {variable} is 'nothing'")
