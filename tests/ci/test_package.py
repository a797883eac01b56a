"""The built package, installed as users do it, and used without a checkout.

Whoever is root uses it as another user, whose number has no name, as in many containers.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).with_name("uv")
EXAMPLE = ROOT / "docs" / "own-scenarios"
RESOURCES = ROOT / "docs" / "sample-resources"

# The wheel has none of it, and its environment may lack what builds one.
if not (ROOT / "pyproject.toml").is_file() or not UV.exists():
    pytest.skip("needs a checkout", allow_module_level=True)

pytestmark = pytest.mark.slow

DEADLINE = 300.0
"""Of one command, on a machine that is busy with other tests: a hang meets it."""

NAMELESS = 54321
"""A number that no user has."""

AS_NAMELESS = ("setpriv", f"--reuid={NAMELESS}", f"--regid={NAMELESS}", "--clear-groups")


def ran(*command: str | Path, cwd: Path, by: tuple[str, ...] = (), home: Path | None = None) -> str:
    """What a command prints; it has to end with 0."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(
        [*by, *command],
        cwd=cwd,
        env=kept if home is None else {**kept, "HOME": str(home), "TMPDIR": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
        timeout=DEADLINE,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder that another user can enter, too: pytest's own are closed to them."""
    folder = Path(tempfile.mkdtemp(prefix="xdspec packages "))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def built(place: Path) -> Path:
    """The folder with the sdist, and with the wheel that was made of it."""
    made = place / "dist"
    ran(
        UV, "build", "--no-build-isolation", "--python", sys.executable, "-o", made, ROOT, cwd=place
    )
    return made


def by_pip(built: Path, place: Path, python: str) -> Path:
    ran(python, "-m", "venv", place / "by pip", cwd=place)
    (sdist,) = built.glob("*.tar.gz")
    pip = place / "by pip" / "bin" / "pip"
    ran(pip, "install", "--quiet", f"{sdist}[test]", cwd=place)
    return place / "by pip" / "bin"


def by_uv_tool(built: Path, place: Path, python: str) -> Path:
    (wheel,) = built.glob("*.whl")
    tools = {"UV_TOOL_DIR": place / "tools", "UV_TOOL_BIN_DIR": place / "bin"}
    settings = tuple(f"{name}={value}" for name, value in tools.items())
    ran(
        "env",
        *settings,
        UV,
        "tool",
        "install",
        "-q",
        "--python",
        python,
        f"{wheel}[test]",
        cwd=place,
    )
    return place / "tools" / "xdspec" / "bin"


class Installed:
    """An installation, and a user of it with an empty home."""

    def __init__(self, programs: Path, home: Path, by: tuple[str, ...]) -> None:
        self.programs, self.home, self.by = programs, home, by

    def run(self, program: str, *words: str | Path, cwd: Path | None = None) -> str:
        where = cwd or self.home
        return ran(self.programs / program, *words, cwd=where, by=self.by, home=self.home)


def user(python: str) -> tuple[str, ...]:
    """How to become another user, if that can be, and if that user can start this Python."""
    if os.geteuid() != 0 or shutil.which(AS_NAMELESS[0]) is None:
        return ()
    tried = subprocess.run([*AS_NAMELESS, python, "-c", ""], check=False, capture_output=True)
    return AS_NAMELESS if tried.returncode == 0 else ()


def python_for_all() -> str:
    """The system's Python if it is new enough: another user may be kept from this one."""
    asks = "import ensurepip, sys; sys.exit(sys.version_info < (3, 11))"
    for python in ("/usr/bin/python3", "/usr/local/bin/python3"):
        done = subprocess.run(
            ["/usr/bin/env", python, "-c", asks], check=False, capture_output=True
        )
        if done.returncode == 0:
            return python
    return sys.executable


@pytest.fixture(scope="module", params=[by_pip, by_uv_tool], ids=["sdist-pip", "wheel-uv-tool"])
def installed(request: pytest.FixtureRequest, built: Path, place: Path) -> Installed:
    install: Callable[[Path, Path, str], Path] = request.param
    python = python_for_all()
    programs, by = install(built, place, python), user(python)
    home = place / f"home of {install.__name__}"
    shutil.copytree(EXAMPLE, home / "scenarios")
    shutil.copytree(RESOURCES, home / "resources")
    if by:
        for path in (home, *home.rglob("*")):
            os.chown(path, NAMELESS, NAMELESS)
    return Installed(programs, home, by)


def test_a_client_is_judged(installed: Installed) -> None:
    words = ("run", "reference", "--scenario", "ring.search", "--json", "report.json")
    assert "1 scenario in" in installed.run("xdspec", *words)
    (run,) = json.loads((installed.home / "report.json").read_text("utf-8"))["runs"]
    assert run["clauses"]["A42-RING-13"]["verdict"] == "pass"
    assert run["repeat"].startswith("xdspec run reference --seed ")


def test_its_own_tests_are_there(installed: Installed) -> None:
    where = "import xdspec_tests; print(*xdspec_tests.__path__)"
    folder = Path(installed.run("python", "-c", where).strip())
    for name in ("spec/oracles/test_census.py", "reporting/test_merging.py"):
        said = installed.run("xdspec", "test", "-q", folder / "conformance" / name)
        assert " passed" in said


def test_a_scenario_of_the_users_own(installed: Installed) -> None:
    words = ("-m", "pytest", "-p", "no:cacheprovider", "--xdspec-client=reference", "-k", "acme")
    assert " passed" in installed.run("python", *words, cwd=installed.home / "scenarios")


def test_a_control_plane(installed: Installed) -> None:
    python = str(installed.programs / "python")
    words = ("-m", "fake_control_plane", "--listen", "127.0.0.1:0", "--resources", "resources")
    with subprocess.Popen(
        [*installed.by, python, *words], cwd=installed.home, stdout=subprocess.PIPE
    ) as server:
        assert server.stdout is not None
        try:
            assert json.loads(server.stdout.readline())
        finally:
            server.terminate()


def test_the_doctor_knows_the_user(installed: Installed) -> None:
    said = subprocess.run(
        [*installed.by, installed.programs / "xdspec", "doctor"],
        cwd=installed.home,
        env={**os.environ, "HOME": str(installed.home)},
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=False,
    ).stdout
    name = f"user {NAMELESS}, which has no name" if installed.by else "user "
    assert name in said.splitlines()[0]
