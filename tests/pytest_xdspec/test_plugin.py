"""The example of scenarios of somebody's own, and what else he may do, in a pytest of his."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import pytest_xdspec

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "own-scenarios"
ADAPTERS = Path(__file__).parents[1] / "adapters"
DEADLINE = 300.0
"""For one pytest on a machine that is busy with others: a hang, not a slow one, meets it."""

BROKEN = "XDSPEC_REFERENCE_MUTANT=conformance.mutation.mutants.ring_hash.ring:entries_not_sorted"

# The wheel has no docs.
pytestmark = pytest.mark.skipif(not EXAMPLE.exists(), reason="needs a checkout")


class Ended(NamedTuple):
    code: int
    said: str
    folder: Path

    @property
    def evidence(self) -> list[Path]:
        return sorted(path.parent for path in self.folder.glob("xdspec-out/**/scenario.json"))


def run(folder: Path, *words: str, path: str | None = None) -> Ended:
    """A pytest of another project, which knows nothing of this one's."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "XDSPEC_TIME"))}
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words],
        cwd=folder,
        env={**clean, **({} if path is None else {"PATH": path})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
        timeout=DEADLINE,
    )
    return Ended(ended.returncode, ended.stdout, folder)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The example, in a place of its own."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "project"))


def with_tests(project: Path, text: str) -> Path:
    """The same with other tests in the place of its own."""
    (project / "tests" / "test_tenants.py").unlink()
    head = "import pytest\nimport pytest_asyncio\nfrom pytest_xdspec import *\n\n"
    (project / "tests" / "test_own.py").write_text(head + text, "utf-8")
    return project


# The example.


@pytest.mark.slow
@pytest.mark.parametrize(
    "other", ["reference+modern", pytest.param("python@1.85.1", marks=pytest.mark.slow)]
)
def test_the_example_passes_of_two_clients_beside_one_another(project: Path, other: str) -> None:
    two = ("--xdspec-client", "reference", "--xdspec-client", other)
    ended = run(project, "-n", "2", *two, "-v")
    assert ended.code == 0, ended.said
    ids = set(re.findall(r"PASSED tests/test_tenants.py::(\S+\[.*\])", ended.said))
    assert len(ids) == 12
    assert sum(f"[{other}" in test for test in ids) == 6
    assert not (project / "xdspec-out").exists()


def test_the_example_fails_of_a_broken_client_and_says_why(project: Path) -> None:
    ended = run(project, "--xdspec-client=reference", "--xdspec-env", BROKEN, "--xdspec-seed=7")
    assert ended.code == 1, ended.said
    assert ended.said.count("the observation differs from the expectation") >= 2
    assert ">       world.expect(calls, served.matches_ring())" in ended.said
    assert re.search(
        r"expected  each call reaches the endpoint that owns its hash \(computed ring: \d+ ",
        ended.said,
    )
    assert re.search(r"observed  \d+ of 100 calls went elsewhere", ended.said)
    assert "own_world.py" not in ended.said  # the failure is a line of the test
    assert "4 passed" in ended.said  # all that does not know of rings
    folder = next(folder for folder in ended.evidence if "ring_has_it" in folder.name)
    assert f"evidence  {folder}" in ended.said
    assert {"transcript.jsonl", "calls.jsonl", "bootstrap.json"} <= {
        file.name for file in folder.iterdir()
    }
    shown = subprocess.run(
        [sys.executable, "-m", "conformance", "show", str(folder)],
        capture_output=True,
        encoding="utf-8",
        check=True,
    ).stdout
    (repeat,) = re.findall(r"repeat +(pytest .*)", shown)
    assert repeat in ended.said
    assert "--xdspec-seed=7" in repeat
    assert repeat.endswith(
        "'tests/test_tenants.py::test_each_tenant_is_where_the_ring_has_it[reference]'"
    )


@pytest.mark.parametrize(
    ("client", "words"),
    [
        ("crasher", "the client died by SIGABRT; its stderr ends:\na last word before the crash"),
        pytest.param(
            *("liar", "the client reports that call-0 was answered by"), marks=pytest.mark.slow
        ),
    ],
)
def test_a_client_that_dies_or_lies_fails_in_words(project: Path, client: str, words: str) -> None:
    ended = run(project, f"--xdspec-client={ADAPTERS / client}", "-k", "acme")
    assert ended.code == 1, ended.said
    assert words in ended.said
    assert "at test_tenants.py:42: calls = await world.call(" in ended.said
    assert "Traceback" not in ended.said
    assert len(ended.evidence) == 1


