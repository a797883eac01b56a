from __future__ import annotations

import asyncio
import contextlib
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from click.testing import CliRunner

from client_under_test import doctor, scaffold
from client_under_test.doctor.backend import Backend as DoctorsBackend
from client_under_test.doctor.check import Finding
from client_under_test.doctor.report_lines import last_lines
from client_under_test.environments import prepare
from client_under_test.manifests.clients import BUILT_IN, find
from conformance.cli import commands
from tests.request_filter.ended_server import end_by_itself

ADAPTERS = Path(__file__).parents[2] / "adapters"
SMALL_ADAPTER = Path(__file__).parents[3] / "docs" / "small-adapter"

# They need a package index, once; the old one has wheels for Pythons of its time only.
REAL = ["python", *(["python@1.58.3"] if sys.version_info < (3, 12) else [])]
FAKES = ["liar", "crasher", "babbler", "stillborn", "forgetful", "secluded", "jumper", "impostor"]
NOT_HERE = "cannot have private host names|cannot listen at"
"""What is said where the machine does not allow it."""

CLIENTS = [*REAL, *(str(ADAPTERS / name) for name in FAKES)]


LINES: dict[str, list[str]] = {}
"""What was said of each."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def findings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Finding, ...]]:
    """Of all clients, examined side by side."""
    names = [name.rpartition("/")[2] for name in CLIENTS]
    LINES.update((name, []) for name in names)
    reports = await asyncio.gather(
        *(
            doctor.examine(
                prepare(find(place)), folder=tmp_path_factory.mktemp(name), say=LINES[name].append
            )
            for name, place in zip(names, CLIENTS, strict=True)
        )
    )
    return dict(zip(names, reports, strict=True))


def wrong(found: tuple[Finding, ...]) -> dict[str, str]:
    return {finding.check: finding.seen for finding in found if finding.verdict == "wrong"}


@pytest.mark.parametrize("name", REAL)
def test_the_python_adapter_is_well(findings: dict[str, tuple[Finding, ...]], name: str) -> None:
    assert wrong(findings[name]) == {}
    skipped = {
        finding.check: finding.seen for finding in findings[name] if finding.verdict == "skipped"
    }
    assert all(re.search(NOT_HERE, seen) for seen in skipped.values())
    assert set(skipped) <= {"host-names", "name-server"}


@pytest.mark.parametrize("check", ["host-names", "name-server"])
def test_who_sees_no_host_names_is_told_and_not_wrong(
    findings: dict[str, tuple[Finding, ...]], check: str
) -> None:
    """Whether it is the client that does not see them, or the machine that gives none."""
    assert wrong(findings["secluded"]) == {}
    (found,) = (finding for finding in findings["secluded"] if finding.check == check)
    assert (found.verdict, found.missing) == ("skipped", ())
    assert re.search(
        rf"copy (that file|these files) into the client's chroot or container|{NOT_HERE}",
        found.seen,
    )
    assert found.seen in "\n".join(LINES["secluded"])
    assert LINES["secluded"][-1].startswith("secluded: healthy")


@pytest.mark.parametrize(
    ("name", "check", "seen"),
    [
        ("liar", "unary", "hostname 127.0.0.1:1 instead of 127.0.0.1:"),
        ("liar", "statuses", "OK (no details) instead of CANCELLED"),
        ("liar", "deadline", "OK (no details) instead of DEADLINE_EXCEEDED"),
        ("liar", "kept-open", "OK (no details) instead of CANCELLED"),
        ("crasher", "not-a-request", "the adapter exited with code 1"),
        ("crasher", "unary", "the adapter died by SIGABRT; its stderr ends:\na last word before"),
        ("crasher", "end", "the adapter died by SIGABRT"),
        ("babbler", "unary", "the adapter wrote a line that is not a valid message"),
        ("forgetful", "unary", "a call reached the backend without (xdspec-call, "),
        ("jumper", "unary", "the adapter says that call-"),
        ("impostor", "hello", "hello has version 9, and client.toml says 0"),
        (
            "stillborn",
            "hello",
            "the adapter exited with code 1, but the suite had not asked it to exit",
        ),
    ],
)
def test_the_fakes_are_not(
    findings: dict[str, tuple[Finding, ...]], name: str, check: str, seen: str
) -> None:
    assert wrong(findings[name])[check].startswith(seen)


def test_who_does_not_start_is_asked_once(findings: dict[str, tuple[Finding, ...]]) -> None:
    first, *others = findings["stillborn"]
    assert 'start it by hand and type {"type": "hello"' in first.advice
    assert {(finding.verdict, finding.waits_for) for finding in others} == {("skipped", "hello")}


def test_what_builds_on_a_broken_rule_waits_for_it(
    findings: dict[str, tuple[Finding, ...]],
) -> None:
    waiting = {finding.check: finding.waits_for for finding in findings["babbler"]}
    assert waiting["unary"] is None
    assert waiting["kept-open"] == "unary"
    assert waiting["connect"] is None
    waiting = {finding.check: finding.waits_for for finding in findings["forgetful"]}
    assert waiting["statuses"] == waiting["metadata"] == waiting["close"] == "unary"


@pytest.mark.parametrize("name", ["python", "crasher", "stillborn", "liar", "forgetful"])
def test_what_the_author_reads(findings: dict[str, tuple[Finding, ...]], name: str) -> None:
    found, lines = findings[name], LINES[name]
    told = [line.split()[1] for line in lines if line.startswith(("ok", "wrong"))]
    looked_at = [check for check in found if check.verdict != "skipped"]
    assert told == [finding.check for finding in looked_at]
    advice = [line.partition("do:")[2].strip() for line in lines if "do:  " in line]
    assert advice == [finding.advice for finding in found if finding.verdict == "wrong"]
    assert doctor.is_healthy(found) == (not advice) == (": healthy" in lines[-1])


async def test_a_careless_adapter(tmp_path: Path) -> None:
    folder = tmp_path / "careless"
    folder.mkdir()
    for name, changes in {
        "client.toml": {'"grpcio"\n': '"grpcio"\nversion = "1.85.1"\n'},
        "adapter.py": {
            "grpc.__version__": '"1.84.0"',
            "base64.b64decode(v)": "v.encode()",
            "drain(name, rpc)\n": "drain(name, rpc, await rpc.done_writing())\n",
            "drain(self, name: str, rpc: Any)": "drain(self, name: str, rpc: Any, _: None)",
        },
    }.items():
        text = (BUILT_IN / "python" / name).read_text()
        for old, new in changes.items():
            assert old in text
            text = text.replace(old, new)
        (folder / name).write_text(text)
    assert wrong(await doctor.examine(prepare(find(str(folder))), folder=tmp_path)) == {
        "hello": "hello has version 1.84.0, and client.toml says 1.85.1: "
        "let the adapter and its manifest name the same version",
        "metadata": "trace-bin came base64-encoded once too often",
        "kept-open": "the adapter half-closed it",
    }


SMALL = {
    "undone": {
        "await start_calls(channels": "return await start_calls(channels",
    },
    "misspelled": {'{"status": status': '{"status": status.replace("CANCELLED", "Canceled")'},
    "no hostname": {'"details": details, "hostname"': '"details": details, "host"'},
    "answered twice": {'await channels.pop(request["channel"]).close()': 'say("done", **ID)'},
    "wall clock": {"zero = zero or time.monotonic_ns()": "zero = zero or 1"},
    "milliseconds": {"// 1000": "// 1_000_000"},
    "deaf": {"task = asyncio.create_task(answer(line))": "await answer(line); continue"},
    "log": {'say("done", id=request["id"])': 'print("done!", flush=True)'},
}
"""Changes of the small adapter of the documentation."""


@pytest.fixture(scope="module")
async def small(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What the doctor prints about each, examined side by side."""
    folders = {name: tmp_path_factory.mktemp("small") for name in SMALL}
    printed: dict[str, list[str]] = {name: [] for name in SMALL}
    for name, changes in SMALL.items():
        for file in SMALL_ADAPTER.glob("*.*"):
            text = file.read_text()
            for old, new in changes.items() if file.suffix == ".py" else ():
                assert old in text
                text = text.replace(old, new.replace("**ID", 'id=request["id"]'))
            (folders[name] / file.name).write_text(text)
    await asyncio.gather(
        *(
            doctor.examine(
                prepare(find(str(folder))),
                folder=tmp_path_factory.mktemp("examined"),
                say=printed[name].append,
            )
            for name, folder in folders.items()
        )
    )
    return printed


