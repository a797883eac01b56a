"""The list of editions: by which wording a client is judged, and what is wrong with a bad list."""

import datetime as dt
import re
import shutil
from pathlib import Path

import pytest
from msgspec import structs

from client_under_test.manifests.clients import find
from conformance.spec.catalogue import (
    ENVOY,
    FOLDER,
    CatalogueError,
    Clause,
    Edition,
    Strength,
    edition_for,
    is_foreign,
    load,
)

WITHOUT_ROWS = [
    edition.id for edition in load().editions if edition.text == edition.id and not edition.areas
][:-1]
"""Texts of gRPC's that can be stated, and say nothing yet."""


def clause(new_in: str | None = None, clause_id: str = "A42-HASH-01", **wordings: str) -> Clause:
    return Clause(
        id=clause_id,
        document=clause_id.partition("-")[0],
        section="A heading",
        strength=Strength.MUST,
        title="a title",
        wordings={name.replace("_", "-"): text for name, text in wordings.items()},
        new_in=new_in,
        seen_by="A way to see it.",
    )


# The list as shipped.


def test_texts_stand_in_the_order_of_their_first_dates() -> None:
    # A62 is older than A61, and stands behind it. Nothing rewords a clause of both.
    begun: dict[str, dt.date] = {}
    for edition in load().editions:
        if edition.date is not None and edition.adds_to is None:
            begun.setdefault(edition.text, edition.date)
    late = begun.pop("A62")
    assert list(begun.values()) == sorted(begun.values())
    assert not [row for row in load() if {"A61", "A62"} <= set(row.wordings)]
    assert late < begun["A61"]


def test_a_text_is_younger_than_its_first_wording_and_older_than_what_was_added() -> None:
    editions = load().editions
    for edition in editions:
        now = editions[edition.text].date
        if edition.date is not None and now is not None:
            assert edition.date < now or not edition.first_wording_of, edition.id
            assert edition.date >= now or not edition.adds_to, edition.id


def test_envoys_ways_stand_last() -> None:
    *texts, last = load().editions
    assert last.id == ENVOY
    assert all(text.date and text.commit for text in texts)


def test_each_wording_can_be_read_where_it_is() -> None:
    editions = load().editions
    places = "https://github.com/grpc/proposal/blob"
    for edition in editions:
        link = editions.link(edition.id)
        assert link.startswith(f"{places}/{edition.commit}/{edition.text}-") or edition.id == ENVOY
    assert editions.link(ENVOY) == editions.link("A1") == ""


@pytest.mark.parametrize("document", WITHOUT_ROWS)
def test_a_document_without_rows_can_have_some(document: str, tmp_path: Path) -> None:
    folder = tmp_path / "catalogue"
    shutil.copytree(FOLDER, folder)
    base = document.lower()
    with_areas(folder, document, f"['{document}-ROW']")
    (folder / "a_topic").mkdir()
    (folder / "a_topic" / "rows.toml").write_text(
        f"section = 'A heading'\n"
        f"[{document}-ROW-01]\nstrength = 'MUST'\ntitle = 'a title'\n"
        f"{document} = 'A statement.'\nseen_by = 'A way to see it.'\n"
    )
    known = load(folder)
    row = known[f"{document}-ROW-01"]
    assert row in known.worded_by(document)
    assert row in known.only(base)
    assert known.editions.edition_for(row, {document}) == document
    assert known.editions.edition_for(row, {"A42", "envoy"}) is None


def only_a42(folder: Path) -> None:
    """Make the catalogue in a folder, with the rows of A42 and of what amends it alone."""
    shutil.copytree(FOLDER, folder)
    kept = {row.id for row in load() if "A42" in {row.document, row.amends}}
    for path in folder.glob("*/*.toml"):
        head, *rows = re.split(r"(?m)^(?=\[A\d+-)", path.read_text("utf-8"))
        mine = [row for row in rows if row[1 : row.index("]")] in kept]
        text = re.sub(r"(?m)^rests_on = 'A52-.*\n", "", "".join([head, *mine]))
        path.write_text(text, "utf-8")


def with_areas(folder: Path, text: str, areas: str) -> None:
    """Set the areas of an entry of the list."""
    documents = folder / "documents.toml"
    first, entry, rest = documents.read_text("utf-8").partition(f"id = '{text}'\n")
    assert entry
    own, others, more = rest.partition("[[edition]]")
    own = re.sub(r"(?m)^areas = .*\n", "", own)
    documents.write_text(f"{first}{entry}areas = {areas}\n{own}{others}{more}", "utf-8")


