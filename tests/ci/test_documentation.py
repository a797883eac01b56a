"""The documentation as text: what its blocks are, and that whatever it names is there."""

from __future__ import annotations

import argparse
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import fake_control_plane.__main__ as control_plane
import pytest_xdspec.options
from conformance.catalogue import load
from conformance.command.cli import main
from conformance.reporting.report import Exit
from test_servers.__main__ import command as fleet

ROOT = Path(__file__).parents[2]

if not (ROOT / "ci" / "documentation").is_dir():
    pytest.skip("needs a checkout", allow_module_level=True)

from ci.documentation import markdown  # noqa: E402
from ci.documentation.facts import GENERATED, Facts, row, symbol  # noqa: E402
from ci.documentation.markdown import Fence  # noqa: E402
from ci.documentation.pages import BrokenPage, Pages  # noqa: E402

PAGES = sorted(
    {
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(ROOT / "docs").glob("*.md"),
        *ROOT.glob("conformance/*/*.md"),
        *ROOT.glob("client_under_test/**/*.md"),
    }
    - {ROOT / "docs/compliance.md"}
)
NAMES = [path.relative_to(ROOT).as_posix() for path in PAGES]

COMMANDS = ("sh", "console")
"""Languages of blocks with commands: those to be run, and dialogues with what was answered."""

A_COMMAND = re.compile(r"^\s*(\$ |(\./|[\w/-]*/)?xdspec |python3? -|pip |ci/)", re.MULTILINE)

FOREIGN = frozenset(
    {"--cap-add", "--env", "--kill-child", "--network", "--secure_mode", "--server"}
)
"""Options of other programs, which the prose names."""


def fences() -> Iterator[tuple[str, Fence]]:
    for path, name in zip(PAGES, NAMES, strict=True):
        for fence in markdown.fences(path.read_text("utf-8")):
            yield f"{name}:{fence.line}", fence


# Blocks.


@pytest.mark.parametrize(("place", "fence"), [pytest.param(*one, id=one[0]) for one in fences()])
def test_a_block_says_what_it_is(place: str, fence: Fence) -> None:
    """Commands are run by `test_documentation_commands.py`, or it is said why they are not."""
    assert fence.language, f"{place}: give the block a language; `sh` if it has commands"
    if fence.language in COMMANDS:
        left_out = [one for one in fence.said if one.startswith("not run: ")]
        assert fence.language == "sh" or left_out, f"{place}: say why this is not run"
        assert all(one.removeprefix("not run:").strip() for one in left_out)
    elif fence.language == "text":
        usage = "usage" in fence.said
        assert usage or not A_COMMAND.search(fence.text), f"{place}: are these commands? Then `sh`"


def test_only_what_is_known_is_said_of_a_block() -> None:
    known = re.compile(
        r'not run: .+|usage|exits with \d+|prints ".+"|needs namespaces'
        r'|until ".+" is said( twice)?|[\w-]+ is [\w/-]+|(include|generated|source) .+'
    )
    said = [(place, one) for place, fence in fences() for one in fence.said]
    assert [(place, one) for place, one in said if not known.fullmatch(one)] == []


# Commands and options.


def options_of(command: click.Command) -> set[str]:
    given = {name for one in command.params for name in one.opts}
    return given | {"-h", "--help"}


def every_option() -> set[str]:
    found = set(options_of(fleet))
    todo: list[click.Command] = [main]
    while todo:
        one = todo.pop()
        found |= options_of(one)
        todo += one.commands.values() if isinstance(one, click.Group) else ()
    parsers: list[argparse.ArgumentParser] = []

    class Noted(argparse.ArgumentParser):
        def parse_args(self, *_: object) -> argparse.Namespace:  # type: ignore[override]
            parsers.append(self)
            return argparse.Namespace()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(control_plane, "_Parser", Noted)
        control_plane._parse([])
    found |= {name for one in parsers[0]._actions for name in one.option_strings}
    of_pytest = pytest.Parser(_ispytest=True)
    pytest_xdspec.options.add(of_pytest)
    return found | {name for one in of_pytest.getgroup("xdspec").options for name in one.names()}


