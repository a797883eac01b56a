"""The environment of the suite itself: made once, and not under a command that uses it."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import select
import shutil
import signal
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

from client_under_test.launching.pidfd import pidfd_open

ROOT = Path(__file__).parents[2]
BOOTSTRAP = ROOT / "ci" / "bootstrap.py"
LAUNCHER = ROOT / "xdspec"
DEADLINE = 60.0

# The wheel has no such file.
pytestmark = pytest.mark.skipif(not BOOTSTRAP.exists(), reason="needs a checkout")

COMMAND = """#!/bin/sh
echo "$@"
read line
"""

# In the place of what makes an environment: it starts a process, and both would go on for ever.
SLOW = """
import signal, subprocess, sys
child = subprocess.Popen([sys.executable, "-I", "-c", "import signal; signal.pause()"])
print(child.pid, flush=True)
signal.pause()
"""

# As venv has pip installed.
FAILS = """
code = "import sys; sys.exit('No module named ensurepip')"
command = [sys.executable, "-I", "-c", code, "ensurepip"]
subprocess.check_output(command, stderr=subprocess.STDOUT)
"""

# A Python of another version: what it is asked about that, the real one answers in its place.
PYTHON = """#!/bin/sh
[ "$2" = -S ] || { echo "$0"; exit; }
exec "%s" -I -S -c "import sys; sys.version_info = %r; $4"
"""


def checkout(folder: Path, make: str = "") -> Path:
    """What of a checkout the bootstrap reads; `make` is done in the place of what it does."""
    for path in (BOOTSTRAP, ROOT / "client_under_test" / "supervision" / "supervisor.py"):
        there = folder / path.relative_to(ROOT)
        there.parent.mkdir(parents=True)
        shutil.copy(path, there)
    for name in ("requirements.lock", "pyproject.toml"):
        (folder / name).touch()
    if make:
        program = folder / "ci" / "bootstrap.py"
        text = program.read_text()
        begin = text.index('    print(f"xdspec: making')
        end = text.index("\n\n\n", begin)
        indented = "".join(f"    {line}\n" for line in make.splitlines())
        program.write_text(text[:begin] + indented + text[end:])
    return folder / "ci" / "bootstrap.py"


def loaded(program: Path) -> Any:
    spec = importlib.util.spec_from_file_location("bootstrap", program)
    assert spec is not None
    assert spec.loader is not None
    before = signal.getsignal(signal.SIGINT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    signal.signal(signal.SIGINT, before)
    return module


def settle(environment: Path, program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the environment be as this checkout wants it, but for what is in it."""
    monkeypatch.setenv("XDSPEC_VENV", str(environment))
    module = loaded(program)
    python = environment / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(COMMAND)
    python.chmod(0o755)
    module.STAMP.write_text(module.fingerprint())


async def started(program: Path) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", str(program), "list", "clients"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def line_of(stream: asyncio.StreamReader | None) -> str:
    assert stream is not None
    async with asyncio.timeout(DEADLINE):
        return (await stream.readline()).decode().strip()


async def test_an_environment_is_not_made_again_under_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = tmp_path / "shared"
    folder = checkout(tmp_path / "one")
    other = checkout(tmp_path / "other", "print('made', flush=True)\nsys.exit(7)")
    settle(environment, folder, monkeypatch)
    running = await started(folder)
    assert await line_of(running.stdout) == "-m conformance list clients"
    beside = await started(folder)  # who wants it as it is does not wait
    assert await line_of(beside.stdout) == "-m conformance list clients"
    waiting = await started(other)
    assert "waiting until no other command uses" in await line_of(waiting.stderr)
    for process in (running, beside):
        assert waiting.returncode is None
        await process.communicate(b"\n")
    assert await line_of(waiting.stdout) == "made"
    assert await waiting.wait() == 7


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
async def test_a_set_up_that_is_ended_leaves_no_installer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    monkeypatch.setenv("XDSPEC_VENV", str(tmp_path / "environment"))
    process = await started(checkout(tmp_path / "checkout", SLOW))
    installer = pidfd_open(int(await line_of(process.stdout)))
    process.send_signal(number)
    assert select.select([installer], [], [], DEADLINE)[0]
    os.close(installer)
    _, said = await process.communicate()
    assert process.returncode == (2 if number == signal.SIGINT else -number)
    assert said == b""


