"""The pages as text: generated parts are current, no page is empty, and what they name exists."""

from __future__ import annotations

import argparse
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import click
import msgspec
import pytest

import fake_control_plane.__main__ as control_plane
import pytest_xdspec.options
from client_under_test.doctor.rules import every_check
from client_under_test.manifests.manifest import Knob, Manifest
from conformance.cli.commands import main
from conformance.judging.verdicts import Verdict
from conformance.reporting.report import write_json
from conformance.spec.catalogue import load
from test_servers.__main__ import command as fleet
from tests.conformance.reporting.sample_reports import decision
from tests.conformance.reporting.sample_reports import report as made_report
from tests.conformance.reporting.sample_reports import run as made_run

ROOT = Path(__file__).parents[2]

if not (ROOT / "ci" / "documentation").is_dir():
    pytest.skip("needs a checkout", allow_module_level=True)

from ci.documentation import adapter_facts, compliance, refresh  # noqa: E402
from ci.documentation.facts import Facts, row, symbol  # noqa: E402
from ci.documentation.markdown import cell, escaped, table  # noqa: E402
from ci.documentation.reading import PAGES, Fence, code_spans, fences, links  # noqa: E402

NAMES = [path.relative_to(ROOT).as_posix() for path in PAGES]
EVERY_PAGE = sorted({*PAGES, *(ROOT / "docs").rglob("*.md")})

COMMANDS = ("sh", "console")
"""Languages of blocks with commands: those to be run, and sessions with their output."""

FOREIGN = frozenset(
    {"--cap-add", "--env", "--kill-child", "--network", "--secure_mode", "--server"}
)
"""Options of other programs, which the prose names."""

README_WORDS = 900

NAVIGATION = ROOT / "ci" / "documentation" / "navigation.md"


def every_fence() -> Iterator[tuple[str, Fence]]:
    for path, name in zip(PAGES, NAMES, strict=True):
        for fence in fences(path.read_text("utf-8")):
            yield f"{name}:{fence.line}", fence


# Generated parts.


@pytest.fixture(scope="module")
def facts() -> Facts:
    return Facts(load())


