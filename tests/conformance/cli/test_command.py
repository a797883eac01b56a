"""The command line: what it lists and explains, and what it says of bad input."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from client_under_test.manifests.clients import built_in, find
from conformance.cli.commands import main
from conformance.reporting.report import Exit
from conformance.spec.catalogue import load
from tests.conformance.cli.invocation import MANIFEST, invoke, manifest

ROOT = Path(__file__).parents[3]
ADAPTERS = ROOT / "tests" / "adapters"
CRASHER = str(ADAPTERS / "crasher")


def choice(clause: str, made: str) -> str:
    return f'[[choices]]\nclause = "{clause}"\nchoice = "{made}"\n'


def bad_baseline(folder: Path) -> str:
    (folder / "expected.toml").write_text('[[expected]]\nclause = "A42-RING-99"\n')
    return manifest(folder, MANIFEST)


def unbuildable(folder: Path, program: str) -> str:
    tool = f'[build]\ncommand = ["{program}", "-c", "exit 3"]\n'
    tool += f'[[build.tools]]\nprogram = "{program}"\nget = "ask for it"\n'
    return manifest(folder, MANIFEST + tool)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run", "cobol"], "there is no client cobol: name one of"),
        (["run", "python+no-such-variant"], "no-such-variant"),
        (["run", "python", "cobol"], "there is no client cobol"),
        (["run", CRASHER + "@7"], "exists only in version 0"),
        (["run", CRASHER, "--clause", "A42-RING-99"], "there is no clause A42-RING-99"),
        (["run", CRASHER, "--clause", "a42-rin-09"], "did you mean A42-RING-09?"),
        (["run", CRASHER, "--scenario", "nosuch.*"], "there is no scenario nosuch.*: `xdspec list"),
        (["run", CRASHER, "--scenario", "A42-RING-05"], "it is a clause, so use --clause"),
        (["run", CRASHER, "--clause", "ring.size*"], "there is no clause ring.size*: use --scen"),
        (["doctor", str(ADAPTERS)], "adapters has no client.toml: name the folder of an adapter"),
        (["new-client", "golang", "mine"], "there is no skeleton for golang: did you mean go?"),
        (["run", CRASHER, "--scenario", "header.emty_value"], "mean header.empty_value?"),
        (["run", CRASHER, "--json", "no/such/folder/r.json"], "does not exist"),
        (["run", CRASHER, "--junit", "no/such/folder/r.xml"], "does not exist"),
        (["run", CRASHER, "--json", "."], "is a folder"),
        (["run", CRASHER, "--out", __file__], "is not a folder"),
        (["run", CRASHER, "--out", f"{__file__}/deeper"], "is not a folder"),
        (["run", CRASHER, "--env", "NAME"], "'NAME' is not of the form NAME=VALUE"),
        (["run", CRASHER, "--env", "=x"], "is not of the form NAME=VALUE"),
        (["run", CRASHER, "--jobs", "0"], "--jobs"),
        (["run", CRASHER, "--wrap", "valgrnd -q"], "there is no program valgrnd"),
        (["run", CRASHER, "--wrap", "  "], "'  ' is not a command such as"),
        (["run", CRASHER, "--wrap", "sh 'x"], "is not a command such as"),
        (["run", CRASHER, "--seed", "x"], "--seed"),
        (
            ["run", CRASHER, "--only", "a99"],
            "no clause belongs to a99; choose from a27, a28, a29, a32",
        ),
        (["run", CRASHER, "--only", "A42-RING-01"], "is a clause, not a gRFC; `run --clause`"),
        (["run", CRASHER, "--all"], "name clients, or use --all"),
        (["run", CRASHER, "--hold"], "name it with --scenario"),
        (["run", CRASHER, "--no-such-option"], "No such option"),
        (["serve"], "Missing argument"),
        (["serve", "ring.serch"], "did you mean ring.search?"),
        (["run", CRASHER, "--scenario", "ring.agregation"], "did you mean aggregated_state.*?"),
        (
            ["serve", "ring.size"],
            " scenarios: name one of ring.size[at-least-min",
        ),
        (["serve", "header.*"], "scenarios: name one of header."),
        (["serve", "ring.search", "--with", "cobol"], "there is no client cobol"),
        (["serve", "ring.search", "--with", "interop"], "interop cannot make single calls"),
        (["serve", "ring.search", "--out", __file__], "is not a folder"),
        (["history", CRASHER], "Missing argument"),
        (["history", "cobol", "1.0", "1.1"], "there is no client cobol"),
        (["history", CRASHER, "0"], "one version of crasher has no history"),
        (["history", CRASHER, "0", "0"], "0 of crasher is named twice"),
        (["history", CRASHER, "0", "7"], "exists only in version 0"),
        (["history", CRASHER, "0", "r.json"], "r.json is not a version such as 1.70.0, a variant"),
        (["history", CRASHER, "0", str(ADAPTERS / "liar")], "has the client liar, not crasher"),
        (["history", CRASHER, "0", "+no-such-variant"], "no-such-variant"),
        (["history", "python@1.60.1", "1.65.5", "1.66.0"], "python@1.60.1 is one version: name"),
        (["history", CRASHER, "0", "7", "--bisect", "A42-RING-99"], "there is no clause A42-RI"),
        (["history", CRASHER, "0", "--bisect", "A42-RING-05", "--only", "a42"], "leave --clause"),
        (["mutants", "--out", f"{__file__}/deeper"], "is not a folder"),
        (["mutants", "--area", "a99"], "not an area of mutants: ads, aggregate, cds, "),
        (["run", CRASHER, "--out", "/proc/nope"], "nothing can be written in /proc"),
        (["doctor", "cobol"], "there is no client cobol"),
        (["new-client", "to go", "mine"], "'to go' is no name of a language such as go"),
        (["new-client", "go", __file__], "is a file: name a folder"),
        (["new-client", "go", str(ADAPTERS)], "is not empty: name a folder that is, or a new one"),
        (["new-client", "go"], "Missing argument"),
        (["judge", "no/such/folder"], "cannot be read: No such file or directory"),
        (["judge", __file__], "cannot be read: Not a directory"),
        (["explain"], "Missing argument"),
        (
            ["explain", "A65"],
            "A65 is not a clause, nor an edition of this suite: there are A27-2020, ",
        ),
        (["list", "tests"], "'tests' is not one of"),
        (["fly"], "No such command 'fly'"),
        (["rnu"], "Did you mean 'run'?"),
        (["run", "pyton"], "there is no client pyton: did you mean python?"),
        (["run", CRASHER, "--scenario", "states"], "did you mean picker.states?"),
        (["run", CRASHER, "--scenario", "shared_by_channels"], "circuit_breaking.shared_by_chan"),
        (["run", CRASHER, "--scenrio", "x"], "--scenario"),
        (["explain", "A42-PICK-8"], "did you mean A42-PICK-08?"),
        (["gate", CRASHER, "--base", "1.0", "--no-baseline"], "the gate needs none"),
        (["explain", "A421"], "did you mean A42?"),
        (["explain", "picker.stats"], "did you mean picker.states?"),
        (["merge", "one.json"], "Missing option '-o'"),
        (["site", "one.json"], "Missing option '-o'"),
    ],
)
def test_bad_input(
    words: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = invoke(*words)
    assert says in ended.output
    assert ended.exit_code == 4
    assert "Traceback" not in ended.output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("make", "code", "says"),
    [
        (lambda folder: manifest(folder, "name = 3"), 4, "client.toml"),
        (lambda folder: manifest(folder, "[[["), 4, "client.toml"),
        (bad_baseline, 4, "expected.toml"),
        (
            lambda folder: manifest(folder, MANIFEST.replace('"A42"', '"A42", "A65"')),
            4,
            "client.toml: editions[0].follows: A65 is not an edition: there are A27-2020, A27, ",
        ),
        (
            lambda folder: manifest(
                folder, MANIFEST + '[variants.new]\nenvironment = {}\nfollows-also = ["a61"]'
            ),
            4,
            "client.toml: variants.new.follows-also: a61 is not an edition: there are A27-2020, ",
        ),
        (
            lambda folder: manifest(folder, MANIFEST + '[[ring-key-formats]]\nformat = "ip"'),
            4,
            "client.toml: ring-key-formats[0].format: ip is no format that is known: there are ip:",
        ),
        (
            lambda folder: manifest(folder, MANIFEST + choice("A42-HDR-5", "joined by commas")),
            4,
            "client.toml: choices[0].clause: A42-HDR-5 is no clause",
        ),
        (
            lambda folder: manifest(folder, MANIFEST + choice("A42-RING-05", "larger")),
            4,
            "client.toml: choices[0].clause: no choice can be stated of A42-RING-05, but of A",
        ),
        (
            lambda folder: manifest(folder, MANIFEST + choice("A42-RING-03", "ip:port_i")),
            4,
            "client.toml: choices[0].clause: A42-RING-03 is stated by [[ring-key-formats]]",
        ),
        (
            lambda folder: manifest(folder, MANIFEST + choice("A42-HDR-05", "joined")),
            4,
            "choices[0].choice: joined is none that is known: there are joined by commas; the fi",
        ),
        (lambda folder: unbuildable(folder, "no-such-compiler"), 4, "ask for it"),
        (lambda folder: unbuildable(folder, "sh"), 6, "could not be built"),
        (lambda folder: manifest(folder, MANIFEST), 6, "some: the client exited with code 0"),
        (
            lambda folder: manifest(folder, MANIFEST.replace("{python}", "no-such-program")),
            6,
            "some: there is no program no-such-program",
        ),
    ],
)
def test_clients_that_cannot_be_run(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[Path], str],
    code: int,
    says: str,
) -> None:
    monkeypatch.setenv("XDSPEC_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "client").mkdir()
    ended = invoke("run", make(tmp_path / "client"))
    assert says in ended.output
    assert ended.exit_code == code
    assert "Traceback" not in ended.output


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["--version"], ["judge", "-h"]])
def test_help(words: list[str]) -> None:
    ended = invoke(*words)
    assert ended.exit_code == 0
    assert ended.output.strip()


def test_the_exit_codes_are_in_the_help() -> None:
    text = invoke("run", "--help").output
    assert {int(code) for code in re.findall(r"^    (\d)  ", text, re.MULTILINE)} == {*Exit}


def commands(group: click.Group = main, *above: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, *above, name)
        yield (*above, name), command


def test_nothing_is_cut_off_in_the_list_of_commands() -> None:
    text = invoke("--help").output
    assert not re.findall(r"\.\.\.$", text, re.MULTILINE)
    listed = re.findall(r"^  ([a-z][a-z-]+) +[A-Z]", text, re.MULTILINE)
    shown = [name for name, command in main.commands.items() if not command.hidden]
    assert sorted(listed) == sorted(shown), "each command stands in one section"
    for names, command in commands():
        summary = command.get_short_help_str(limit=200)
        assert len(summary) <= 60, (names, summary)


@pytest.mark.parametrize(
    ("names", "command"), [*commands()], ids=[" ".join(names) for names, _ in commands()]
)
def test_the_help_of_each_command_has_an_example_that_can_be_typed(
    names: tuple[str, ...], command: click.Command
) -> None:
    text = invoke(*names, "--help").output
    lines = text[text.index("Examples:") :].splitlines()[1:]
    typed = [shlex.split(line) for line in lines if line.strip()]
    assert typed
    for program, *words in typed:
        assert program == "xdspec"
        wanted = ("rejudge",) if names == ("judge",) else names
        assert tuple(words[: len(wanted)]) == wanted
        known = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
        assert {word for word in words if word.startswith("-")} <= known | {"--help"} or (
            names in {("test",), ("baseline",)}  # what follows is for pytest, or another command
        )


def test_options_of_a_run_stand_in_groups() -> None:
    text = invoke("run", "--help").output
    for group in ("Selection", "Execution", "Baselines", "Sharding", "Output"):
        assert f"\n{group}:\n" in text
    other = text[text.index("Other options:") : text.index("Examples:")]
    assert re.findall(r"^  (-\S+)", other, re.MULTILINE) == ["-h,"]


def test_list_clients_and_clauses() -> None:
    assert "python" in invoke("list", "clients").output.split()
    listed = invoke("list", "clauses").output.splitlines()
    assert [line.split()[0] for line in listed] == [clause.id for clause in load()]


def test_list_editions() -> None:
    heads, *lines = invoke("list", "editions").output.splitlines()
    assert heads.split() == ["edition", "text", "of", "words", "content"]
    listed = {line.split()[0]: line for line in lines}
    assert set(listed) == set(load().editions.ids)
    numbers = [int(number) for edition in listed for number in re.findall(r"^A(\d+)", edition)]
    assert numbers == sorted(numbers)
    dates = {edition: line.split()[1] for edition, line in listed.items()}
    assert (dates["A61-2023"], dates["A61"]) == ("2023-12-15", "2025-02-14")
    assert "-" not in dates["envoy"]
    assert "  first wording of A61: ring_hash over lazy pick_firsts, " in listed["A61-2023"]
    assert "  part of A76: hash_key of an endpoint" in listed["A76-KEY"]
    assert "  addition to A61: a LOGICAL_DNS cluster is one endpoint, " in listed["A61-DNS"]
    assert "  ring_hash over lazy pick_firsts: its picker, " in listed["A61"]
    of_a61 = [clause for clause in load() if "A61" in clause.editions]
    assert f" {len(of_a61)} clauses " in listed["A61"]
    assert "no clause yet" in listed["A48-2021"]
    manifests = [find(name).manifest for name in built_in()]
    stated = {
        edition
        for client_manifest in manifests
        for table in client_manifest.editions
        for edition in table.follows
    }
    variants = [
        variant for client_manifest in manifests for variant in client_manifest.variants.values()
    ]
    stated |= {edition for variant in variants for edition in variant.follows_also}
    # No client has A68 by xDS yet. None declares only the first wording of A48 or A74, or only the
    # part of A58 that is without reports.
    assert set(listed) - stated == {"A28-2020", "A48-2021", "A58-CDS", "A68", "A74-2024"}
    assert stated <= set(listed)


def test_doctor_knows_the_editions_too(tmp_path: Path) -> None:
    ended = invoke("doctor", manifest(tmp_path, MANIFEST.replace("A42", "A65")))
    assert (ended.exit_code, "A65 is not an edition" in ended.output) == (4, True)


def test_list_scenarios(decided: dict[str, list[str]]) -> None:
    assert decided["ring.size[by-weight]"] == ["A42-RING-09", "A42-RING-04"]
    assert len(decided) > 90


async def test_the_command_has_its_own_name(xdspec: Any) -> None:
    assert "Usage: xdspec run [OPTIONS]" in (await xdspec.run("run", "--help")).out


def test_the_former_name_of_a_command_is_not_listed() -> None:
    assert "judge" in main.commands
    listed = invoke("--help").output
    assert "  rejudge " in listed
    assert "  judge " not in listed


def test_a_new_client_is_for_the_doctor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = invoke("new-client", "other", "my client")
    assert made.exit_code == 0
    first = "write `adapter` as README.md says, then"
    assert made.output.endswith(f"Next: {first} xdspec doctor 'my client'\n")
    ended = invoke("doctor", "my client")
    assert ended.exit_code == 6
    assert "there is no program" in ended.output
    assert "see: README.md, The first program\n" in ended.output
    assert ended.output.endswith(
        "0 of 28 rules ok, 1 wrong, 24 to check, 3 not declared; next: hello\n"
    )


def test_a_folder_called_as_a_client_is_named_as_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert invoke("new-client", "go", "go").output.endswith("Next: xdspec doctor ./go\n")


@pytest.mark.parametrize("language", ["c++", "C#", "cobol", "other"])
def test_any_language_has_a_scaffold(language: str, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    ended = invoke("new-client", language, str(folder))
    assert ended.exit_code == 0
    there = "only the skeletons for go, java, node, python, rust have one."
    assert f"It has no program: {there}" in ended.output
    looked = invoke("doctor", str(folder)).output
    assert "needs nothing" not in looked
    assert f"mine          has no program yet: {folder}/adapter does not exist" in looked


def test_case_does_not_matter_in_the_name_of_a_language(tmp_path: Path) -> None:
    assert invoke("new-client", "Go", str(tmp_path / "mine")).exit_code == 0
    assert (tmp_path / "mine" / "adapter.go").is_file()


def test_languages_with_a_program_are_listed() -> None:
    ended = invoke("new-client")
    assert ended.exit_code == 0
    assert ended.output.split("\n")[:5] == ["go", "java", "node", "python", "rust"]


async def test_nothing_selected(xdspec: Any) -> None:
    words = ["--clause", "A42-RING-09", "--scenario", "header.*"]
    ended = await xdspec.run("run", CRASHER, *words, "--jobs", "1")
    assert ended.code == 5, ended.said
    assert "nothing ran" in ended.out
    assert ended.report["runs"][0]["scenarios"] == []


@pytest.mark.parametrize("number", ["slow", "0", "-1", "nan", "inf"])
@pytest.mark.parametrize("variable", ["XDSPEC_TIME_SCALE", "XDSPEC_SOAK"])
def test_a_number_that_is_none(variable: str, number: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, number)
    ended = invoke("run", CRASHER)
    assert variable in ended.output
    assert ended.exit_code == 4


def test_a_soak_that_is_too_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDSPEC_SOAK", "2.9")
    ended = invoke("run", CRASHER)
    assert "XDSPEC_SOAK is '2.9': set it to a number >= 3" in ended.output
    assert ended.exit_code == 4
