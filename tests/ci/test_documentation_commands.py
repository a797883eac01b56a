"""The commands of the documentation, run as they stand there: each page in a folder of its own.

What is said above a block, in comments: that it is not run, and why; with which code it exits; what
it has to print; that it goes on until the end of the page, and what it says when it is ready; what
the reader has written meanwhile. Ports are changed to free ones.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

if not (ROOT / "ci" / "documentation").is_dir():
    pytest.skip("needs a checkout", allow_module_level=True)

from ci.documentation.reading import PAGES, Fence, fences  # noqa: E402

pytestmark = pytest.mark.slow

DEADLINE = 300.0
"""Of one block, on a machine that is busy with other tests: a hang meets it."""

PORTS = ("50051", "50052", "18000", "18001")
"""Fixed ones, which may be in use here."""


def to_run(path: Path) -> list[Fence]:
    return [
        fence
        for fence in fences(path.read_text("utf-8"))
        if fence.language == "sh" and not any(said.startswith("not run:") for said in fence.notes)
    ]


WITH_COMMANDS = [path for path in PAGES if to_run(path)]


def told(fence: Fence, pattern: str) -> list[re.Match[str]]:
    found = (re.fullmatch(pattern, note) for note in fence.notes)
    return [match for match in found if match]


NO_NAMESPACES = "needs root that may make mount namespaces: run it as root, not in a container"


def can_make_namespaces() -> bool:
    command = ["unshare", "--mount", "--pid", "--fork", "true"]
    return os.geteuid() == 0 and subprocess.run(command, check=False).returncode == 0


def free_ports() -> dict[str, str]:
    with ExitStack() as stack:
        held = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in PORTS]
        numbers = [str(listener.getsockname()[1]) for listener in held]
    return dict(zip(PORTS, numbers, strict=True))


class Reader:
    """Who has a checkout, and does what a page says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ports = free_ports()
        bin_folder = Path(sys.executable).parent
        temporary = folder.with_name("tmp")
        temporary.mkdir()
        self._environment = {
            **os.environ,
            "PATH": f"{bin_folder}:{os.environ['PATH']}",
            "TMPDIR": str(temporary),
        }
        for path in ROOT.iterdir():
            if path.name not in {"docs", "xdspec", "xdspec-out", "pages"} and path.name[0] != ".":
                (folder / path.name).symlink_to(path)
        shutil.copytree(ROOT / "docs" / "sample-resources", folder / "docs" / "sample-resources")
        for file in (folder / "docs" / "sample-resources").iterdir():
            file.write_text(self._with_free_ports(file.read_text("utf-8")), "utf-8")
        command = folder / "xdspec"
        command.write_text(f'#!/bin/sh\nexec {shlex.quote(str(ROOT / "xdspec"))} "$@"\n')
        command.chmod(0o755)

    def _with_free_ports(self, text: str) -> str:
        return re.sub(
            r"\b(?:" + "|".join(PORTS) + r")\b", lambda match: self._ports[match[0]], text
        )

    def _started(self, fence: Fence) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["bash", "-eu", "-c", self._with_free_ports(fence.text)],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            start_new_session=True,
        )

    def run(self, fence: Fence) -> tuple[int, str]:
        """Run a block to its end: its code, and what it said."""
        process = self._started(fence)
        try:
            said, _ = process.communicate(timeout=DEADLINE)
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        return process.returncode, said

    @contextmanager
    def running(self, fence: Fence, words: str, times: int) -> Iterator[None]:
        """Have a block go on; it is ready when it has said this, and ends in good order."""
        process = self._started(fence)
        alarm = threading.Timer(DEADLINE, os.killpg, (process.pid, signal.SIGKILL))
        alarm.start()
        try:
            assert process.stdout is not None
            heard = ""
            while heard.count(words) < times:
                line = process.stdout.readline()
                assert line, f"it ended, and said {heard!r}"
                heard += line
            yield
            os.killpg(process.pid, signal.SIGTERM)
            rest, _ = process.communicate(timeout=DEADLINE)
            assert process.returncode in {0, -signal.SIGTERM}, rest
        finally:
            alarm.cancel()
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    # A page's blocks must work when they are pasted in any folder, such as this one.
    folder = tmp_path / "Zoë's check out"
    folder.mkdir()
    return Reader(folder)


@pytest.mark.parametrize(
    "path", WITH_COMMANDS, ids=[path.relative_to(ROOT).as_posix() for path in WITH_COMMANDS]
)
def test_commands(path: Path, reader: Reader) -> None:
    blocks = to_run(path)
    if any("needs namespaces" in block.notes for block in blocks) and not can_make_namespaces():
        pytest.skip(NO_NAMESPACES)
    with ExitStack() as stack:
        for fence in blocks:
            place = f"{path.name}:{fence.line}"
            for given in told(fence, r"([\w-]+) is ([\w/-]+)"):
                there = reader.folder / given[1]
                shutil.rmtree(there, ignore_errors=True)
                shutil.copytree(ROOT / given[2], there)
            if until := told(fence, r'until "(.+)" is printed( twice)?'):
                times = 2 if until[0][2] else 1
                stack.enter_context(reader.running(fence, until[0][1], times))
                continue
            code, said = reader.run(fence)
            wanted = [int(match[1]) for match in told(fence, r"exits with (\d+)")] or [0]
            assert [code] == wanted, f"{place} exited with {code} and said:\n{said}"
            for match in told(fence, r'prints "(.+)"'):
                assert match[1] in said, f"{place} did not say {match[1]!r}, but:\n{said}"


COPIES = """#!/bin/sh
cp /etc/hosts /etc/resolv.conf /etc/nsswitch.conf .
root={root}
nsenter --mount=/proc/{outside}/ns/mnt unshare --mount sh -c '
    mount --bind / "$1"
    for folder in /*/; do
        case $folder in /etc/ | /proc/) ;; *) mount --rbind "$folder" "$1$folder" ;; esac
    done
    for file in hosts resolv.conf nsswitch.conf; do mount --bind "$2/$file" "$1/etc/$file"; done
    root=$1; shift 2; exec chroot "$root" "$@"' sh "$root" "$PWD" "$@"
code=$?
rm hosts resolv.conf nsswitch.conf
exit $code
"""


def test_copies_of_the_tables_of_names_do_where_a_daemon_makes_the_container(
    reader: Reader,
) -> None:
    """As docker does, it enters the client's root from outside of the adapter's namespace."""
    if not can_make_namespaces():
        pytest.skip(NO_NAMESPACES)
    boxed = reader.folder / "boxed"
    shutil.copytree(ROOT / "client_under_test/adapters/reference", boxed)
    (boxed / "root").mkdir()
    enter = boxed / "enter"
    enter.write_text(COPIES.format(root=shlex.quote(str(boxed / "root")), outside=os.getpid()))
    enter.chmod(0o755)
    manifest = (boxed / "client.toml").read_text("utf-8")
    manifest = manifest.replace("{python}", f'{enter}", "{{python}}').replace("reads-late", "#")
    (boxed / "client.toml").write_text(manifest, "utf-8")
    code, said = reader.run(Fence(0, "sh", "./xdspec doctor boxed\n", ()))
    assert code == 0, said
    assert "ok       host-names" in said
    assert "ok       name-server" in said