async def test_where_nothing_can_be_written_what_is_there_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in an image that somebody else has made."""
    environment = tmp_path / "shared"
    program = checkout(tmp_path / "one")
    settle(environment, program, monkeypatch)
    (tmp_path / "shared.lock").mkdir()
    process = await started(program)
    assert await line_of(process.stdout) == "-m conformance list clients"
    await process.communicate(b"\n")


@pytest.mark.parametrize(
    ("there", "named", "taken"),
    [
        pytest.param({"python3": (3, 13)}, "", "python3", id="new-enough"),
        pytest.param({"python3": (3, 9), "python3.12": (3, 12)}, "", "python3.12", id="too-old"),
        # Not every package is ready-made for it.
        pytest.param({"python3": (3, 15), "python3.11": (3, 11)}, "", "python3.11", id="too-new"),
        pytest.param({"python3": (3, 15)}, "", "python3", id="only-a-newer-one"),
        pytest.param({"python3": (3, 13), "new": (3, 15)}, "new", "new", id="named"),
        pytest.param({"python3": (3, 10)}, "", "", id="none"),
    ],
)
def test_which_python_is_taken(
    tmp_path: Path, there: dict[str, tuple[int, int]], named: str, taken: str
) -> None:
    assert taken_of(tmp_path, there, named) == taken


@pytest.mark.parametrize(("newer", "taken"), [(0, "python3"), (1, "python3.11")])
def test_what_it_prefers_is_the_newest_that_all_is_ready_made_for(
    tmp_path: Path, newer: int, taken: str
) -> None:
    major, minor = loaded(BOOTSTRAP).READY_MADE
    there = {"python3": (major, minor + newer), "python3.11": (3, 11)}
    assert taken_of(tmp_path, there) == taken


def taken_of(tmp_path: Path, there: dict[str, tuple[int, int]], named: str = "") -> str:
    """The name of the Python that the launcher hands over to, if there are these; none: empty."""
    for name, version in there.items():
        python = tmp_path / name
        python.write_text(PYTHON % (sys.executable, (*version, 0, "final", 0)))
        python.chmod(0o755)
    (tmp_path / "dirname").symlink_to(shutil.which("dirname") or "")
    done = subprocess.run(
        ["/bin/sh", LAUNCHER, "--version"],
        env={"PATH": str(tmp_path), "XDSPEC_PYTHON": named, "XDSPEC_VENV": str(tmp_path / "none")},
        capture_output=True,
        text=True,
        check=False,
    )
    taken = Path(done.stdout.strip()).name
    assert done.returncode == (0 if taken else 4)
    return taken


def test_an_environment_that_cannot_be_made_says_why_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a Debian that has Python, and not what its venv module needs."""
    monkeypatch.setenv("XDSPEC_VENV", str(tmp_path / "environment"))
    program = checkout(tmp_path / "checkout", FAILS)
    done = subprocess.run([sys.executable, "-I", program], capture_output=True, check=False)
    assert done.returncode == 4
    assert done.stderr.decode().endswith(
        "returned non-zero exit status 1: No module named ensurepip;"
        " install what this Python's venv module needs (Debian: python3-venv)\n"
    )


@pytest.mark.parametrize("name", ["plain", 'Zoë\'s "check" out', "back\\slash"])
def test_a_folder_of_any_name_is_found_in_any_locale(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "found_here.py").touch()
    environment = tmp_path / "environment"
    venv.EnvBuilder(with_pip=False, symlinks=True).create(environment)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "one.pth").write_text(loaded(BOOTSTRAP).line_for(folder), "ascii")
    subprocess.run(
        [str(environment / "bin" / "python"), "-I", "-c", "import found_here"],
        env={"LC_ALL": "C"},
        check=True,
        timeout=DEADLINE,
    )


def test_a_folder_of_somebody_else_is_not_emptied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "theirs"
    venv.EnvBuilder(prompt="theirs").create(theirs)
    monkeypatch.setenv("XDSPEC_VENV", str(theirs))
    ended = subprocess.run(
        [sys.executable, "-I", str(checkout(tmp_path / "checkout"))],
        check=False,
        capture_output=True,
        encoding="utf-8",
    )
    assert (ended.returncode, (theirs / "pyvenv.cfg").exists()) == (4, True)
    assert f"{theirs} has files that xdspec did not make" in ended.stderr


def test_an_environment_that_was_half_made_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDSPEC_VENV", str(tmp_path / "half"))
    module = loaded(checkout(tmp_path / "checkout"))
    module.require_own_folder()
    venv.EnvBuilder(prompt=module.PROMPT).create(tmp_path / "half")
    module.require_own_folder()