def test_the_page_shows_a_test_that_is_run() -> None:
    page = EXAMPLE.with_suffix(".md").read_text("utf-8")
    shown = page.split("```python\n")[1].partition("```")[0]
    assert shown in (EXAMPLE / "tests" / "test_tenants.py").read_text("utf-8")


def test_the_page_names_what_there_is() -> None:
    page = EXAMPLE.with_suffix(".md").read_text("utf-8")
    table = " ".join(line for line in page.splitlines() if line.startswith("| "))
    named = {*re.findall(r"`([A-Z]\w+)`", table)} | {*re.findall(r"`(\w+)`, ", table)}
    assert len(named) > 12
    of_calls = {"status", "details", "endpoint"}
    assert named - of_calls <= {*pytest_xdspec.__all__}
    assert all(hasattr(pytest_xdspec, name) for name in pytest_xdspec.__all__)


# What else one may do.

OWN = """
    @pytest_asyncio.fixture(loop_scope="session")
    async def served(world):
        what = single_locality(await world.addresses(2), policy=RingHash(minimum=64))
        await world.serve(what)
        return what

    async def test_a_fixture_of_my_own(world, served):
        world.expect(await world.call(world.sessions(4)), served.matches_ring())

    class TestInAClass:
        async def test_a_clause_that_is_kept(self, world, served):
            calls = await world.call(world.sessions(4))
            await world.check("A42-HDR-02", calls, served.matches_ring())

        async def test_a_clause_that_is_broken(self, world, served):
            calls = await world.call(world.sessions(4))
            await world.check("A42-HDR-02", calls, expectations.AllServedBy(("127.0.0.1:1",)))

    @pytest.mark.xdspec(requires=("levitation",))
    async def test_a_capability_that_nobody_has(world):
        raise AssertionError

    @pytest.mark.xdspec(settings={"warp": 9})
    async def test_a_knob_that_nobody_has(world):
        raise AssertionError

    @pytest.mark.xdspec(settings={"ring_size_cap": 16})
    async def test_a_knob(world):
        addresses = await world.addresses(4)
        served = single_locality(addresses, policy=RingHash(minimum=1024)).with_ring_cap(16)
        await world.serve(served)
        world.expect(await world.call(world.sessions(40)), served.matches_ring())

    @pytest.mark.asyncio
    async def test_a_mark_of_the_other_plugin(world):
        assert world.now < 60

    @pytest.mark.xfail(strict=True, reason="known")
    async def test_a_known_failure(world):
        assert world.client.name == "nobody"

    async def test_a_refused_resource(world):
        served = single_locality(await world.addresses(1), policy=RingHash(minimum=2, maximum=1))
        await world.serve(served)
        await world.require_served(world.sessions(1))

    async def test_words_of_my_own(world):
        pytest.fail("this is not what we want")

    def test_without_a_world():
        pass
"""


