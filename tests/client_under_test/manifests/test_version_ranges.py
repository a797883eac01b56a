from __future__ import annotations

import pytest

from client_under_test.manifests.version_ranges import (
    by_version,
    is_unreleased,
    is_within,
    newest_known,
)

DEV = ["1.86.0-dev", "1.86.0.dev0", "1.86.0-SNAPSHOT"]


@pytest.mark.parametrize("version", DEV)
def test_what_is_not_released_stands_before_its_release(version: str) -> None:
    assert is_within(version, ">=1.85,<1.86")
    assert is_within(version, ">1.85.9")
    assert is_within(version, "<=1.86")
    assert not is_within(version, ">=1.86")
    assert not is_within(version, "<1.85.9")
    assert not is_within(version, "==1.85.*")
    assert is_unreleased(version)
    order = ["1.85.0", "1.85.12", version, "1.86.0-rc1", "1.86.0"]
    assert sorted(sorted(order), key=by_version) == order


@pytest.mark.parametrize(
    ("version", "versions", "inside"),
    [
        ("1.86.0", ">=1.86", True),
        ("1.86.0", "<1.86", False),
        ("1.86.0rc1", "<1.86", True),
        ("1.86.0rc1", ">=1.86", False),
        ("1.85.0+local", "<=1.85.0", True),
        ("1.85.3", "==1.85.*", True),
        ("1.85.3", "!=1.85.3", False),
        ("1.85.3", "~=1.85.1", True),
        ("0.1.0-alpha.3", ">=0.1.0-alpha.2", True),
        ("1.2", "", True),
    ],
)
def test_ranges_of_releases(version: str, versions: str, *, inside: bool) -> None:
    assert is_within(version, versions) is inside
    assert not is_unreleased(version)


@pytest.mark.parametrize(
    ("ranges", "released", "known"),
    [
        (["<1.71", ">=1.80", ""], "1.85.0", "1.85.0"),
        (["<=1.84.2"], "1.85.0", "1.85.0"),
        (["==1.85.0"], None, "1.85.0"),
        (["==1.85.*"], None, "1.85"),
        ([">=1.86", ">=1.80"], "1.85.0", "1.85.0"),
        (["<1.86"], None, "1.86.0-dev"),
        ([], None, "1.86.0-dev"),
    ],
)
def test_the_version_by_which_failures_are_known(
    ranges: list[str], released: str | None, known: str
) -> None:
    assert newest_known("1.86.0-dev", ranges, released) == known
    assert newest_known("1.84.1", ranges, released) == "1.84.1"
