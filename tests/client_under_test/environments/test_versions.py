"""Which version of a client is used: kept, pinned, or the newest of an index."""

import os
import time
from pathlib import Path

import pytest

from client_under_test.contract.exceptions import (
    BuildFailed,
    NoSuchVersion,
    NoWheel,
)
from client_under_test.environments import (
    environments,
    installer,
    prepare,
)
from client_under_test.environments.installer import IndexNotReached
from client_under_test.manifests.clients import find
from tests.client_under_test.environments.built_client import MAKE, client_folder

ENVIRONMENT = """
name = "some"
issues = "https://example.com/issues"
capabilities = []
[python]
distribution = "some-pc"
version = "2.1"
{beside}
[start]
command = ["{{python}}"]
"""


@pytest.mark.usefixtures("_own_cache")
def test_versions_that_are_kept(tmp_path: Path) -> None:
    client = find(str(client_folder(tmp_path)))
    assert environments.kept(client) == ()
    prepare(client)
    assert environments.kept(client) == ("2.1",)
    for version in ("1.9.0", "1.58.3"):
        (environments._environments_folder() / f"grpcio-{version}").mkdir(parents=True)
    assert environments.kept(find("python")) == ("1.58.3", "1.9.0")
    assert environments.kept(find("reference")) == ()


@pytest.mark.usefixtures("_own_cache")
def test_a_pinned_version_and_what_is_installed_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is beside a client makes its environment another one."""
    asked: list[object] = []

    def install(name: str, version: str, folder: Path, beside: tuple[str, ...]) -> None:
        asked.append((name, version, beside))
        python = folder / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.touch()

    monkeypatch.setattr(installer, "install", install)
    manifest = tmp_path / "client.toml"
    manifest.write_text(ENVIRONMENT.format(beside=""))
    alone = [prepare(find(f"{tmp_path}{version}")) for version in ("", "@2.1", "@1.9")]
    manifest.write_text(ENVIRONMENT.format(beside='with = ["sender==1.2", "other==3"]'))
    together = prepare(find(str(tmp_path)))
    assert [client.version for client in (*alone, together)] == ["2.1", "2.1", "1.9", "2.1"]
    assert asked == [
        ("some-pc", "2.1", ()),
        ("some-pc", "1.9", ()),
        ("some-pc", "2.1", ("sender==1.2", "other==3")),
    ]
    assert len({client.command for client in (*alone, together)}) == 3
    assert environments.kept(find(str(tmp_path))) == ("2.1",)


def test_a_client_with_one_version_has_no_other(tmp_path: Path) -> None:
    with pytest.raises(NoSuchVersion, match=r"client built exists only in version 2\.1"):
        prepare(find(f"{client_folder(tmp_path)}@2.0"))


@pytest.mark.usefixtures("_own_cache")
def test_a_build_that_can_make_other_versions_is_told_which(tmp_path: Path) -> None:
    folder = client_folder(tmp_path)
    manifest = folder / "client.toml"
    text = manifest.read_text().replace("{output}'", "{output}', '{version}'")
    text = text.replace("[build]", "[build]\nversions = '>=1.9'")
    manifest.write_text(f"{text}[[editions]]\nversions = '<2'\nfollows = ['A42-2021']")
    (folder / "make.py").write_text(
        MAKE.replace("argv[2]", "argv[3]").replace('"done"', "sys.argv[2]")
    )
    newest, old = prepare(find(str(folder))), prepare(find(f"{folder}@1.9.1"))
    assert [Path(each.command[0]).read_text() for each in (newest, old)] == ["2.1", "1.9.1"]
    assert (newest.version, newest.name) == ("2.1", "built")
    assert (old.version, old.name, old.editions) == ("1.9.1", "built@1.9.1", ("A42", "A42-2021"))
    same, early = prepare(find(f"{folder}@2.1.0")), prepare(find(f"{folder}@2.0-alpha.3"))
    assert (same.version, early.version) == ("2.1", "2.0-alpha.3")
    assert Path(early.command[0]).read_text() == "2.0-alpha.3"
    with pytest.raises(NoSuchVersion, match=r"client built exists only in versions >=1\.9"):
        prepare(find(f"{folder}@1.8"))


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("Because there is no version of grpcio==1.58.99 and you", NoSuchVersion),
        ("Because nothing was not found in the package registry", NoSuchVersion),
        ("Because grpcio==1.40.0 has no usable wheels and you require", NoWheel),
        ("Because grpcio==1.40.0 has no wheels with a matching Python ABI tag", NoWheel),
        ("error: Request failed cause: Failed to fetch: an index", IndexNotReached),
        ("hint: Packages were unavailable because the network was disabled.", IndexNotReached),
        ("no space left on device", BuildFailed),
    ],
)
def test_the_installers_words(words: str, kind: type[Exception]) -> None:
    assert type(installer._refusal("grpcio 1", words)) is kind


@pytest.mark.usefixtures("_own_cache")
def test_without_the_index_the_newest_in_the_cache_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unreached(_distribution: str) -> str:
        raise IndexNotReached("not there")

    monkeypatch.setattr(installer, "newest", unreached)
    with pytest.raises(IndexNotReached):
        prepare(find("python"))
    for version in ("1.58.3", "1.60.1", "1.9.0"):
        python = environments._environments_folder() / f"grpcio-{version}" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.touch()
    prepared = prepare(find("python"))
    assert (prepared.version, prepared.name) == ("1.60.1", "python@1.60.1")
    assert prepared.notes == (
        "the package index was not reached: grpcio 1.60.1 is the newest kept here",
    )


@pytest.mark.usefixtures("_own_cache")
def test_the_index_is_asked_once_in_ten_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = ["1.60.1", "1.61.0", "1.62.0"]
    monkeypatch.setattr(installer, "newest", lambda _distribution: answers.pop(0))
    monkeypatch.setattr(environments, "_python_environment", lambda *_: Path("/made"))

    def version() -> str:
        return prepare(find("python")).version

    assert [version(), version()] == ["1.60.1", "1.60.1"]
    [told] = environments._environments_folder().glob("*.newest-*")
    ago = time.time() - environments.GOOD_FOR
    os.utime(told, (ago, ago))
    assert [version(), version()] == ["1.61.0", "1.61.0"]
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://example.com/other")
    assert [version(), version()] == ["1.62.0", "1.62.0"]


def test_an_answer_that_cannot_be_kept_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDSPEC_CACHE", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr(installer, "newest", lambda _distribution: "1.60.1")
    monkeypatch.setattr(environments, "_python_environment", lambda *_: Path("/made"))
    assert prepare(find("python")).version == "1.60.1"


def test_an_index_of_uvs_own_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    told = "global.index-url='https://example.com/a'\n:env:.cert='/c.pem'\n"
    monkeypatch.setattr(installer, "_pip_config", lambda: told)
    for name in installer._INDEX_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    both = {"UV_DEFAULT_INDEX": "https://example.com/a", "SSL_CERT_FILE": "/c.pem"}
    assert installer._index_settings() == both
    monkeypatch.setenv("UV_INDEX_URL", "https://example.com/b")
    assert installer._index_settings() == {"SSL_CERT_FILE": "/c.pem"}


@pytest.mark.parametrize(
    ("name", "kind"),
    [("python@1.40.0", NoWheel), ("python@1.58.99", NoSuchVersion), ("python@1.x", NoSuchVersion)],
)
def test_versions_that_cannot_be_had(name: str, kind: type[Exception]) -> None:
    """Asks the real index."""
    with pytest.raises(kind):
        prepare(find(name))