AGGREGATES = """
section = 'Proposal / Logical DNS'

[A37-DNS-01]
strength = 'MUST'
title = 'endpoints of LOGICAL_DNS'
A61-DNS = 'All addresses make one endpoint.'
A37 = 'Each address is an endpoint, balanced by pick_first.'
seen_by = 'A way to see it.'

[A37-AGG-01]
strength = 'MUST'
title = 'depth'
new_in = 'A37'
A37 = 'A graph is at most 16 deep.'
seen_by = 'A way to see it.'

[A37-AGG-02]
strength = 'MUST'
title = 'a cluster seen twice'
A37-2021 = 'It counts twice.'
A37 = 'It counts once.'
seen_by = 'A way to see it.'
"""


@pytest.mark.parametrize(
    ("clause_id", "follows", "expected"),
    [
        ("A37-DNS-01", {"A37"}, "A37"),
        ("A37-DNS-01", {"A37-2021"}, "A37"),
        ("A37-DNS-01", {"A37", "A61"}, "A37"),  # C-core 1.71: the addition came later
        ("A37-DNS-01", {"A37", "A61-2023", "A61-DNS"}, "A61-DNS"),  # Java 1.76 to 1.78
        ("A37-DNS-01", {"A61"}, None),
        ("A37-AGG-01", {"A37-2021", "A61-DNS"}, None),
        ("A37-AGG-01", {"A37"}, "A37"),
        ("A37-AGG-02", {"A37-2021"}, "A37-2021"),
        ("A37-AGG-02", {"A37"}, "A37"),
        ("A61-DNS-02", {"A37", "A61"}, None),
        ("A61-DNS-02", {"A37", "A61-DNS"}, "A61-DNS"),
    ],
)
def test_dated_wordings_and_additions_of_a_new_folder(
    tmp_path: Path, clause_id: str, follows: set[str], expected: str | None
) -> None:
    folder = tmp_path / "catalogue"
    only_a42(folder)
    (folder / "a_topic").mkdir()
    (folder / "a_topic" / "rows.toml").write_text(AGGREGATES)
    with_areas(folder, "A37", "['A37-AGG', 'A37-DNS']")
    with (folder / "ring_hash" / "endpoint_addresses.toml").open("a") as rows:
        rows.write(
            "\n[A61-DNS-02]\nstrength = 'MUST'\ntitle = 'policy of LOGICAL_DNS'\n"
            "A61-DNS = 'It is that of its Cluster.'\nseen_by = 'A way to see it.'\n"
        )
    known = load(folder)
    assert known.editions.edition_for(known[clause_id], follows) == expected
    assert known["A37-DNS-01"].editions == ("A37", "A61-DNS")
    added = {row.id for row in known.worded_by("A61-DNS")}
    assert added == {"A37-DNS-01", "A61-DNS-01", "A61-DNS-02"}
    assert added < {row.id for row in known.only("a61")}
    ids = list(known.clauses)
    assert ids.index("A37-AGG-02") < ids.index("A42-HASH-01")  # the order of the documents


# By which wording a client is judged.