@pytest.mark.parametrize(
    ("name", "rule", "seen", "advice"),
    [
        (
            "undone",
            "unary",
            "all calls have `finished`, but there is no `done` for request ",
            "write `done` with the request's `id` after the last `finished` of its calls",
        ),
        (
            "misspelled",
            "statuses",
            '`finished`: `status` is "Canceled", which is none of OK, CANCELLED, UNKNOWN, ',
            "write the field as contract.md and contract.schema.json describe it",
        ),
        (
            "no hostname",
            "unary",
            "the adapter wrote a line that is not a valid message (answer `finished` ",
            "write the field as contract.md and contract.schema.json describe it",
        ),
        (
            "answered twice",
            "close",
            "has already been answered",
            "answer each request once, and finish each call once",
        ),
        (
            "wall clock",
            "hello",
            "s before the first `hello`: let `at` be the microseconds since the first `hello`",
            "let the program that client.toml starts answer `hello`",
        ),
        (
            "milliseconds",
            "unary",
            " us; the request was at about ",
            "microseconds",
        ),
        (
            "deaf",
            "cancel",
            "the adapter did not answer `cancel` within 5 s: it does not read requests while calls",
            "make the calls of `start_calls` in a thread or task of their own, and read on",
        ),
        (
            "log",
            "open-channel",
            "(JSON is malformed: invalid character (byte 0)): done!",
            "write messages to stdout, each on a line, and nothing else: logs go to stderr",
        ),
    ],
)
def test_a_mistake_of_a_new_author_gets_advice_that_helps(
    small: dict[str, list[str]], name: str, rule: str, seen: str, advice: str
) -> None:
    lines = small[name]
    at = next(n for n, line in enumerate(lines) if line.split()[:2] == ["wrong", rule])
    assert "saw: " in lines[at + 1]
    assert seen in lines[at + 1]
    assert advice in lines[at + 2]


