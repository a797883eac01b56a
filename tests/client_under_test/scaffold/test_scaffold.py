from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from client_under_test import doctor, scaffold
from client_under_test.contract.exceptions import ClientHung, ClientTrouble, RequestRefused
from client_under_test.contract.messages import NEWEST
from client_under_test.doctor.adapter_under_check import AdapterUnderCheck
from client_under_test.doctor.backend import Backend
from client_under_test.doctor.check import Check
from client_under_test.doctor.rules import every_check
from client_under_test.environments import prepare
from client_under_test.manifests.clients import find
from client_under_test.manifests.manifest_file import read

CONTRACT = Path(scaffold.__file__).parents[1] / "contract"

EVERY = os.environ.get("XDSPEC_TEST_SCAFFOLDS") == "all"
"""Maven's and Cargo's first build of anything takes longer than all other tests together."""

BUILT = {  # and what must be on the machine
    "python": (),
    "node": ("node", "npm"),
    "go": ("go",),
    "java": ("javac", "mvn"),
    "rust": ("cargo",),
}
SLOW = {"java", "rust"}


def test_the_languages() -> None:
    assert set(scaffold.languages()) == {*BUILT, "other"}
    assert scaffold.languages()[-1] == "other"


@pytest.mark.parametrize("language", scaffold.languages())
def test_what_is_written(language: str, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "c++ client"
    files = scaffold.write(language, folder)
    assert {path for path in folder.rglob("*") if path.is_file()} == {folder / f for f in files}
    assert read(folder).name == "cclient"
    assert find(str(folder)).folder == folder
    for name in ("contract.md", "contract.schema.json"):
        assert (folder / name).read_text() == (CONTRACT / name).read_text()
    readme = (folder / "README.md").read_text()
    assert all(f"`{path}`" in readme for path in files if path.name != "README.md")
    assert f"version {NEWEST} (copies)" in readme
    assert f'"contract": {NEWEST}}}' in readme
    assert "$" not in (folder / "client.toml").read_text() + readme
    assert "[[expected]]" in (folder / "expected.toml").read_text()


def test_no_name_of_an_adapter_that_comes_with_the_suite(tmp_path: Path) -> None:
    scaffold.write("go", tmp_path / "go")
    assert read(tmp_path / "go").name == "my-go"


def test_the_skeleton_for_go_is_formatted() -> None:
    if (gofmt := shutil.which("gofmt")) is None:
        pytest.skip("gofmt is not on this machine")
    sources = Path(scaffold.__file__).parent / "go"
    ended = subprocess.run([gofmt, "-l", sources], check=True, capture_output=True, text=True)
    assert ended.stdout == ""


def test_a_folder_that_is_not_free(tmp_path: Path) -> None:
    (tmp_path / "some").mkdir()
    scaffold.write("python", tmp_path / "some")
    before = {path: path.read_bytes() for path in (tmp_path / "some").iterdir()}
    for folder, why in (
        (tmp_path / "some", "is not empty: name a folder that is"),
        (tmp_path / "some" / "adapter.py", "is a file: name a folder"),
        (tmp_path / "some" / "adapter.py" / "deeper", "cannot be written: Not a directory"),
    ):
        with pytest.raises(ClientTrouble, match=why):
            scaffold.write("go", folder)
    assert {path: path.read_bytes() for path in (tmp_path / "some").iterdir()} == before


@pytest.mark.slow
@pytest.mark.parametrize("language", BUILT)
async def test_it_is_built_and_says_hello(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if missing := [program for program in BUILT[language] if shutil.which(program) is None]:
        pytest.skip(f"not on this machine: {', '.join(missing)}")
    if language in SLOW and not EVERY:
        pytest.skip("its build is slow: XDSPEC_TEST_SCAFFOLDS=all asks for it")
    if language != "python":
        monkeypatch.setenv("XDSPEC_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "mine"
    scaffold.write(language, folder)
    sources = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    pinned = "@1.85.1" if language == "python" else ""
    found = await doctor.examine(prepare(find(f"{folder}{pinned}")), folder=tmp_path)
    verdicts = {finding.check: finding.verdict for finding in found}
    right = {name for name, verdict in verdicts.items() if verdict == "ok"}
    assert right == {"hello", "not-a-request"}
    (wrong,) = [finding for finding in found if finding.verdict == "wrong"]
    assert wrong.check == "open-channel"
    assert "open_channel is not written yet" in wrong.seen
    assert {finding.waits_for for finding in found if finding.verdict == "skipped"} == {wrong.check}
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == sources


WRITTEN = """
    async def open_channel(self, request: Fields) -> None:
        self.channels[request["id"]] = grpc.aio.insecure_channel(request["target"])
        self.say("done", id=request["id"])

    async def start_calls(self, request: Fields) -> None:
        turns = asyncio.Semaphore(request["concurrency"] or 1000)
        channel = self.channels[request["channel"]]
        self.tasks.update(
            (call["id"], asyncio.create_task(self.make(channel, call, turns)))
            for call in request["calls"]
        )
        await asyncio.gather(*(self.tasks[call["id"]] for call in request["calls"]))
        self.say("done", id=request["id"])

    async def close(self, request: Fields) -> None:
        await self.channels.pop(request["channel"]).close()
        self.closed.set()
        self.say("done", id=request["id"])

    async def make(self, channel: Any, call: Fields, turns: asyncio.Semaphore) -> None:
        async with turns:
            started = self.now()
            status, details = await self.outcome(channel, call)
            about = {"status": status, "details": details, "hostname": None}
            self.say("finished", call=call["id"], **about, started_at=started, ended_at=self.now())
"""
"""The rest of an adapter for the check `cancel`, which looks at no metadata and no hostname."""

TASKS_CANCELLED = """
    async def cancel(self, request: Fields) -> None:
        for name in request["calls"]:
            self.tasks[name].cancel()
        self.say("done", id=request["id"])
"""
"""What the comment of the skeleton warns of."""

LOST = (
    r"the suite started (call-\d+) and (call-\d+) with `concurrency` 1, cancelled \2, which was "
    r"waiting for its turn, and then \1\. Within 5 s the adapter wrote no `finished` for .*\2 and "
    r"no `done` for the `start_calls`"
)


AFTER_CLOSE = {"status, details = await": "await self.closed.wait(); status, details = await"}
"""Lets each call's turn come after the close of its channel."""


def filled_in(folder: Path, *, example: bool, changes: Mapping[str, str] = {}) -> Path:
    """Fill the Python skeleton in, with its own example of `cancel` or with a wrong one."""
    scaffold.write("python", folder)
    program = folder / "adapter.py"
    text = program.read_text()
    (commented,) = re.findall(r"    #\n((?:    #     .*\n|    #\n)+)\n    async def cancel", text)
    shown = re.sub(r"^    # ?", "", commented, flags=re.MULTILINE)
    parts = shown if example else TASKS_CANCELLED + shown[shown.index("    async def outcome") :]
    for name in ("open_channel", "start_calls", "cancel", "close"):
        stub = f"""    async def {name}(self, request: Fields) -> None:
        raise NotImplementedError("{name} is not written yet")
"""
        assert stub in text
        text = text.replace(stub, "")
    for before, added in {
        "    async def watch": f"{WRITTEN}\n{parts}\n",
        "    def now(self)": "        self.tasks, self.cancelled, self.sent = {}, set(), {}\n"
        "        self.closed = asyncio.Event()\n\n",
        "from typing import Any": "import grpc.aio\n",
    }.items():
        assert before in text
        text = text.replace(before, added + before)
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    program.write_text(text)
    return folder


def check_named(name: str) -> Check:
    (found,) = (check for check in every_check() if check.name == name)
    return found


async def test_the_doctor_says_that_close_came_before_the_call(tmp_path: Path) -> None:
    changed = filled_in(tmp_path / "mine", example=True, changes=AFTER_CLOSE)
    prepared = prepare(find(f"{changed}@1.85.1"))
    async with Backend.running() as backend:
        adapter = AdapterUnderCheck(prepared, tmp_path, backend, lambda _line: None)
        refused = (
            r"started call-\d+ and closed its channel at once, .*refused `start_calls`: UsageE"
        )
        with pytest.raises(RequestRefused, match=refused):
            await check_named("close").run(adapter)
        await adapter.end()


async def test_the_example_of_cancel_in_the_skeleton_loses_no_call(tmp_path: Path) -> None:
    prepared = prepare(find(f"{filled_in(tmp_path / 'mine', example=True)}@1.85.1"))
    async with Backend.running() as backend:
        adapter = AdapterUnderCheck(prepared, tmp_path, backend, lambda _line: None)
        await check_named("cancel").run(adapter)
        await adapter.end()


async def test_the_doctor_names_the_call_that_cancelled_tasks_lose(tmp_path: Path) -> None:
    prepared = prepare(find(f"{filled_in(tmp_path / 'mine', example=False)}@1.85.1"))
    async with Backend.running() as backend:
        adapter = AdapterUnderCheck(prepared, tmp_path, backend, lambda _line: None)
        with pytest.raises(ClientHung, match=LOST):
            await check_named("cancel").run(adapter)
        started, *_ = (line for line in adapter.exchange.lines if "start_calls" in line)
        assert started.startswith('> {"type":"start_calls"')
        assert '"concurrency":1' in started
        assert len(started) < 200
        assert [line[:17] for line in adapter.exchange.lines if '"cancel"' in line] == [
            '> {"type":"cancel'
        ] * 2
        assert '< {"type": "done"' in "".join(adapter.exchange.lines)
        await adapter.end()
