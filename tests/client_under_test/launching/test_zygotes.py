"""Processes that are forked from one which has done the imports."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from client_under_test.contract.exceptions import ClientCrashed, ClientExited, ConversationFailed
from client_under_test.environments import Prepared, prepare
from client_under_test.launching.pidfd import pidfd_open
from client_under_test.launching.process import ClientProcess
from client_under_test.launching.zygotes import ForkServers
from client_under_test.manifests.clients import find

ADAPTERS = Path(__file__).parents[2] / "adapters"
DEADLINE = 10.0

IMPORTED = """
import os
with open({seen!r}, "a") as seen:
    print("imports", os.environ["EARLY"], file=seen)
"""

ADAPTER = """
import json, os, signal, sys, time
sys.path.insert(0, os.path.dirname({seen!r}))
import imported
zero = time.monotonic_ns()
if __name__ == "__main__":
    with open({seen!r}, "a") as seen:
        print(sys.argv[0], os.environ["EARLY"], os.environ.get("LATE"), os.getppid(), file=seen)
    for line in sys.stdin:
        request = json.loads(line)
        print("to stderr", file=sys.stderr, flush=True)
        match os.environ.get("LATE"):
            case "crashes":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "raises":
                raise RuntimeError("no more")
        at = (time.monotonic_ns() - zero) // 1000
        answer = dict(type="hello", id=request["id"], contract=1, name="a", version="1", at=at)
        print(json.dumps(dict(answer, capabilities=[])), flush=True)
"""


@pytest.fixture
def seen(tmp_path: Path) -> Path:
    return tmp_path / "seen"


@pytest.fixture
def prepared(tmp_path: Path, seen: Path) -> Prepared:
    script = tmp_path / "adapter.py"
    script.write_text(ADAPTER.format(seen=str(seen)))
    (tmp_path / "imported.py").write_text(IMPORTED.format(seen=str(seen)))
    return of(script)


def of(script: Path) -> Prepared:
    """An adapter that says what it reads late."""
    known = prepare(find(str(ADAPTERS / "mute")))
    start = msgspec.structs.replace(known.client.manifest.start, reads_late=("LATE",))
    manifest = msgspec.structs.replace(known.client.manifest, start=start, capabilities=())
    return msgspec.structs.replace(
        known,
        version="1",
        client=msgspec.structs.replace(known.client, manifest=manifest),
        command=(sys.executable, "-I", str(script)),
    )


@pytest.fixture
async def fork_servers(tmp_path: Path) -> AsyncIterator[ForkServers]:
    made = ForkServers(tmp_path / "imports", deadline=DEADLINE)
    yield made
    await made.close()


async def launched(prepared: Prepared, fork_servers: ForkServers, **given: str) -> ClientProcess:
    return await ClientProcess.launch(
        prepared,
        stderr_path=prepared_stderr(prepared),
        environment={"EARLY": "early", **given},
        fork_servers=fork_servers,
    )


def lines_of(file: Path) -> list[str]:
    return file.read_text().splitlines()


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def command_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().decode()


def prepared_stderr(prepared: Prepared) -> Path:
    return Path(prepared.command[-1]).with_name("stderr")


async def test_imports_are_done_once(
    prepared: Prepared, fork_servers: ForkServers, seen: Path
) -> None:
    """Each has a guard that is this process's own child, has a group, and is told what is late."""
    first = await launched(prepared, fork_servers, LATE="one")
    second = await launched(prepared, fork_servers, LATE="two")
    guards = []
    for process in (first, second):
        await process.greet(deadline=DEADLINE)
        assert os.getpgid(process.pid) == process.pid
        guards.append(parent_of(process.pid))
        assert parent_of(guards[-1]) == os.getpid()
        assert process.stderr_tail().startswith("to stderr")
        ended = await process.close(deadline=DEADLINE)
        assert (ended.code, ended.signal, ended.killed) == (0, None, False)
    lines = lines_of(seen)
    assert lines[0] == "imports early"
    told = [f"{late} {guard}" for late, guard in zip(("one", "two"), guards, strict=True)]
    assert sorted(lines[1:]) == [f"{prepared.command[-1]} early {line}" for line in told]


async def test_another_environment_starts_from_nothing(
    prepared: Prepared, fork_servers: ForkServers, seen: Path
) -> None:
    for early in ("early", "other"):
        process = await launched(prepared, fork_servers, EARLY=early)
        await process.greet(deadline=DEADLINE)
        await process.close(deadline=DEADLINE)
    lines = lines_of(seen)
    assert lines[::2] == ["imports early", "imports other"]


