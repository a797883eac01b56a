"""Versions of clients, and ranges of them such as `>=1.59,<1.65`. Pure."""

from __future__ import annotations

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version


def is_within(version: str, versions: str) -> bool:
    """Whether a version is in a range such as `>=1.59,<1.65`; the empty range has every version."""
    return SpecifierSet(versions).contains(Version(version), prereleases=True)


def beginning(versions: str) -> Version | None:
    """The first version of a range such as `>=1.59,<1.65`, if it says so."""
    begins = [Version(one.version) for one in SpecifierSet(versions) if one.operator == ">="]
    return max(begins, default=None)


def is_version(text: str) -> bool:
    """Whether it is a version such as 1.70.0."""
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True
