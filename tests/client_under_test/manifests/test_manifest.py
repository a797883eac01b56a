from __future__ import annotations

from pathlib import Path

import pytest

from client_under_test.contract.exceptions import (
    BadManifest,
    NoSuchVersion,
    UnknownClient,
    UnknownKnob,
)
from client_under_test.manifests.clients import built_in, find
from client_under_test.manifests.manifest import Manifest
from client_under_test.manifests.manifest_file import parse, read

UNKNOWN = "unknown key"

GOOD = """
name = "some"
issues = "https://example.com/issues"
capabilities = ["metadata", "watch"]

[python]
distribution = "somepc"

[start]
command = ["{python}", "{folder}/adapter.py"]

[knobs]
ring_size_cap = { option = "ring.cap" }
failover_timeout_ms = { environment = "FAILOVER" }

[[editions]]
follows = ["A42"]

[[editions]]
versions = ">=1.59,<2"
follows = ["A61"]

[[ring-key-formats]]
versions = ">=1.59"
format = "ip:port_i"

[[choices]]
versions = ">=1.61"
clause = "A42-HDR-05"
choice = "the last"

[[choices]]
clause = "A42-HDR-05"
choice = "the first"

[variants.old]
environment = { GUARD = "false" }
versions = ">=1.60"
follows-also = ["A76"]
follows-not = ["A61"]
"""


def some(text: str = GOOD) -> Manifest:
    return parse(text.encode(), Path("some/client.toml"))


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('name = "some"', "", "the key `name` is missing"),
        ('name = "some"', "name = 1.5", "name: write it in quotes (expected `str`, got `float`)"),
        (
            'name = "some"',
            'name = "a b"',
            "name: write letters, digits, `.`, `_` and",
        ),
        ('"watch"]', '"fly"]', "capabilities[1]: invalid enum value 'fly': there are "),
        ('"watch"]', '"watch"', "the file is not TOML"),
        ("https:", "ftp:", "issues: write an address that begins with https:// or"),
        ("[python]", "[pythno]", "unknown key `pythno`: did you mean `python`?"),
        (
            "[knobs]",
            '[source]\nof = "a program"\nstart-environment = { A = "{source}" }\n[knobs]',
            "source: a program needs inspect, which prints its version",
        ),
        (
            "[knobs]",
            (
                '[source]\nof = "a program"\ninspect = ["a"]\n'
                'start-environment = { A = "{output}/a" }\n[knobs]'
            ),
            "source.start-environment.A: {output} is unknown here: there are {source}",
        ),
        (
            '[python]\ndistribution = "somepc"',
            (
                'version = "1"\n[build]\ncommand = ["a"]\n[source]\nof = "a"\ninspect = ["a"]\n'
                'build = ["a"]\nstart-environment = { A = "{source}" }'
            ),
            "source.start-environment: only for a client without a [build] table",
        ),
        (
            '[python]\ndistribution = "somepc"',
            'version = "1"\n[source]\nof = "a folder"',
            "source: only for a client with a [python] or a [build] table, or with start-",
        ),
        (
            "issues =",
            'versions = ">1"\nissues =',
            f"{UNKNOWN} `versions`: did you mean `variants` or `version`? `versions` belongs",
        ),
        (
            "[start]",
            '[start]\ndialect = "envoy"',
            f"start: {UNKNOWN} `dialect`: `dialect` belongs at the top, before the first [table]",
        ),
        (
            "[start]",
            "[start]\nring_size_cap = {}",
            f"start: {UNKNOWN} `ring_size_cap`: `ring_size_cap` belongs under [knobs]",
        ),
        (
            "[start]",
            '[start]\nversion = "1"',
            f"start: {UNKNOWN} `version`: `version` belongs at the top, before the first [table]",
        ),
        ('distribution = "somepc"', "distribution = 3", "python.distribution: write it in quotes"),
        ("[start]", 'version = "1.x"\n[start]', "python.version: 1.x is not a version such as"),
        (
            "[start]",
            'with = ["grpcio"]\n[start]',
            "python.with[0]: write a distribution and",
        ),
        ("issues =", 'dialect = "x"\nissues =', "dialect: invalid enum value 'x': there are envoy"),
        ('["{python}", "{folder}/adapter.py"]', "[]", "start.command: expected `array` of length"),
        ("{folder}/", "{fodler}/", "start.command: {fodler} is unknown here: there are {folder}"),
        ("{folder}/", "{output}/", "start.command: {output} is unknown here"),
        ("[start]", "[start]\nreads-late = []", "start.reads-late: only for what is started by"),
        ('option = "ring.cap"', "", "knobs.ring_size_cap: give either option or environment"),
        (
            "ring_size_cap",
            "ring_size",
            "knobs: invalid enum value 'ring_size': there are",
        ),
        ('["A61"]\n\n[[ring', "[61]\n\n[[ring", "editions[1].follows[0]: write it in quotes"),
        ('{ option = "ring.cap" }', '"x"', "knobs.ring_size_cap: expected `object`, got `str`"),
        (
            "follows-also",
            "follows",
            "variants.old: unknown key `follows`: did you mean `follows-also`",
        ),
        (
            'option = "ring.cap"',
            "x = 1",
            "knobs.ring_size_cap: unknown key `x`: there are option, environment",
        ),
        (
            'GUARD = "false"',
            "X = 'a', GUARD = 1",
            "variants.old.environment.GUARD: write it in",
        ),
        (">=1.59,<2", "1.59 or so", "editions[1].versions: 1.59 or so is not a range"),
        ('>=1.60"', '=1.60"', "variants.old.versions: =1.60 is not a range"),
        ("issues =", 'version = "1"\nissues =', "version: needed if there is no [python] table"),
        ('[python]\ndistribution = "somepc"', "", "version: needed if there is no [python] table"),
        (
            '[python]\ndistribution = "somepc"',
            '[build]\ncommand = ["make", "{place}"]',
            "version: needed if there is no [python] table",
        ),
        (
            "[start]",
            '[build]\ncommand = ["make"]\n[start]',
            "build: a client has either a [python]",
        ),
    ],
)
def test_a_bad_manifest_is_told_in_one_sentence(old: str, new: str, sentence: str) -> None:
    assert old in GOOD
    with pytest.raises(BadManifest) as bad:
        some(GOOD.replace(old, new, 1))
    assert str(bad.value).startswith(f"some/client.toml: {sentence}")
    assert "\n" not in str(bad.value)