@pytest.mark.parametrize(
    ("wordings", "new_in", "follows", "expected"),
    [
        ({"A42": "x"}, None, {"A42"}, "A42"),
        ({"A42": "x"}, None, {"A42-2021"}, "A42"),
        ({"A42": "x"}, "A42", {"A42-2021"}, None),
        ({"A42": "x"}, "A42", {"A42"}, "A42"),
        ({"A42_2021": "w", "A42": "x"}, None, {"A42-2021"}, "A42-2021"),
        ({"A42_2021": "w", "A42": "x"}, None, {"A42-2021", "A42"}, "A42"),
        ({"A42": "x", "A61": "y"}, None, {"A42"}, "A42"),
        ({"A42": "x", "A61": "y"}, None, {"A42", "A61", "A76"}, "A61"),
        ({"A42": "x", "A61": "y"}, None, {"A42", "A76"}, "A42"),
        ({"A42": "x", "A61": "y"}, None, {"A42-2021", "A61"}, "A61"),
        ({"A42": "x", "A61": "y", "A113": "z"}, None, ["A113", "A42", "A61"], "A113"),
        ({"A42": "x", "A61": "y"}, None, {"A42", "A61-2023"}, "A61"),
        ({"A42": "x", "A61_2023": "w", "A61": "y"}, None, {"A42", "A61-2023"}, "A61-2023"),
        ({"A42": "x", "A61_2023": "w", "A61": "y"}, None, {"A42", "A61"}, "A61"),
        ({"A61": "y"}, "A61", {"A42", "A61-2023"}, None),
        ({"A61": "y"}, None, {"A42", "A62"}, None),
        ({"A61": "y"}, None, {"A42", "A61"}, "A61"),
        ({"A61": "y"}, None, {"A42", "A61-DNS"}, None),
        ({"A42": "x", "envoy": "e"}, None, {"A42"}, "A42"),
        ({"A42": "x", "envoy": "e"}, None, {"A42", "envoy"}, "envoy"),
        ({"A42": "x"}, None, {"envoy"}, None),
        ({"A42": "x"}, None, set(), None),
        ({"A42": "x"}, None, {"A42", "A999"}, "A42"),
    ],
)
def test_edition_for(
    wordings: dict[str, str], new_in: str | None, follows: set[str], expected: str | None
) -> None:
    assert edition_for(clause(new_in, **wordings), follows) == expected


@pytest.mark.parametrize(
    ("clause_id", "follows", "expected"),
    [
        ("A76-KEY-01", {"A42", "A76"}, "A76"),
        ("A76-KEY-01", {"A42", "A76-KEY"}, "A76"),
        ("A76-KEY-01", {"A42", "A76-REQ"}, None),
        ("A76-REQ-01", {"A42", "A76-REQ"}, "A76"),
        ("A76-REQ-01", {"A42", "A76-KEY"}, None),
        ("A76-REQ-01", {"A42", "A76-KEY", "envoy"}, None),
    ],
)
def test_a_part_of_a_text_has_its_own_clauses(
    clause_id: str, follows: set[str], expected: str | None
) -> None:
    assert edition_for(load()[clause_id], follows) == expected


def test_a_part_may_span_several_areas() -> None:
    timer, data, errors = (
        clause(clause_id=f"A88-{area}-01", A88="x") for area in ("TIMER", "DATA", "ERR")
    )
    assert [edition_for(edition, {"A88-XDS"}) for edition in (timer, data, errors)] == [
        "A88",
        "A88",
        None,
    ]
    assert edition_for(errors, {"A88"}) == "A88"


def test_the_parts_of_a_text_make_the_whole() -> None:
    keys, header, whole = (load().worded_by(edition) for edition in ("A76-KEY", "A76-REQ", "A76"))
    assert keys
    assert header
    assert (*keys, *header) == whole


def test_what_is_grpcs_alone_is_foreign_to_envoys_edition() -> None:
    alone = structs.replace(clause(A42="x", A61="y"), grpc_only="There is none.")
    assert edition_for(alone, {"A42", "A61"}) == "A61"
    assert edition_for(alone, {"A42", "envoy"}) is None
    assert [is_foreign(alone, follows) for follows in ({"A42"}, {"A42", "envoy"})] == [False, True]
    assert not is_foreign(clause(A42="x"), {"A42", "envoy"})


@pytest.mark.parametrize(
    ("clause_id", "seed_2021", "seed", "modern"),
    [
        ("A42-HASH-16", "A42-2021", "A42", "A42"),
        ("A42-HDR-07", None, "A42", "A42"),
        ("A42-LOC-07", "A42", "A42", "A113"),
        ("A42-CDS-25", None, "A42", "A75"),
        ("A76-KEY-01", None, None, "A76"),
    ],
)
def test_editions_of_the_reference_clients(
    clause_id: str, seed_2021: str | None, seed: str | None, modern: str | None
) -> None:
    row, manifest = load()[clause_id], find("reference").manifest
    variants = ("seed-2021", "seed", "modern")
    stated = [manifest.editions_of("1.0.0", variant) for variant in variants]
    assert [edition_for(row, edition) for edition in stated] == [seed_2021, seed, modern]


# Broken lists: one sentence that names the edition.

