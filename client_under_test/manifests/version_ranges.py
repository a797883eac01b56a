"""Versions of clients, and ranges of them such as `>=1.59,<1.65`. Pure."""

from __future__ import annotations

import re
from typing import Final

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

_ENDLESS: Final = re.compile(r"\d{19}")
"""Longer than any time stamp in a version; what builds and indexes say of such differs."""

_LONGEST: Final = 100
"""Characters: it becomes a part of the name of a folder."""


def is_within(version: str, versions: str) -> bool:
    """Whether a version is in a range such as `>=1.59,<1.65`; the empty range has every version."""
    return SpecifierSet(versions).contains(Version(version), prereleases=True)


def beginning(versions: str) -> Version | None:
    """The first version of a range such as `>=1.59,<1.65`, if it says so."""
    begins = [Version(one.version) for one in SpecifierSet(versions) if one.operator == ">="]
    return max(begins, default=None)


def is_range(text: str) -> bool:
    """Whether it is a range such as `>=1.59,<1.65`."""
    try:
        return all(is_version(one.version.removesuffix(".*")) for one in SpecifierSet(text))
    except InvalidSpecifier:
        return False


def is_version(text: str) -> bool:
    """Whether it is a version such as 1.70.0, that somebody can have published."""
    if len(text) > _LONGEST or _ENDLESS.search(text):
        return False
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


def by_version(version: str) -> tuple[bool, Version, str]:
    """A key that sorts versions as people do; what is none comes last."""
    try:
        return False, Version(version), version
    except InvalidVersion:
        return True, Version("0"), version