def test_placeholders_of_a_build_are_checked() -> None:
    built = GOOD.replace('[python]\ndistribution = "somepc"', "").replace(
        "[start]", '[build]\ncommand = ["make", "{place}"]\n[start]'
    )
    with pytest.raises(BadManifest, match=r"build.command: \{place\} is unknown here"):
        some(f'version = "1"\n{built}')


def test_the_version_of_a_tool_is_one() -> None:
    tool = '[[build.tools]]\nprogram = "make"\nget = "get it"\nat-least = "new"\n'
    built = GOOD.replace('[python]\ndistribution = "somepc"', "").replace(
        "[start]", f'[build]\ncommand = ["make"]\n{tool}[start]'
    )
    with pytest.raises(BadManifest, match=r"build.tools: new is not a version such as 1\.70"):
        some(f'version = "1"\n{built}')


@pytest.mark.parametrize(
    ("version", "variant", "editions"),
    [
        ("1.58.3", None, ("A42",)),
        ("1.59.0", None, ("A42", "A61")),
        ("1.59.0rc1", None, ("A42",)),
        ("1.60.1", None, ("A42", "A61")),
        ("1.60.1", "old", ("A42", "A76")),
        ("2.0.0", None, ("A42",)),
    ],
)
def test_editions_are_by_version_and_variant(
    version: str, variant: str | None, editions: tuple[str, ...]
) -> None:
    assert some().editions_of(version, variant) == editions


STATED = """
[[editions]]
versions = ">=1.61"
follows = ["A75"]

[editions.evidence]
at = "https://example.com/notes"
says = "aggregate clusters"
since = "1.61.0"
"""


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            ">=1.61",
            ">=1.60",
            r"editions\[2\].versions: the evidence is for >=1\.61\.0",
        ),
        (">=1.61", "!=1.61", None),  # from the oldest on, which a [python] table does not tell
        ("1.61.0", "of late", r"evidence.since: of late is not a version such as"),
        ('says = "aggregate clusters"', "", r"editions\[2\].evidence: .*`says`"),
        ("https:", "see:", r"editions\[2\].evidence.at: write an address that begins"),
    ],
)
def test_what_is_stated_begins_where_its_evidence_does(
    old: str, new: str, sentence: str | None
) -> None:
    assert some(GOOD + STATED).editions_of("1.61.0") == ("A42", "A61", "A75")
    changed = GOOD + STATED.replace(old, new)
    if sentence is None:
        some(changed)
        return
    with pytest.raises(BadManifest, match=sentence):
        some(changed)