GIVEN = """
[[edition]]
id = 'A42-2021'
first-wording-of = 'A42'
brings = 'a ring, as first written'
date = 2021-06-09
commit = '1111111111111111111111111111111111111111'

[[edition]]
id = 'A42'
brings = 'a ring'
date = 2023-09-07
commit = '2222222222222222222222222222222222222222'
amends = 'A42'
areas = ['A42-HASH']

[[edition]]
id = 'A42-KEY'
part-of = 'A42'
areas = ['A42-KEY']
brings = 'half a ring'
date = 2023-09-07
commit = '2222222222222222222222222222222222222222'

[[edition]]
id = 'envoy'
brings = 'another ring'
"""


@pytest.mark.parametrize(
    ("what", "instead", "says"),
    [
        ("brings = 'a ring'\n", "", "A42: Object missing required field `brings`."),
        ("amends =", "amneds =", "A42: Object contains unknown field `amneds`."),
        ("id = 'A42'\n", "id = 'A42'\nadds-to = 'A61'\n", "A42-2021: A42 is not a whole text of"),
        ("id = 'A42-KEY'", "id = 'A42'", "the list: each edition must have one entry."),
        ("id = 'A42-KEY'", "id = 'A42-key'", "A42-key: Expected `str` matching regex"),
        ("part-of = 'A42'", "part-of = 'A43'", "A42-KEY: A43 is not a whole text of the list."),
        ("part-of =", "adds-to =", "A42-KEY: only a whole text and an edition with `part-of` have"),
        ("areas = ['A42-KEY']\n", "", "A42-KEY: an edition with `part-of` needs `areas`."),
        ("'A42-HASH'", "'A43-HASH'", "A42: the areas of a text start with A42-."),
        ("amends = 'A42'", "amends = 'A43'", "A42: A43 is not a whole text of the list."),
        (
            "areas = ['A42-KEY']",
            "adds-to = 'A42'\nareas = ['A42-KEY']",
            "A42-KEY: at most one of first-wording-of, part",
        ),
        (
            "part-of =",
            "amends = 'A42'\npart-of =",
            "A42-KEY: `amends` belongs to the entry of A42.",
        ),
        (
            "part-of =",
            "page = 'A42-b.md'\npart-of =",
            "A42-KEY: `page` belongs to the entry of A42.",
        ),
        ("['A42-HASH']", "['A42-B', 'A42-B']", "A42: an area must appear in the list once."),
        ("date = 2021-06-09\n", "", "A42-2021: every edition but Envoy's needs `date` and"),
        ("commit = '1111", "commit = 'HEAD", "A42-2021: Expected `str` matching regex"),
        ("[[edition]]\nid = 'A42-2021'", "[edition]\nid = 'A42-2021'", ""),
    ],
)
def test_a_bad_entry_is_named(tmp_path: Path, what: str, instead: str, says: str) -> None:
    assert GIVEN.count(what) == 1
    (tmp_path / "documents.toml").write_text(GIVEN.replace(what, instead))
    with pytest.raises(CatalogueError) as raised:
        load(tmp_path)
    assert str(raised.value).startswith(f"documents.toml, {says}" if says else "documents.toml: ")
    assert "\n" not in str(raised.value)


def test_entries_in_the_wrong_order_are_named(tmp_path: Path) -> None:
    first, text, part, envoy = ("[[edition]]" + table for table in GIVEN.split("[[edition]]")[1:])
    for listed, says in (
        ([text, first, part, envoy], "A42-2021: the entry must come before A42."),
        ([first, part, text, envoy], "A42-KEY: the entry must come after A42."),
        ([first, text, envoy, part], "envoy: Envoy's entry must be the last."),
    ):
        load.cache_clear()
        (tmp_path / "documents.toml").write_text("\n".join(listed))
        with pytest.raises(CatalogueError) as raised:
            load(tmp_path)
        assert str(raised.value) == f"documents.toml, {says}"


@pytest.mark.parametrize("text", ["edition = 1", "amends = 'A42'", ""])
def test_a_list_of_something_else(tmp_path: Path, text: str) -> None:
    (tmp_path / "documents.toml").write_text(text)
    with pytest.raises(CatalogueError) as raised:
        load(tmp_path)
    expected = "documents.toml: only [[edition]] tables are allowed."
    assert str(raised.value) == expected


def test_a_relation_in_words() -> None:
    assert load().editions["A61-DNS"].relation == "addition to A61"
    assert Edition(id="A61", brings="x").relation == ""
