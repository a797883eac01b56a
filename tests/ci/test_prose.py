"""The guard of prose: the texts that it reads, and the habits that it finds."""

from __future__ import annotations

import pytest

from ci.prose import (
    HABITS,
    Text,
    bad_subjects,
    habits,
    hits,
    of_page,
    of_python,
    of_template,
    of_toml,
    texts,
    vague_names,
)

KNOWN = habits(HABITS.read_text("utf-8"))
ROOT = HABITS.parents[1]


def found(text: str) -> list[str]:
    return [match.habit.name for match in hits([Text("x", 1, text)], KNOWN)]


@pytest.mark.parametrize(
    ("text", "habit"),
    [
        ("Who asks for nothing has nothing to answer.", "bare who"),
        ("The client is told of it.", "told"),
        ("It fails nobody.", "somebody"),
        ("Of all hashes, the first.", "fronted of"),
        ("Reports are held against the backends.", "verb of no field"),
        ("A file is to be read first.", "is to"),
        ("Whether it holds.", "whether without a verb"),
        ("The same, but with errors.", "the same"),
        ("It begins anew.", "old word"),
        ("It keeps a shelf of builds.", "metaphor"),
        ("So many calls.", "so many"),
        ("The user says what he wants.", "he"),
        ("The behaviour of a client.", "British spelling"),
    ],
)
def test_each_habit_is_found(text: str, habit: str) -> None:
    assert habit in found(text)


def test_every_habit_has_an_example_here() -> None:
    marks = test_each_habit_is_found.pytestmark  # type: ignore[attr-defined]
    (table,) = (mark.args[1] for mark in marks if mark.name == "parametrize")
    assert {habit for _, habit in table} == {habit.name for habit in KNOWN}


@pytest.mark.parametrize(
    "text",
    [
        "The client subscribes to the cluster and ACKs the response.",
        "Who uses it? A maintainer of gRPC.",
        "Of course it holds.",
        "Return whether the client conforms.",
    ],
)
def test_good_prose_has_none(text: str) -> None:
    assert found(text) == []


def test_a_page_is_read_without_code_and_generated_parts() -> None:
    page = (
        "# Who reads\n\n```sh\nwho is told\n```\n\n<!-- begin generated x -->\nnobody\n"
        "<!-- end generated x -->\n\nIt is `nobody` who\nis told.\n"
    )
    said = [(text.line, text.text) for text in of_page("p.md", page)]
    assert said == [(1, "Who reads"), (11, "It is `…` who"), (12, "is told.")]


def test_a_module_is_read_with_its_docstrings_and_messages() -> None:
    module = 'def f(x):\n    """Say it to nobody.\n\n    More of it here.\n    """\n'
    module += '    raise E(f"the file {x} is told of")\n\nNAME = "a name"\n'
    said = [(text.line, text.text) for text in of_python("m.py", module) if text.text]
    assert said == [
        (2, "Say it to nobody."),
        (4, "More of it here."),
        (6, "the file … is told of"),
    ]


def test_rows_of_a_catalogue_are_read() -> None:
    row = '[A42-X-01]\nsection = "nobody"\ntitle = "one"\nA42-2021 = "two"\nenvoy = "three"\n'
    found = [(text.line, text.text) for text in of_toml("r.toml", row)]
    assert found == [(3, "one"), (4, "two"), (5, "three")]


def test_texts_of_a_template_are_read() -> None:
    page = '<h1 title="x">{{ name }} is told</h1>{% if more %}<p>A &lt; B</p>\n{% endif %}\n'
    found = [(text.line, text.text) for text in of_template("t.html", page)]
    assert found == [(1, "… is told"), (1, "A < B")]


def test_comments_of_a_module_are_read() -> None:
    said = [(text.line, text.text) for text in of_python("m.py", "A = 1  # nobody\n# reads it\n")]
    assert said == [(1, "nobody"), (2, "reads it")]


@pytest.mark.parametrize(
    ("subject", "wrong"),
    [
        ("Group failures by what they have in common", False),
        ("x" * 73, True),
        ("cli: group failures", True),
        ("fix(run): group failures", True),
        ("Name the folder of --out: it may be missing", False),
    ],
)
def test_subjects_of_commits(subject: str, *, wrong: bool) -> None:
    assert bool([*bad_subjects([subject])]) is wrong


def test_all_prose_is_read() -> None:
    paths = {text.path for text in texts(ROOT)}
    wanted = (
        "README.md",
        "conformance/cli/options.py",
        "conformance/spec/catalogue/ring_hash/ring.toml",
        "client_under_test/adapters/go/expected.toml",
        "conformance/reporting/pages/templates/index.html",
    )
    assert paths.issuperset(wanted)


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("sum(one for one in calls)", [1]),
        ("for one in calls:\n    pass", [1]),
        ("\none = calls[0]", [2]),
        ("def f(one: int) -> int:\n    return g(lambda one: one)", [1, 2]),
        ("for call in calls:\n    print(call, 'one', this.one, f(one=1))", []),
    ],
)
def test_variables_are_named_for_what_they_hold(code: str, lines: list[int]) -> None:
    assert [int(said.split(":")[1]) for said in vague_names("m.py", code)] == lines