def test_evidence_may_be_older_than_the_oldest_release_that_can_be_had() -> None:
    built = GOOD.replace('[python]\ndistribution = "somepc"', "").replace(
        "[start]", '[build]\ncommand = ["make", "{version}"]\nversions = ">=1.64"\n[start]'
    )
    everywhere = STATED.replace('versions = ">=1.61"\n', "")
    assert some(f'version = "2"\n{built}{everywhere}').editions_of("2") == ("A42", "A75")
    with pytest.raises(BadManifest, match=r"the evidence is for >=1\.65"):
        some(f'version = "2"\n{built}{everywhere.replace("1.61.0", "1.65")}')


def test_a_variant_may_be_younger_than_a_version() -> None:
    with pytest.raises(NoSuchVersion, match=r"variant old of some is for versions >=1\.60"):
        some().editions_of("1.59.1", "old")


def test_ring_keys_are_by_version() -> None:
    assert some().ring_key_format_of("1.58.0") is None
    assert some().ring_key_format_of("1.59.0") == "ip:port_i"


def test_choices_are_by_version_and_the_first_table_that_fits_holds() -> None:
    assert some().choices_of("1.60.0") == {"A42-HDR-05": "the first"}
    assert some().choices_of("1.61.0") == {"A42-HDR-05": "the last"}


def test_knobs_are_passed_as_the_manifest_says() -> None:
    passed = some().pass_knobs({"ring_size_cap": 8192, "failover_timeout_ms": 500})
    assert passed.options == {"ring.cap": 8192}
    assert passed.environment == {"FAILOVER": "500"}


def test_a_knob_that_is_not_offered() -> None:
    with pytest.raises(
        UnknownKnob,
        match="client some has no knob max_backoff_ms: it offers failover_timeout_ms, ring_size",
    ):
        some().pass_knobs({"max_backoff_ms": 1})


def test_a_folder_without_a_manifest(tmp_path: Path) -> None:
    with pytest.raises(BadManifest, match="cannot be read: No such file"):
        read(tmp_path)


@pytest.mark.parametrize("name", built_in())
def test_built_in_manifests_are_good(name: str) -> None:
    assert find(name).name == name


@pytest.mark.parametrize(
    ("suffix", "version", "variant"),
    [
        ("", None, None),
        ("@1.58.3", "1.58.3", None),
        ("+old", None, "old"),
        ("@1.58.3+old", "1.58.3", "old"),
    ],
)
def test_names(tmp_path: Path, suffix: str, version: str | None, variant: str | None) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "client.toml").write_text(GOOD)
    client = find(f"{place}{suffix}")
    assert (client.name, client.version, client.variant) == ("some", version, variant)
    assert client.folder == place
    assert str(client) == f"some{suffix}"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nobody", "there is no client nobody: did you mean node? Name one of "),
        ("nobody@1.2", "there is no client nobody"),
        ("no/where", "there is no client no/where"),
        ("", "a client needs a name"),
        ("python+nothing", "client python has no variant nothing"),
        (".", "the folder . has no client.toml"),
    ],
)
def test_names_that_stand_for_nothing(name: str, sentence: str) -> None:
    with pytest.raises(UnknownClient) as unknown:
        find(name)
    assert str(unknown.value).startswith(sentence)


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(BadManifest, match=r"client.toml: the file is not UTF-8 \(at line 2\)"):
        parse(b'# nothing\nname = "\xff"', Path("some/client.toml"))


def test_a_field_that_stands_in_another_table_is_told_where() -> None:
    with pytest.raises(BadManifest) as bad:
        some(GOOD.replace("issues =", 'versions = ">1"\nissues ='))
    assert str(bad.value).endswith(
        "`versions` belongs under [build], [[editions]], [[ring-key-formats]], [[choices]], "
        "[variants.NAME]"
    )


def test_what_is_waited_for_names_the_sources() -> None:
    client = find("go")
    built = client.built_from(Path("grpc-go"))
    assert built.preparation == "building go@source from grpc-go (a first build takes minutes)"
    assert client.preparation == "building or installing go"
