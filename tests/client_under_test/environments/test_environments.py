from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import watchfiles

from client_under_test.contract.exceptions import (
    BadManifest,
    BuildFailed,
    MissingToolchain,
)
from client_under_test.environments import (
    build_cache,
    build_log,
    builds,
    cache,
    prepare,
    toolchain,
)
from client_under_test.launching.pidfd import pidfd_open
from client_under_test.manifests.clients import find
from client_under_test.manifests.manifest import Tool
from tests.client_under_test.environments.built_client import MAKE, client_folder

DEADLINE = 10.0


def times_made(tmp_path: Path) -> int:
    return len((tmp_path / "count").read_text().splitlines())


@pytest.mark.parametrize(
    ("variables", "place"),
    [
        ({"XDSPEC_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, "/a"),
        ({"XDG_CACHE_HOME": "/b"}, "/b/xdspec"),
        ({"HOME": "/c"}, "/c/.cache/xdspec"),
    ],
)
def test_where_the_cache_is(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], place: str
) -> None:
    for name in ("XDSPEC_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache() == Path(place)


@pytest.mark.usefixtures("_own_cache")
def test_a_build_is_made_once_and_again_when_a_source_changes(tmp_path: Path) -> None:
    folder = client_folder(tmp_path)
    first = prepare(find(str(folder)))
    assert Path(first.command[0]).is_relative_to(cache())
    assert Path(first.command[0]).read_text() == "done"
    assert prepare(find(str(folder))).command == first.command
    assert times_made(tmp_path) == 1
    (folder / "make.py").write_text(MAKE + "# changed\n")
    assert prepare(find(str(folder))).command != first.command
    assert times_made(tmp_path) == 2
    (folder / "expected.toml").touch()  # nothing that a build reads
    (folder / "xdspec-out").mkdir()
    (folder / "xdspec-out" / "stderr.log").touch()
    prepare(find(str(folder)))
    assert times_made(tmp_path) == 2


@pytest.mark.usefixtures("_own_cache")
def test_builds_that_were_used_long_ago_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builds, "MOST_BUILDS", 2)
    folder, made = client_folder(tmp_path, MAKE.replace("0.2", "0")), []
    for state in range(4):
        (folder / "make.py").write_text(MAKE.replace("0.2", "0") + f"# {state}\n")
        made.append(Path(prepare(find(str(folder))).command[0]).parent)
        os.utime(made[-1], (state, state))
        for handle in build_cache._used.values():  # as if that run were over
            os.close(handle)
        build_cache._used.clear()
    assert [place.is_dir() for place in made] == [False, False, True, True]


@pytest.mark.usefixtures("_own_cache")
def test_makers_at_one_time_make_it_once(tmp_path: Path) -> None:
    folder = client_folder(tmp_path)
    with ThreadPoolExecutor(4) as makers:
        made = list(makers.map(lambda _: prepare(find(str(folder))), range(4)))
    assert len({prepared.command for prepared in made}) == 1
    assert times_made(tmp_path) == 1


@pytest.mark.usefixtures("_own_cache")
def test_a_variant_gives_environment_and_editions(tmp_path: Path) -> None:
    folder = client_folder(tmp_path)
    plain, other = prepare(find(str(folder))), prepare(find(f"{folder}+other"))
    assert (plain.environment, plain.editions) == ({"A": "start", "B": "start"}, ("A42",))
    assert (other.environment, other.editions) == ({"A": "start", "B": "variant"}, ("A42", "A76"))
    assert (other.version, other.name) == ("2.1", "built+other")


def test_a_long_log_is_quoted_from_its_first_error_on(tmp_path: Path) -> None:
    before = [f"compiling {n}" for n in range(30)]
    errors = ["adapter.go:7:2: undefined: x", *(f"note {n}" for n in range(30))]
    words = build_log.quoted("\n".join([*before, *errors]), tmp_path / "log").splitlines()
    assert words[0] == errors[0]
    assert words[-2:] == ["… and 21 more lines", f"the whole log: {tmp_path / 'log'}"]
    assert len(words) == 12
    words = build_log.quoted("\n".join(before), tmp_path / "log").splitlines()
    assert words[:-1] == before[-10:]


@pytest.mark.usefixtures("_own_cache")
def test_a_listed_source_that_does_not_exist_is_named(tmp_path: Path) -> None:
    folder = client_folder(tmp_path)
    text = (folder / "client.toml").read_text()
    (folder / "client.toml").write_text(text.replace("sources = []", 'sources = ["../nope"]'))
    with pytest.raises(BadManifest, match=r"build\.sources: \.\./nope does not exist"):
        prepare(find(str(folder)))


@pytest.mark.usefixtures("_own_cache")
def test_a_build_that_fails_leaves_its_words_and_nothing_else(tmp_path: Path) -> None:
    said = r"\x1b[31mline 7\x1b[0m: no such thing"
    code = f"import sys; print('{said}', flush=True); sys.exit('failed')"
    folder = client_folder(tmp_path, code=code)
    words = "client built could not be built: line 7: no such thing\nfailed\nthe whole log: "
    with pytest.raises(BuildFailed, match=words):
        prepare(find(str(folder)))
    [log] = sorted(
        place for place in cache().rglob("*.*") if place.is_file() and place.stat().st_size
    )
    assert log.read_text() == "\x1b[31mline 7\x1b[0m: no such thing\nfailed\n"


@pytest.mark.usefixtures("_own_cache")
@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("no-such-program", "No such file"),
        ("/no/such/program", "No such file"),
        ("{folder}/client.toml", "Permission denied"),
    ],
)
def test_a_builder_that_cannot_be_started(tmp_path: Path, program: str, why: str) -> None:
    folder = client_folder(tmp_path)
    manifest = folder / "client.toml"
    manifest.write_text(manifest.read_text().replace(sys.executable, program))
    words = f"client built is built with .*{Path(program).name}, which cannot be started: {why}"
    with pytest.raises(MissingToolchain, match=words):
        prepare(find(str(folder)))


