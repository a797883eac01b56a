"""Versions of clients, and ranges of them such as `>=1.59,<1.65`. Pure.

A version that is not released stands where it sorts: `1.86.0-dev` comes after each 1.85.x and
before 1.86.0.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from typing import Final

from packaging.specifiers import InvalidSpecifier, Specifier, SpecifierSet
from packaging.version import InvalidVersion, Version

_ENDLESS: Final = re.compile(r"\d{19}")
"""Longer than any timestamp in a version; builds and indexes treat such numbers differently."""

_LONGEST: Final = 100
"""Characters: the version becomes part of a folder's name."""


_ORDER: Final[dict[str, Callable[[Version, Version], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

_SNAPSHOT: Final = re.compile(r"[-.]SNAPSHOT$")
"""Maven's word for what Python calls a development release."""


def parsed(version: str) -> Version:
    """Return a version that sorts; Maven's `1.86.0-SNAPSHOT` is `1.86.0.dev0`.

    Raises:
        InvalidVersion: it is none.
    """
    return Version(_SNAPSHOT.sub(".dev0", version))


def is_snapshot(version: str) -> bool:
    """Return whether Maven calls it a snapshot, which is no release: its content may change."""
    return _SNAPSHOT.search(version) is not None


def is_within(version: str, versions: str) -> bool:
    """Return whether a version is in a range such as `>=1.59,<1.65`; an empty range has all."""
    exact = parsed(version)
    return all(_is_one(exact, specifier) for specifier in SpecifierSet(versions))


def _is_one(version: Version, wanted: Specifier) -> bool:
    """Return whether a version matches a comparison.

    PEP 440 excludes the development releases of 1.86 from `<1.86`: then no range would match them.
    """
    compare = _ORDER.get(wanted.operator)
    if compare is None:
        return wanted.contains(version, prereleases=True)
    return compare(Version(version.public), Version(wanted.version))


def is_unreleased(version: str) -> bool:
    """Return whether a version is a snapshot or a development release such as `1.86.0-dev`."""
    return is_version(version) and parsed(version).is_devrelease


def newest_known(version: str, ranges: Iterable[str], released: str | None = None) -> str:
    """Return the version whose known failures are those of `version`.

    That is the version itself if it is released. Else it is the newest of those that the ranges
    name, and of `released`, before it.

    Args:
        version: of a client.
        ranges: of what is known.
        released: the newest version that the client's manifest knows, if it tells.
    """
    if not is_unreleased(version):
        return version
    named = {
        specifier.version.removesuffix(".*") for each in ranges for specifier in SpecifierSet(each)
    }
    named |= {released} if released else set()
    before = [candidate for candidate in named if parsed(candidate) <= parsed(version)]
    return max(before, key=parsed, default=version)


def beginning(versions: str) -> Version | None:
    """Return the first version of a range such as `>=1.59,<1.65`, if the range has one."""
    begins = [
        Version(specifier.version)
        for specifier in SpecifierSet(versions)
        if specifier.operator == ">="
    ]
    return max(begins, default=None)


def is_range(text: str) -> bool:
    """Return whether a text is a range such as `>=1.59,<1.65`."""
    try:
        return all(
            is_version(specifier.version.removesuffix(".*")) for specifier in SpecifierSet(text)
        )
    except InvalidSpecifier:
        return False


def is_version(text: str) -> bool:
    """Return whether a text is a version that can be published, such as 1.70.0."""
    if len(text) > _LONGEST or _ENDLESS.search(text):
        return False
    try:
        parsed(text)
    except InvalidVersion:
        return False
    return True


def by_version(version: str) -> tuple[bool, Version, str]:
    """Return a key that sorts versions naturally, and strings that are no versions last."""
    try:
        return False, parsed(version), version
    except InvalidVersion:
        return True, Version("0"), version