@pytest.mark.slow
def test_what_else_one_may_do(project: Path) -> None:
    folder = with_tests(project, re.sub(r"^    ", "", OWN, flags=re.MULTILINE))
    ended = run(folder, "-rA", "-W", "error", "--xdspec-client=reference")
    assert ended.code == 1, ended.said
    told = re.findall(r"^(PASSED|FAILED|XFAIL) tests/test_own.py::(\S+)", ended.said, re.MULTILINE)
    outcomes = {name.partition("[")[0]: how for how, name in told}
    assert outcomes == {
        "test_a_fixture_of_my_own": "PASSED",
        "TestInAClass::test_a_clause_that_is_kept": "PASSED",
        "TestInAClass::test_a_clause_that_is_broken": "FAILED",
        "test_a_knob": "PASSED",
        "test_a_mark_of_the_other_plugin": "PASSED",
        "test_a_known_failure": "XFAIL",
        "test_a_refused_resource": "FAILED",
        "test_words_of_my_own": "FAILED",
        "test_without_a_world": "PASSED",
    }
    assert "the adapter cannot do this: levitation" in ended.said
    assert "the client has no knob for this: warp" in ended.said
    assert "A42-HDR-02, Hashes with XXH64 and seed 0: " in ended.said
    assert re.search(r"  expected  .*127\.0\.0\.1:1\b", ended.said)
    assert "at test_own.py:50: await world.require_served(world.sessions(1))" in ended.said
    assert "Failed: this is not what we want" in ended.said
    names = {path.name for path in ended.evidence}
    assert "tests.test_own.test_words_of_my_own[reference]" in names
    assert "tests.test_own.test_a_fixture_of_my_own[reference]" not in names
    kept = run(folder, "-k", "fixture_of", "--xdspec-client=reference", "--xdspec-keep-evidence")
    assert "tests.test_own.test_a_fixture_of_my_own[reference]" in {
        path.name for path in kept.evidence
    }
    judged = next(name for name in names if "clause_that_is_broken" in name)
    again = subprocess.run(
        [sys.executable, "-m", "conformance", "judge", f"xdspec-out/reference/{judged}"],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert again.returncode == 1
    assert "A42-HDR-02" in again.stdout


# Bad input is a sentence.

RIGHT = "--xdspec-client=reference"
STILLBORN = f"--xdspec-client={ADAPTERS / 'stillborn'}"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "a test wants a world, and no client is named: add --xdspec-client"),
        (("--xdspec-client=nobody",), "there is no client nobody"),
        ((STILLBORN,), "the client exited with code 1"),
        *(
            pytest.param(*row, marks=pytest.mark.slow)
            for row in [
                (("--xdspec-client=reference+nothing",), "nothing"),
                ((RIGHT, "--xdspec-env=x"), "'x' is not of the form NAME=VALUE"),
                ((RIGHT, "--xdspec-out=/proc/x"), "nothing can be kept in /proc/x"),
                ((RIGHT, "--xdspec-seed=x"), "--xdspec-seed: invalid int value"),
                ((RIGHT, "-p", "no:asyncio"), "which is not loaded"),
                ((STILLBORN, "-n2"), "exited with code 1"),
                (("-o", "xdspec_clients=nobody"), "there is no client nobody"),
            ]
        ),
    ],
)
def test_bad_input_is_a_sentence(project: Path, words: tuple[str, ...], said: str) -> None:
    ended = run(project, *words)
    assert ended.code == pytest.ExitCode.USAGE_ERROR, ended.said
    assert f"ERROR: {said}" in ended.said or re.search(f"(ERROR|error): .*{said}", ended.said)
    assert "Traceback" not in ended.said
    assert "INTERNALERROR" not in ended.said
    assert not (project / "xdspec-out").exists()


def test_a_missing_toolchain_is_a_sentence(project: Path, tmp_path: Path) -> None:
    adapter = tmp_path / "adapter"
    shutil.copytree(ROOT / "client_under_test" / "adapters" / "go", adapter)
    ended = run(project, f"--xdspec-client={adapter}", path=str(tmp_path / "nothing"))
    assert ended.code == pytest.ExitCode.USAGE_ERROR, ended.said
    assert re.search(r"ERROR: xdspec: .*\bgo\b", ended.said)
    assert "Traceback" not in ended.said


@pytest.mark.slow
def test_a_mark_that_nobody_knows_is_a_sentence(project: Path) -> None:
    text = "@pytest.mark.xdspec(wants=())\nasync def test_one(world): ...\n"
    ended = run(with_tests(project, text), "--xdspec-client=reference")
    assert ended.code == pytest.ExitCode.INTERRUPTED
    assert "the mark `xdspec` takes requires, settings, bootstrap" in ended.said
    assert "Traceback" not in ended.said


def test_where_no_test_wants_a_world_no_client_is_made(project: Path) -> None:
    text = "def test_one(): ...\n"
    stillborn = f"--xdspec-client={ADAPTERS / 'stillborn'}"
    assert run(with_tests(project, text), stillborn).code == 0


# Who does not ask for it has none of it.


@pytest.mark.slow
def test_the_options_are_told_where_it_is_loaded_and_nowhere_else(
    project: Path, tmp_path: Path
) -> None:
    told = run(project, "--help").said
    assert "xdspec: scenarios of your own against gRPC's xDS clients" in told
    options = ("client", "out", "keep-evidence", "seed", "env")
    assert all(f"--xdspec-{option}" in told for option in options)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    assert "xdspec" not in run(tmp_path, "--help").said
