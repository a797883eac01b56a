"""The catalogue as shipped, and what its loader says about broken ones."""

import re
from pathlib import Path

import pytest

from conformance.runner.collection import scenarios
from conformance.spec.catalogue import ENVOY, CatalogueError, Strength, UnknownClause, load

DOCUMENTS = f"""
[[edition]]
id = 'A42-2021'
first-wording-of = 'A42'
brings = 'a ring, as first written'
date = 2021-06-09
commit = '{"1" * 40}'

[[edition]]
id = 'A42'
brings = 'a ring'
date = 2023-09-07
commit = '{"2" * 40}'
areas = ['A42-HASH']

[[edition]]
id = 'A61'
brings = 'endpoints of several addresses'
date = 2023-12-15
commit = '{"3" * 40}'

[[edition]]
id = 'envoy'
brings = 'another ring'
"""

ROW = """
[A42-HASH-01]
strength = 'MUST'
title = 'a title'
A42 = 'A statement.'
seen_by = 'A way to see it.'
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A catalogue of one file with one row."""
    (tmp_path / "ring_hash").mkdir()
    (tmp_path / "documents.toml").write_text(DOCUMENTS)
    write(tmp_path, ROW)
    return tmp_path


def write(folder: Path, rows: str, head: str = "section = 'A heading'\n") -> None:
    (folder / "ring_hash" / "hash.toml").write_text(head + rows)


def complaint(folder: Path) -> str:
    with pytest.raises(CatalogueError) as raised:
        load(folder)
    return str(raised.value)


# The catalogue as shipped.


def test_every_row_says_how_it_is_seen_or_why_not() -> None:
    for row in load():
        assert bool(row.seen_by) != bool(row.unobservable), row.id


def test_ids_are_well_formed_and_begin_with_their_document() -> None:
    for row in load():
        assert re.fullmatch(rf"{row.document}-[A-Z]+-\d\d", row.id), row.id


def test_wordings_are_whole_sentences_of_known_editions() -> None:
    for row in load():
        assert set(row.wordings) <= set(load().editions.wordings), row.id
        assert load().editions.of_text(row.document) & row.wordings.keys(), row.id
        said = (*row.wordings.values(), row.seen_by, row.unobservable, row.grpc_only)
        for sentence in said:
            assert sentence is None or re.fullmatch(r"[A-Z\d][^\n]{9,239}\.", sentence), row.id


def test_titles_are_short_phrases_and_tell_clauses_apart() -> None:
    first: dict[str, str] = {}
    for row in load():
        assert len(row.title) <= 72, f"{row.id}: {row.title}"
        assert not row.title.endswith("."), f"{row.id}: {row.title}"
        other = first.setdefault(row.title, row.id)
        assert other == row.id, f"{row.id} has the title of {other}: {row.title}"


STRICT = {"A42", "A52"}
"""Documents whose titles, and those of what amends them, are all rules or questions. Their bases
have one form."""

BASIS = re.compile(
    r"(?:(?:A\d+|xDS API|xDS protocol|Envoy documentation|RE2), [^:]+|gRPC [\w -]+(?:, [^:]+)?)"
    r": \S[^\n]{9,420}\."
)


def test_each_strength_names_its_source() -> None:
    """Document, section, and the sentence in our words; a copy of the API has its date."""
    for row in load():
        if row.strength in {Strength.MUST, Strength.SHOULD}:
            assert row.basis, f"{row.id}: say by which sentence it is a {row.strength}"
            in_form = {row.document, row.amends}.isdisjoint(STRICT) or BASIS.fullmatch(row.basis)
            assert in_form, f"{row.id}: {row.basis}"
            dated = not row.basis.startswith("xDS API") or re.search(r"\(\d{4}-\d\d", row.basis)
            assert dated, f"{row.id}: name the date of the copy of the xDS API"