def test_a_cause_is_described_once(small: dict[str, list[str]]) -> None:
    lines = small["misspelled"]
    assert sum('"Canceled", which is none' in line for line in lines) == 1
    (likewise,) = (line for line in lines if line.startswith("likewise"))
    assert likewise == "likewise cancel, close: the same as statuses"


def test_the_values_of_the_skeleton_are_noted(findings: dict[str, tuple[Finding, ...]]) -> None:
    old = scaffold.placeholders_of("0.1.0", "grpc-go", "https://example.com/issues")
    notes = list(last_lines("mine", findings["secluded"], old))
    version, issues = "`version` in client.toml and in the program", "`issues` in client.toml"
    assert f"note     still the skeleton's: {version}; {issues}" in notes
    notes = list(last_lines("mine", findings["liar"], {"version": "0.1.0"}))
    assert not any(line.startswith("note") for line in notes)
    assert scaffold.placeholders_of("0.1.0", "scaffold", "https://example.com/issues") == {
        "version": "0.1.0",
        "name": "scaffold",
        "issues": "https://example.com/issues",
    }
    assert scaffold.placeholders_of("1.2", "grpc-go", "https://bugs") == {}


def test_a_healthy_adapter_hears_what_was_not_checked(
    findings: dict[str, tuple[Finding, ...]],
) -> None:
    del findings
    assert any("not checked: that retries are off" in line for line in LINES["secluded"])
    assert not any("not checked" in line for line in LINES["liar"])