@pytest.mark.parametrize(
    ("late", "kind", "words"),
    [
        ("crashes", ClientCrashed, "the client died by SIGSEGV"),
        ("raises", ClientExited, "RuntimeError: no more"),
    ],
)
async def test_its_end_is_told(
    prepared: Prepared,
    fork_servers: ForkServers,
    late: str,
    kind: type[ConversationFailed],
    words: str,
) -> None:
    process = await launched(prepared, fork_servers, LATE=late)
    with pytest.raises(kind) as told:
        await process.greet(deadline=DEADLINE)
    assert words in f"{told.value} {told.value.stderr_tail}"
    await process.close(deadline=0)


async def test_who_hangs_is_killed(tmp_path: Path, fork_servers: ForkServers) -> None:
    script = tmp_path / "adapter.py"
    script.write_text("import time\nif __name__ == '__main__':\n    time.sleep(60)")
    process = await launched(of(script), fork_servers)
    ended = await process.close(deadline=0)
    assert ended.killed
    # A guard that has not begun yet ends by itself.
    assert ended.signal in {signal.SIGKILL, signal.SIGTERM}


async def test_imports_that_fail_are_told_by_the_client_itself(
    tmp_path: Path, fork_servers: ForkServers
) -> None:
    script = tmp_path / "adapter.py"
    script.write_text("import no_such_module")
    for _ in range(2):
        process = await launched(of(script), fork_servers)
        with pytest.raises(ClientExited) as told:
            await process.greet(deadline=DEADLINE)
        assert "No module named 'no_such_module'" in told.value.stderr_tail
        await process.close(deadline=0)


async def test_imports_without_end(tmp_path: Path) -> None:
    script = tmp_path / "adapter.py"
    script.write_text("import time\ntime.sleep(60)")
    impatient = ForkServers(tmp_path / "imports", deadline=0.2)
    process = await launched(of(script), impatient)
    assert (await process.close(deadline=0)).killed
    await impatient.close()


async def test_processes_outlive_the_fork_server(prepared: Prepared, tmp_path: Path) -> None:
    fork_servers = ForkServers(tmp_path / "imports", deadline=DEADLINE)
    process = await launched(prepared, fork_servers)
    await fork_servers.close()
    await process.greet(deadline=DEADLINE)
    await process.close(deadline=DEADLINE)


SUITE_THAT_DIES = """
import asyncio, os, signal, sys
from pathlib import Path
import msgspec
from client_under_test.environments import prepare
from client_under_test.launching.process import ClientProcess
from client_under_test.manifests.clients import find
from client_under_test.launching.zygotes import ForkServers

async def main():
    fork_servers = ForkServers(Path(sys.argv[1]), deadline=60)
    process = await ClientProcess.launch(
        prepare(find("reference")), stderr_path=Path(sys.argv[1]), fork_servers=fork_servers
    )
    (fork_server,) = fork_servers._made.values()
    print(process.pid, fork_server._forker.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


async def test_nothing_outlives_the_suite(tmp_path: Path) -> None:
    suite = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", SUITE_THAT_DIES, str(tmp_path / "stderr")),
        stdout=asyncio.subprocess.PIPE,
    )
    assert suite.stdout is not None
    process, forker = map(int, (await suite.stdout.readline()).split())
    assert process != forker
    for pid in (process, forker):
        try:
            handle = pidfd_open(pid)
        except ProcessLookupError:
            continue
        assert select.select([handle], [], [], DEADLINE)[0]
        os.close(handle)
    assert await suite.wait() == -signal.SIGKILL


FORKS_A_SLOW_CHILD = """
import ctypes, os, signal, time
from client_under_test.launching import zygote

as_it_is = os.setsid

def late():
    time.sleep(0.3)
    as_it_is()

os.setsid = late
PR_SET_CHILD_SUBREAPER = 36
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
child = zygote.fork(os.getpid())
if not child:
    signal.pause()
