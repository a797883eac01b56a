"""Which suite made a report: two states of its files are never taken for each other."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec
import pytest

from conformance.reporting.provenance import PACKAGES, ROOT, Suite, content_of, suite

COMMIT = "0123456789abcdef0123456789abcdef01234567"
DIRTY = f"{COMMIT}-dirty"
PROJECT = ROOT / "pyproject.toml"


def packages(root: Path) -> Path:
    for name in PACKAGES:
        (root / name).mkdir(parents=True)
        (root / name / "module.py").write_text("x = 1\n")
    return root


def known(commit: str | None, content: str = "", version: str = "0.1.0") -> Suite:
    return Suite(version=version, commit=commit, content=content)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_changed_token_is_another_suite(package: str, tmp_path: Path) -> None:
    root = packages(tmp_path)
    before = content_of(root)
    (root / package / "module.py").write_text("x = 2\n")
    assert content_of(root) != before


def test_a_new_file_is_another_suite(tmp_path: Path) -> None:
    root = packages(tmp_path)
    before = content_of(root)
    (root / "conformance" / "other.py").touch()
    assert content_of(root) != before


def test_what_python_compiles_and_the_place_change_nothing(tmp_path: Path) -> None:
    first, second = packages(tmp_path / "first"), packages(tmp_path / "second")
    before = content_of(first)
    (first / "conformance" / "__pycache__").mkdir()
    (first / "conformance" / "__pycache__" / "module.cpython-311.pyc").write_bytes(b"\0")
    assert content_of(first) == content_of(second) == before


def test_this_suite_has_a_digest() -> None:
    assert suite().content == content_of(ROOT)
    assert suite().is_same(suite())


@pytest.mark.skipif(not PROJECT.exists(), reason="needs a checkout")
def test_every_package_of_the_distribution_counts() -> None:
    project = tomllib.loads(PROJECT.read_text("utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert sorted(wheel["packages"]) == sorted(PACKAGES)


@pytest.mark.parametrize(
    ("here", "there", "is_same"),
    [
        (known(DIRTY, "aa"), known(DIRTY, "aa"), True),
        (known(DIRTY, "aa"), known(DIRTY, "bb"), False),
        (known(COMMIT, "aa"), known(None, "aa"), True),
        (known(None, "aa"), known(None, "bb"), False),
        (known(COMMIT, "aa"), known(COMMIT, "aa", version="0.2.0"), False),
        # Reports of versions that recorded no digest.
        (known(COMMIT, "aa"), known(COMMIT), True),
        (known(DIRTY, "aa"), known(DIRTY), False),
        (known(None, "aa"), known(None), False),
    ],
)
def test_two_suites(here: Suite, there: Suite, is_same: bool) -> None:  # noqa: FBT001
    assert here.is_same(there) is there.is_same(here) is is_same
    if here != there and here.content and there.content and not is_same:
        assert str(here) != str(there)


def test_reports_without_a_digest_can_be_read() -> None:
    old = msgspec.json.decode(b'{"version": "0.1.0", "commit": null}', type=Suite)
    assert (old.content, str(old)) == ("", "0.1.0")
    assert str(known(DIRTY, "ab" * 32)) == (
        "0.1.0, commit 0123456789ab with changes, content abababababab"
    )