def test_titles_state_what_a_client_does_or_ask() -> None:
    """Read next to PASS and FAIL they are a rule; next to what was seen, a question."""
    for row in load():
        if {row.document, row.amends} & STRICT:
            asks = re.match(r"How|What|Which|In which", row.title) is not None
            is_open = row.strength in {Strength.MAY, Strength.UNSPECIFIED}
            assert row.title[0].isupper(), f"{row.id}: {row.title}"
            assert asks is is_open, f"{row.id} ({row.strength}): {row.title}"


def test_titles_name_the_editions_that_differ() -> None:
    """A reader of `fail` must see which behavior which edition requires."""
    for row in load():
        named = re.findall(r"\((A\d+)\)", row.title)
        assert set(named) <= set(row.wordings), f"{row.id}: {row.title}"
        assert len(named) != 1, f"{row.id}: name the other edition, too"
        assert "edition" not in row.title, f"{row.id}: {row.title}"


def test_no_wording_repeats_that_of_an_earlier_edition() -> None:
    for row in load():
        own = [row.wordings[edition] for edition in row.editions if edition != ENVOY]
        assert len(set(own)) == len(own), row.id


def test_rows_of_an_area_are_in_the_order_of_their_numbers() -> None:
    last: dict[tuple[str, str], str] = {}
    for row_id, file in load().files.items():
        before = last.get((file, row_id[:-2]), "")
        assert before < row_id, f"{file}: move {row_id} before {before}"
        last[file, row_id[:-2]] = row_id


def test_order_of_the_texts_is_kept() -> None:
    ids = [row.id for row in load()]
    assert ids.index("A42-HASH-01") < ids.index("A42-HASH-19") < ids.index("A42-CDS-01")
    assert ids.index("A42-CDS-01") < ids.index("A42-RING-01") < ids.index("A56-TIMER-01")


def test_each_row_is_decided_or_says_what_it_awaits() -> None:
    """A clause that no scenario decides is in no report: nobody may take it for one that holds."""
    decided = {each for scenario in scenarios().values() for each in scenario.clauses}
    wrong = [
        f"{row.id}: a scenario decides it, so take `awaits` away."
        if row.awaits
        else f"{row.id}: no scenario decides it: write one, or what it `awaits`."
        for row in load()
        if row.seen_by and (row.id in decided) == bool(row.awaits)
    ]
    assert not wrong


# Look-ups.


def test_a_clause_is_found_by_its_id() -> None:
    assert load()["A42-HASH-16"].id == "A42-HASH-16"
    assert "A42-HASH-16" in load()
    assert "A42-HASH-99" not in load()


def test_an_unknown_id_draws_a_near_one() -> None:
    with pytest.raises(UnknownClause, match=r"no clause a42-hash-16: did you mean A42-HASH-16\?"):
        load()["a42-hash-16"]


def test_a_grfc_has_its_own_clauses_and_those_that_amend_it() -> None:
    a42 = load().only("a42")
    assert all("A42" in (row.document, row.amends) for row in a42)
    assert {row.document for row in a42} >= {"A42", "A61", "A76"}
    assert load().only("a38") == ()


def test_an_amendment_has_its_own_clauses_and_its_rewordings() -> None:
    a61 = load().only("A61")
    assert {row.document for row in a61} == {"A37", "A42", "A61"}  # A61-DNS rewords one of A37
    assert all({"A61", "A61-DNS", "A61-SESSION"} & row.wordings.keys() for row in a61)


def test_the_version_follows_what_is_said_and_not_how_it_is_written(folder: Path) -> None:
    first = load(folder).version
    write(folder, "# A comment.\n" + ROW)
    load.cache_clear()
    assert load(folder).version == first
    write(folder, ROW.replace("A statement", "Another statement"))
    load.cache_clear()
    assert load(folder).version != first