# A builder that has a helper of its own, which others start in a session of its own, and waits.
LONG_BUILD = """
import pathlib, signal, subprocess, sys
code = "import os, signal, sys; print(os.getpid(), flush=True); signal.pause()"
helper = subprocess.Popen(
    [sys.executable, "-I", "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True
)
draft = pathlib.Path(sys.argv[2] + ".draft")
draft.write_text(helper.stdout.readline())
draft.rename(sys.argv[2])
{end}
"""

PREPARES = """
import sys
from client_under_test.environments import prepare
from client_under_test.manifests.clients import find
prepare(find(sys.argv[1]))
"""


@pytest.mark.usefixtures("_own_cache")
async def test_a_set_up_that_is_killed_leaves_no_builder(tmp_path: Path) -> None:
    folder = client_folder(tmp_path, code=LONG_BUILD.replace("{end}", "signal.pause()"))
    suite = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PREPARES, str(folder)), env=dict(os.environ)
    )
    try:
        async for _ in watchfiles.awatch(tmp_path):
            if (tmp_path / "count").exists():
                break
        helper = pidfd_open(int((tmp_path / "count").read_text()))
    finally:
        suite.kill()
    assert await suite.wait() == -signal.SIGKILL
    assert select.select([helper], [], [], DEADLINE)[0]
    os.close(helper)


@pytest.mark.usefixtures("_own_cache")
def test_a_builder_that_leaves_a_helper_has_ended(tmp_path: Path) -> None:
    """It holds the pipe open to which the builder speaks."""
    end = "(pathlib.Path(sys.argv[1]) / 'program').touch()"
    folder = client_folder(tmp_path, code=LONG_BUILD.replace("{end}", end))
    prepare(find(str(folder)))
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "count").read_text()), 0)


@pytest.mark.usefixtures("_own_cache")
def test_a_toolchain_that_is_missing(tmp_path: Path) -> None:
    folder = client_folder(tmp_path, tool="no-such-compiler")
    with pytest.raises(MissingToolchain, match=r"no-such-compiler.*install it from your system"):
        prepare(find(str(folder)))


@pytest.mark.usefixtures("_own_cache")
def test_a_toolchain_that_is_too_old(tmp_path: Path) -> None:
    folder = client_folder(tmp_path)
    manifest = folder / "client.toml"
    manifest.write_text(manifest.read_text().replace('"3.9"', '"3.11"'))
    words = r"client built needs sh 3\.11 or newer, and this machine has 3\.10\.2: install it from"
    with pytest.raises(MissingToolchain, match=words):
        prepare(find(str(folder)))


def test_a_library_that_a_program_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(answer: str) -> toolchain.FoundProgram:
        ask = ("sh", "-c", answer)
        return toolchain.look(Tool(program="sh", of="libx", ask=ask, at_least="1.2", get="get it"))

    assert [found(answer).is_missing for answer in ("exit 1", "echo 1.1", "echo 1.2")] == [
        True,
        True,
        False,
    ]
    assert found("exit 1").needed == "libx 1.2 or newer"
    monkeypatch.setattr(toolchain, "_ANSWER_DEADLINE", 0.01)
    assert not found("exec sleep 5").is_missing, "it may only be slow"


def test_what_a_tool_says_of_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def said(text: str) -> str | None:
        tool = Tool(program="sh", get="get it", ask=("printf", "%b", text))
        return toolchain.look(tool).version

    assert said("go version go1.26.8 linux/amd64") == "1.26.8"
    assert said("\\033[1mApache Maven 3.8.7\\033[m\\nJava version: 17") == "3.8.7"
    assert said("v20.20.2\\n") == "20.20.2"
    assert said('openjdk version "21" 2023-09-19') == "21"
    assert said("here I am") == ""
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n[ $1 = --version ] && echo 7 >&2\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert toolchain.look(Tool(program="program", get="get it")).version == "7"
    assert toolchain.look(Tool(program="no-such-program", get="get it")).version is None