REGISTRAR = {
    "right": {},
    "a flat config": {"config=json.dumps(config)": "config=str(config)"},
    "a number lost": {"config=json.dumps(config)": 'config="{}"'},
    "no endpoints": {"endpoints=[[address]]": "endpoints=[]"},
    "too early": {
        'opened = to_update.pop(request["channel"], None)': "opened = None",
        'to_update[request["id"]] = request': "tell_update(adapter, request)",
    },
    "silent": {"tell_update(adapter, opened)": "pass"},
    "deaf": {'adapter.say("done", id=request["id"])': 'await really["answer"](adapter, line)'},
}
SEES = {
    "right": "",
    "a flat config": "the reported config is not JSON: {'endpoint': 0.0",
    "a number lost": 'config {} instead of {"endpoint": 0.0',
    "no endpoints": 'endpoints [] instead of [["127.0.0.1:',
    "too early": "an update came before the suite asked the channel to connect",
    "silent": "no update came before the call ended",
    "deaf": "the adapter refused `register_policy`: KeyError",
}


@pytest.fixture(scope="module")
async def registrars(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Finding, ...]]:
    """Adapters of version 2, one of them right, examined side by side."""
    folders = {name: tmp_path_factory.mktemp("registrar") for name in REGISTRAR}
    for name, changes in REGISTRAR.items():
        for file in (ADAPTERS / "registrar").glob("*.*"):
            text = file.read_text()
            for old, new in changes.items() if file.suffix == ".py" else ():
                assert old in text
                text = text.replace(old, new)
            (folders[name] / file.name).write_text(text)
    found = await asyncio.gather(
        *(
            doctor.examine(prepare(find(str(folder))), folder=tmp_path_factory.mktemp("examined"))
            for folder in folders.values()
        )
    )
    return dict(zip(folders, found, strict=True))


@pytest.mark.parametrize("name", REGISTRAR)
def test_who_states_a_custom_policy_is_examined_for_it(
    registrars: dict[str, tuple[Finding, ...]], name: str
) -> None:
    assert len(registrars[name]) == 27
    found = wrong(registrars[name])
    assert list(found) == (["custom-policy"] if SEES[name] else [])
    assert found.get("custom-policy", "").startswith(SEES[name])


def test_nobody_else_hears_of_it(findings: dict[str, tuple[Finding, ...]]) -> None:
    """Of these only the reference client's twin states it."""
    heard = {
        name for name, found in findings.items() if "custom-policy" in {o.check for o in found}
    }
    assert heard == {"secluded"}


def test_the_next_step_is_told_last(findings: dict[str, tuple[Finding, ...]]) -> None:
    del findings
    *_, waiting, undeclared, summary = LINES["crasher"]
    assert undeclared == (
        "skipped  response-headers, custom-policy, own-bootstrap: client.toml does not declare "
        "their capabilities"
    )
    assert waiting.startswith("later    metadata, unknown-method, statuses, ")
    counts = "4 of 28 rules ok, 4 wrong, 17 to check, 3 not declared"
    assert summary == f"crasher: {counts}; next: not-a-request"


async def test_a_backend_that_ended_is_no_fault_of_the_adapter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It ends before the first check, so that calls would fail if nobody noticed."""
    begun = DoctorsBackend.running

    @contextlib.asynccontextmanager
    async def failing() -> AsyncIterator[DoctorsBackend]:
        async with begun() as backend:
            await end_by_itself(backend._server)
            yield backend

    monkeypatch.setattr(DoctorsBackend, "running", failing)
    lines: list[str] = []
    with pytest.raises(doctor.BackendFailed, match=r"ended by itself.*do not judge the adapter"):
        await doctor.examine(prepare(find("reference")), folder=tmp_path, say=lines.append)
    assert not any("healthy" in line for line in lines)
    caplog.clear()


def test_the_command_says_that_the_backend_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def examine(*_: object, **__: object) -> tuple[Finding, ...]:
        raise doctor.BackendFailed("the doctor's backend failed")

    monkeypatch.setattr(doctor, "examine", examine)
    ended = CliRunner().invoke(commands.main, ["doctor", "reference"])
    assert ended.exit_code == 3
    assert ended.output.endswith("xdspec: the doctor's backend failed\n")