# Broken catalogues: one sentence that names the file and the row.


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (
            ROW.replace("MUST", "MIGHT"),
            "ring_hash/hash.toml, A42-HASH-01: Invalid enum value 'MIGHT'",
        ),
        (ROW.replace("title", "tilte"), "ring_hash/hash.toml, A42-HASH-01: .*`tilte`"),
        (ROW.replace("A42 =", "A43 ="), "ring_hash/hash.toml, A42-HASH-01: no edition .*`A43`"),
        (ROW + "A61-dns = 'A.'", "ring_hash/hash.toml, A42-HASH-01: no edition .*`A61-dns`"),
        (ROW.replace("A42 =", "A61 ="), "ring_hash/hash.toml, A42-HASH-01: the wording of A42"),
        (ROW.replace("-HASH-01", "-hash-1"), "ring_hash/hash.toml, A42-hash-1: the id must look"),
        (
            ROW.replace("[A42-", "[A61-"),
            "ring_hash/hash.toml, A61-HASH-01: .* A61-HASH in the `areas`",
        ),
        (ROW.replace("[A42-", "[A43-"), "ring_hash/hash.toml, A43-HASH-01: .* no document A43"),
        (ROW + "document = 'A42'", "ring_hash/hash.toml, A42-HASH-01: leave `document` out"),
        (ROW + "amends = 'A42'", "ring_hash/hash.toml, A42-HASH-01: leave `amends` out"),
        (ROW.replace("seen_by", "basis"), "ring_hash/hash.toml, A42-HASH-01: a row needs either"),
        (ROW + "unobservable = 'No.'", "ring_hash/hash.toml, A42-HASH-01: a row needs either"),
        (
            ROW.replace("seen_by", "unobservable") + "awaits = 'more'",
            "ring_hash/hash.toml, A42-HASH-01: a row with `unobservable` cannot have `awaits`",
        ),
        (
            ROW + "envoy = 'E.'\ngrpc_only = 'W.'",
            "ring_hash/hash.toml, A42-HASH-01: a row with `grpc_only`",
        ),
        (ROW + "open_in = ['A61']", "ring_hash/hash.toml, A42-HASH-01: `open_in` must name"),
        (ROW + "superseded_in = ['A42']", "ring_hash/hash.toml, A42-HASH-01: `superseded_in` must"),
        (ROW + "superseded_in = ['A42-2021']", "ring_hash/hash.toml, A42-HASH-01: `superseded_in`"),
        (ROW + "new_in = 'A61'", "ring_hash/hash.toml, A42-HASH-01: `new_in` must be"),
        (ROW.replace("'A statement.'", "5"), "ring_hash/hash.toml, A42-HASH-01: Expected `str`"),
        (ROW + ROW, "ring_hash/hash.toml: Cannot declare .*A42-HASH-01"),
        ("= 1", "ring_hash/hash.toml: Invalid statement"),
    ],
)
def test_a_bad_row_is_named(folder: Path, rows: str, expected: str) -> None:
    write(folder, rows)
    found = complaint(folder)
    assert re.match(expected, found), found
    assert "\n" not in found


def test_an_id_taken_in_another_file_is_named(folder: Path) -> None:
    (folder / "ring_hash" / "more.toml").write_text("section = 'A heading'\n" + ROW)
    assert complaint(folder) == (
        "ring_hash/more.toml, A42-HASH-01: ring_hash/hash.toml has a row with this id."
    )


def test_rows_of_one_text_are_in_its_order_whatever_their_files(folder: Path) -> None:
    documents = (folder / "documents.toml").read_text()
    areas = documents.replace("['A42-HASH']", "['A42-RING', 'A42-HASH']")
    (folder / "documents.toml").write_text(areas)
    (folder / "eds").mkdir()
    for file, area in (
        ("ring_hash/hash", "HASH-02"),
        ("ring_hash/z", "RING-01"),
        ("eds/a", "HASH-01"),
    ):
        text = "section = 'A heading'\n" + ROW.replace("HASH-01", area)
        (folder / f"{file}.toml").write_text(text)
    read = load(folder)
    assert [row.id for row in read] == ["A42-RING-01", "A42-HASH-01", "A42-HASH-02"]
    assert read.files["A42-HASH-01"] == "eds/a.toml"


def test_a_row_may_have_another_heading_than_its_file(folder: Path) -> None:
    write(folder, ROW + "section = 'Another heading'\n" + ROW.replace("-01", "-02"))
    assert [row.section for row in load(folder)] == ["Another heading", "A heading"]