def called(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each call of `xdspec` with its words, those in quotation marks left out."""
    joined = re.sub(r" *\\\n *", " ", text)
    for line in joined.splitlines():
        plain = re.sub(r"'[^']*'|\"[^\"]*\"", "WORD", line.partition(" #")[0])
        for found in re.finditer(r"(?:^|[\s;|&/`])xdspec +([^`;|&]+)", plain):
            yield line, found[1].split()


def complaint(words: list[str]) -> str:
    """What is wrong with a call; empty if nothing is."""
    command: click.Command = main
    rest = list(words)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        below = command.commands.get(rest.pop(0))
        if below is None:
            return "there is no such command"
        command = below
    if command.name == "test":  # what follows goes to pytest
        return ""
    unknown = {one.split("=")[0] for one in rest if re.match(r"--?[a-z]", one)}
    unknown -= {"--version"} if command is main else options_of(command)
    return f"it has no {', '.join(sorted(unknown))}" if unknown else ""


@pytest.mark.parametrize("name", NAMES)
def test_commands_and_options_that_are_named_exist(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    spans = [code for _, code in markdown.code_spans(text)]
    blocks = [one.text for one in markdown.fences(text) if one.language in COMMANDS]
    wrong = [
        f"{line}: {said}"
        for one in (*spans, *blocks)
        for line, words in called(one)
        if (said := complaint(words)) and "COMMAND" not in words
    ]
    known = every_option() | FOREIGN
    bare = {one.split()[0].split("=")[0] for one in spans if re.match(r"--[a-z]", one)}
    wrong += [f"no command has {one}" for one in bare - known]
    assert wrong == [], name


def test_the_complaints_are_some() -> None:
    """Of what is wrong with a call, and of nothing else."""
    calls = "xdspec run python --only a42\nx/xdspec bundel A\n`xdspec diff --exakt A B`"
    said = [complaint(words) for _, words in called(calls)]
    assert said == ["", "there is no such command", "it has no --exakt"]


def test_the_readme_has_each_command_and_each_exit_code() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    usage = next(one.text for one in markdown.fences(text) if "usage" in one.said)
    named = set(re.findall(r"^xdspec ([a-z-]+)", usage, re.MULTILINE))
    assert named | {"test"} == main.commands.keys()
    table = re.findall(r"^\| (\d) \|", markdown.section(text, "exit-codes"), re.MULTILINE)
    assert [int(code) for code in table] == sorted(Exit)
    options = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", usage))
    assert options <= every_option()


def test_the_lock_of_what_builds_the_pages_fits_the_other() -> None:
    """What both have they have in one version, and neither says where it comes from."""
    texts = [(ROOT / name).read_text() for name in ("requirements.lock", "requirements-docs.lock")]
    suite, docs = (dict(re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE)) for text in texts)
    shared = suite.keys() & docs.keys()
    assert {name: docs[name] for name in shared} == {name: suite[name] for name in shared}
    assert "://" not in "".join(texts)
    with (ROOT / "pyproject.toml").open("rb") as file:
        wanted = tomllib.load(file)["dependency-groups"]["docs"]
    assert {re.split("[<>=]", one)[0] for one in wanted} <= docs.keys()


# What is made from the code.


@pytest.fixture(scope="module")
def facts() -> Facts:
    return Facts(load(), {})


@pytest.mark.parametrize("name", GENERATED)
def test_each_fact_is_on_a_page(name: str) -> None:
    directive = f"<!-- generated {name} -->"
    assert any(directive in path.read_text("utf-8") for path in PAGES)


def test_every_clause_that_cannot_be_seen_is_told_of_with_its_reason(facts: Facts) -> None:
    page = facts.not_seen()
    hidden = [one for one in load() if one.unobservable]
    assert hidden
    assert all(f"[{one.id}]" in page for one in hidden)
    assert len(re.findall(r"^\| \[A", page, re.MULTILINE)) == len(hidden)


def test_every_edition_and_every_command_is_told_of(facts: Facts) -> None:
    editions = re.findall(r"^\| `([\w-]+)`", facts.editions(), re.MULTILINE)
    assert tuple(editions) == load().editions.ids
    helps = facts.command_line()
    assert all(f"\n## xdspec {name}" in helps for name in main.commands)
    assert "--keep-evidence" in helps


def test_every_oracle_is_told_of_with_links_to_its_clauses(facts: Facts) -> None:
    page = facts.oracles()
    modules = [one for one in (ROOT / "conformance/oracles").rglob("*.py") if one.stem[0] != "_"]
    assert all(f"(/{one.relative_to(ROOT).as_posix()})" in page for one in modules)
    assert "[A42-AGG-01](/clauses/a42/aggregated_state.md#a42-agg-01)" in page


def test_every_message_of_the_contract_is_told_of(facts: Facts) -> None:
    page = facts.messages()
    assert "### request `open_channel`" in page
    assert "| `calls` | a list, of each: `PlannedCall` |" in page
    assert "anything" not in page


def test_what_is_shown_of_the_source_is_what_is_there() -> None:
    shown = symbol(ROOT / "conformance/scenarios/a42/picker.py", "test_next_along_the_ring")
    assert shown.startswith('@decides("A42-PICK-08")\nasync def')
    assert "def pick" in symbol(ROOT / "conformance/oracles/ring/search.py", "Ring.pick")
    assert row(ROOT / "conformance/catalogue/a42/ring.toml", "A42-RING-13").startswith("[A42-")
    with pytest.raises(LookupError):
        symbol(ROOT / "conformance/oracles/ring/search.py", "Ring.nothing")
    with pytest.raises(LookupError):
        row(ROOT / "conformance/catalogue/a42/ring.toml", "A42-RING-99")


@pytest.mark.parametrize(
    "text",
    ["[gone](nowhere.md)", "<!-- include README.md#nowhere -->", "<!-- source README.md x -->"],
)
def test_a_page_that_names_what_is_not_there_is_told_of(
    facts: Facts, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setitem(GENERATED, "editions", lambda _: text)
    if text.startswith("<!--"):
        with pytest.raises(BrokenPage):
            Pages(facts)._put("index.md", "docs/index.md", text)
        return
    with pytest.raises(BrokenPage, match=r"editions\.md: it links to docs/nowhere\.md"):
        Pages(facts)


# Markdown.


def test_fences_headings_and_links() -> None:
    text = "# One\n\n<!-- exits with 1 -->\n```sh\n# no heading\n[x](y)\n```\n## `a` b\n"
    text += "[c](d#e) `[f](g)`\n"
    assert [one.slug for one in markdown.headings(text)] == ["one", "a-b"]
    (fence,) = markdown.fences(text)
    assert fence == Fence(4, "sh", "# no heading\n[x](y)\n", ("exits with 1",))
    assert markdown.relinked(text, str.upper) == text.replace("d#e", "D#E")
    assert markdown.section(text, "a-b") == "[c](d#e) `[f](g)`"
    assert markdown.section(text, "one").startswith("<!-- exits")
    assert markdown.slug("A42-RING-13 direction of the search") == "a42-ring-13"
    assert markdown.words("a_b `c_d` <e> A42-RING-13", str.lower) == r"a\_b `c_d` \<e\> a42-ring-13"