print(os.getpgid(child) == child)
os.kill(child, signal.SIGKILL)
"""


async def test_who_is_forked_can_be_killed_as_a_group_once_its_number_is_known() -> None:
    forking = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", FORKS_A_SLOW_CHILD), stdout=asyncio.subprocess.PIPE
    )
    said, _ = await forking.communicate()
    assert said == b"True\n"


def folder_of(process: ClientProcess) -> Path:
    return Path(f"/proc/{process.pid}/cwd").readlink()


async def test_each_is_in_its_own_folder_and_behind_its_tool(
    prepared: Prepared, fork_servers: ForkServers, tmp_path: Path
) -> None:
    process = await launched(prepared, fork_servers)
    await process.greet(deadline=DEADLINE)
    assert folder_of(process) == process.folder
    await process.close(deadline=DEADLINE)
    tool = ("/bin/sh", "-c", f'echo >> {tmp_path}/tool; exec "$@"', "sh")
    process = await launched(msgspec.structs.replace(prepared, wrap=tool), fork_servers)
    await process.greet(deadline=DEADLINE)
    await process.close(deadline=DEADLINE)
    assert len(lines_of(tmp_path / "tool")) == 1


EXECUTED = """
import json, os, resource, sys
for line in sys.stdin:
    answer = dict(type="hello", id=json.loads(line)["id"], contract=1, name="a", version="1", at=1)
    print(json.dumps(dict(answer, capabilities=[])), flush=True)
print(os.environ["EARLY"], os.getcwd(), os.environ["PWD"], os.getpgid(0) == os.getpid(),
      resource.getrlimit(resource.RLIMIT_FSIZE)[0], sys.argv[1:], file=sys.stderr)
"""


def executed(tmp_path: Path, *command: str) -> Prepared:
    """An adapter that does not say what it reads late."""
    known = of(tmp_path / "adapter")
    start = msgspec.structs.replace(known.client.manifest.start, reads_late=None)
    manifest = msgspec.structs.replace(known.client.manifest, start=start)
    client = msgspec.structs.replace(known.client, manifest=manifest)
    return msgspec.structs.replace(known, client=client, command=command)


async def test_a_command_of_any_kind_is_executed_by_what_is_forked(
    tmp_path: Path, fork_servers: ForkServers
) -> None:
    """Its guard is this process's own child; its environment and folder are those of a start."""
    script = tmp_path / "adapter"
    script.write_text(EXECUTED)
    prepared = executed(tmp_path, sys.executable, "-I", str(script), "one", "two")
    for early in ("early", "other"):
        stderr = tmp_path / f"{early}.stderr"
        process = await ClientProcess.launch(
            prepared, stderr_path=stderr, environment={"EARLY": early}, fork_servers=fork_servers
        )
        await process.greet(deadline=DEADLINE)
        guard = parent_of(process.pid)
        assert parent_of(guard) == os.getpid()
        assert "zygote" in command_of(guard)
        assert (await process.close(deadline=DEADLINE)).code == 0
        folder = str(process.folder)
        said = f"{early} {folder} {folder} True {1 << 30} ['one', 'two']"
        assert stderr.read_text().strip() == said


async def test_a_command_that_cannot_be_executed_tells_why(
    tmp_path: Path, fork_servers: ForkServers
) -> None:
    script = tmp_path / "adapter"
    script.write_text("no program")
    script.chmod(0o755)
    prepared = executed(tmp_path, str(script))
    process = await launched(prepared, fork_servers)
    with pytest.raises(ClientExited) as raised:
        await process.greet(deadline=DEADLINE)
    assert raised.value.stderr_tail.strip() == f"{script}: Exec format error"
    await process.close(deadline=DEADLINE)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="asyncio waits for children by pidfd")
async def test_a_fork_server_that_has_just_ended_keeps_its_exit_code(
    prepared: Prepared,
    fork_servers: ForkServers,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    may_wait = threading.Event()
    wait = asyncio.ThreadedChildWatcher._do_waitpid  # type: ignore[attr-defined]

    def wait_late(*arguments: Any) -> None:
        may_wait.wait(DEADLINE)
        wait(*arguments)

    monkeypatch.setattr(asyncio.ThreadedChildWatcher, "_do_waitpid", wait_late)
    process = await launched(prepared, fork_servers)
    await process.greet(deadline=DEADLINE)
    await process.close(deadline=DEADLINE)
    (server,) = fork_servers._made.values()
    assert server is not None
    forker = server._forker.pid
    os.kill(forker, signal.SIGKILL)
    await asyncio.to_thread(os.waitid, os.P_PID, forker, os.WEXITED | os.WNOWAIT)
    asyncio.get_running_loop().call_later(0.05, may_wait.set)
    await fork_servers.close()
    assert not caplog.records