@pytest.mark.parametrize("page", [str(page.relative_to(ROOT)) for page in refresh.pages()])
def test_generated_parts_are_current(facts: Facts, page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    assert refresh.refreshed(ROOT / page, text, facts) == text, "run `ci/docs --refresh`"


@pytest.mark.parametrize("page", [str(page.relative_to(ROOT)) for page in EVERY_PAGE])
def test_a_page_says_something_without_a_generator(page: str) -> None:
    text = re.sub(r"<!--.*?-->", "", (ROOT / page).read_text("utf-8"), flags=re.DOTALL)
    for section in re.split(r"^#{1,2} .*$", text, flags=re.MULTILINE)[1:]:
        assert section.strip(), f"{page} has an empty section"


def test_every_page_has_a_place_in_the_navigation() -> None:
    entries = re.sub(
        r"^(```|:).*$|^self$", "", NAVIGATION.read_text("utf-8"), flags=re.MULTILINE
    ).split()
    named = {
        path
        for entry in entries
        for path in (
            ROOT / "docs" / entry.lstrip("/") if entry[0] != "/" else ROOT / entry[1:]
        ).parent.glob(entry.rpartition("/")[2] + ".md")
    }
    assert {*(ROOT / "docs").rglob("*.md")} - named == {ROOT / "docs/index.md"}


def test_a_part_that_does_not_exist_is_reported(facts: Facts) -> None:
    for name in ("nothing", "source README.md x", "source gone.py x", "deviations"):
        text = f"<!-- begin generated {name} -->\n<!-- end generated -->\n"
        with pytest.raises(refresh.BrokenPage, match=f"README.md: {name.split()[0]}"):
            refresh.refreshed(ROOT / "README.md", text, facts)


def test_links_of_generated_parts_are_relative(facts: Facts) -> None:
    text = "<!-- begin generated oracles -->\n<!-- end generated -->\n"
    deep = refresh.refreshed(ROOT / "docs/compliance/x.md", text, facts)
    assert "](../../conformance/spec/oracles/picker.py)" in deep


def test_the_command_line_page_has_every_command(facts: Facts) -> None:
    helps = facts.command_line()
    listed = [name for name, command in main.commands.items() if not command.hidden]
    assert [name for name in listed if f"\n## xdspec {name}\n" not in helps] == []
    assert "--keep-evidence" in helps


def test_the_contract_page_has_every_message(facts: Facts) -> None:
    page = facts.messages()
    assert "### request `open_channel`" in page
    assert "| `calls` | list of `PlannedCall` |" in page
    assert "anything" not in page


def test_source_is_shown_as_it_is() -> None:
    assert "def pick" in symbol(ROOT / "conformance/spec/oracles/ring/search.py", "Ring.pick")
    assert row(ROOT / "conformance/spec/catalogue/ring_hash/ring.toml", "A42-RING-13").startswith(
        "[A42-"
    )
    with pytest.raises(LookupError):
        symbol(ROOT / "conformance/spec/oracles/ring/search.py", "Ring.nothing")
    with pytest.raises(LookupError):
        row(ROOT / "conformance/spec/catalogue/ring_hash/ring.toml", "A42-RING-99")


def test_markdown_of_plain_text() -> None:
    assert escaped("a_b `c_d` <e> A42-RING-13", str.lower) == r"a\_b `c_d` \<e\> a42-ring-13"
    assert cell("a |\nb") == r"a \| b"
    assert table(("x", "n:"), [("a", "1")]) == "| x | n |\n| --- | ---: |\n| a | 1 |\n"


# Compliance.


def test_recorded_results_name_known_documents_and_editions() -> None:
    known = load()
    documents = {clause.document for clause in known}
    for result in compliance.results():
        assert result.documents.keys() <= documents
        assert set(result.editions) <= set(known.editions.ids)
        assert result.totals[Verdict.PASS]


def test_a_new_result_replaces_the_client_s_own(facts: Facts) -> None:
    old = compliance.results()
    assert compliance.record(old[:1], old) == old
    assert compliance.record([], old) == old
    assert old[0].client in compliance.summary(facts)


def test_a_part_of_a_run_is_not_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.json"
    write_json(made_report(made_run(decision("A42-RING-13", Verdict.PASS))), report)
    before = compliance.RESULTS.read_bytes()
    assert compliance.main([str(report)]) == 4
    assert "is not whole: it lacks" in capsys.readouterr().err
    assert compliance.RESULTS.read_bytes() == before


def test_the_readme_is_short() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert len(text.split()) <= README_WORDS


# Links.


@pytest.mark.parametrize("page", [str(page.relative_to(ROOT)) for page in EVERY_PAGE])
def test_links_to_files_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    targets = {link.partition("#")[0] for link in links(text) if not re.match(r"[a-z]+:|#", link)}
    gone = [target for target in targets if not ((ROOT / page).parent / target).exists()]
    assert gone == []


# Blocks.


def test_comments_above_blocks_are_understood() -> None:
    known = re.compile(
        r'not run: .+|exits with \d+|prints ".+"|needs namespaces|file \S+'
        r'|until ".+" is printed( twice)?|[\w-]+ is [\w/-]+|(begin|end) (generated|transcript).*'
    )
    notes = [(place, note) for place, fence in every_fence() for note in fence.notes]
    assert [(place, note) for place, note in notes if not known.fullmatch(note)] == []


# Commands and options.


def options_of(command: click.Command) -> set[str]:
    given = {name for param in command.params for name in param.opts}
    return given | {"-h", "--help"}


def every_option() -> set[str]:
    found = set(options_of(fleet))
    todo: list[click.Command] = [main]
    while todo:
        command = todo.pop()
        found |= options_of(command)
        todo += command.commands.values() if isinstance(command, click.Group) else ()
    parsers: list[argparse.ArgumentParser] = []

    class Noted(argparse.ArgumentParser):
        def parse_args(self, *_: object) -> argparse.Namespace:  # type: ignore[override]
            parsers.append(self)
            return argparse.Namespace()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(control_plane, "_Parser", Noted)
        control_plane._parse([])
    found |= {name for action in parsers[0]._actions for name in action.option_strings}
    of_pytest = pytest.Parser(_ispytest=True)
    pytest_xdspec.options.add(of_pytest)
    return found | {
        name for option in of_pytest.getgroup("xdspec").options for name in option.names()
    }


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
    unknown = {word.split("=")[0] for word in rest if re.match(r"--?[a-z]", word)}
    unknown -= {"--version"} if command is main else options_of(command)
    return f"it has no {', '.join(sorted(unknown))}" if unknown else ""


@pytest.mark.parametrize("name", NAMES)
def test_commands_and_options_that_are_named_exist(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    spans = list(code_spans(text))
    blocks = [fence.text for fence in fences(text) if fence.language in COMMANDS]
    wrong = [
        f"{line}: {said}"
        for piece in (*spans, *blocks)
        for line, words in called(piece)
        if (said := complaint(words)) and not {"COMMAND", "…"} & set(words)
    ]
    known = every_option() | FOREIGN
    bare = {span.split()[0].split("=")[0] for span in spans if re.match(r"--[a-z]", span)}
    wrong += [f"no command has {command}" for command in bare - known]
    assert wrong == [], name


def test_the_complaints_are_some() -> None:
    """Of what is wrong with a call, and of nothing else."""
    calls = "xdspec run python --only a42\nx/xdspec bundel A\n`xdspec diff --exakt A B`"
    said = [complaint(words) for _, words in called(calls)]
    assert said == ["", "there is no such command", "it has no --exakt"]


def test_the_lock_of_what_builds_the_pages_fits_the_other() -> None:
    """What both have they have in one version, and neither says where it comes from."""
    texts = [(ROOT / name).read_text() for name in ("requirements.lock", "requirements-docs.lock")]
    suite, docs = (dict(re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE)) for text in texts)
    shared = suite.keys() & docs.keys()
    assert {name: docs[name] for name in shared} == {name: suite[name] for name in shared}
    assert "://" not in "".join(texts)
    with (ROOT / "pyproject.toml").open("rb") as file:
        wanted = tomllib.load(file)["dependency-groups"]["docs"]
    assert {re.split("[<>=]", requirement)[0] for requirement in wanted} <= docs.keys()


def test_every_key_of_a_manifest_is_described(facts: Facts) -> None:
    page = adapter_facts.manifest_keys(facts)
    schema = msgspec.json.schema(Manifest)["$defs"]
    keys = {key for kind in schema.values() for key in kind.get("properties", {})}
    assert len(keys) > 30
    described = {*re.findall(r"^\| `([^`]+)` \| .* \| .* \| .+ \|$", page, re.MULTILINE)}
    assert keys - described == set()


def test_every_knob_says_what_uses_it(facts: Facts) -> None:
    page = adapter_facts.knobs(facts)
    assert [knob for knob in get_args(Knob) if f"| `{knob}` |" not in page] == []
    assert "`ring.raised_cap`" in page
    assert "`dns_reresolution.failing_eds`" in page
    assert "`xdspec explore`" in page


def test_every_rule_of_the_doctor_has_a_section_of_the_contract(facts: Facts) -> None:
    page = adapter_facts.doctor_rules(facts)
    contract = (ROOT / "client_under_test/contract/contract.md").read_text("utf-8")
    headings = re.findall(r"^## (.+)$", contract, re.MULTILINE)
    anchors = {heading.lower().replace(" ", "-") for heading in headings}
    assert [check.name for check in every_check() if f"| `{check.name}` |" not in page] == []
    assert {*re.findall(r"\(#([^)]+)\)", page)} <= anchors
