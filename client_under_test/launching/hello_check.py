"""Compare an adapter's hello with its manifest, without I/O."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from packaging.version import InvalidVersion, Version

from client_under_test.contract.messages import DEPENDS_ON_VERSION, Hello
from client_under_test.environments import Prepared


def contradiction(hello: Hello, prepared: Prepared) -> str | None:
    """Return how hello and manifest differ, as a clause of a sentence; None if they agree."""
    manifest = prepared.client.manifest
    told, stated = set(hello.capabilities), set(manifest.capabilities)
    if more := sorted(told - stated):
        return (
            f"hello reports {_words(more)}, and client.toml does not: make both lists of "
            "capabilities equal"
        )
    if fewer := sorted(stated - told - DEPENDS_ON_VERSION):
        return (
            f"client.toml declares {_words(fewer)}, and hello does not: make both lists of "
            "capabilities equal"
        )
    if _is_same(hello.version, prepared.version):
        return None
    pinned = manifest.python.version if manifest.python else manifest.version
    is_pinned = pinned == prepared.version
    said = f"client.toml says {pinned}" if is_pinned else f"{prepared.version} was prepared"
    return (
        f"hello has version {hello.version}, and {said}: let the adapter and its manifest name the "
        "same version"
    )


def _words(capabilities: Sequence[str]) -> str:
    return ", ".join(f"`{capability}`" for capability in capabilities)


_BUILD_MARK: Final = re.compile(r"([-.]dev\d*|-SNAPSHOT|\+incompatible)$", re.IGNORECASE)
"""A suffix that a library may add to its version in the registry. grpc-go 1.69.0 was released as
1.69.0-dev; the other suffixes are the equivalents of Python, Maven and Go."""


def _is_same(told: str, prepared: str) -> bool:
    """Return whether two strings spell one version: 1.70, 1.70.0 and 1.70.0-dev are equal.

    The suite knows which version it installed, so a build suffix does not matter.
    A pre-release such as 1.70.0-rc1 is another version.
    """
    plain, wanted = (_BUILD_MARK.sub("", version) for version in (told, prepared))
    try:
        return plain == wanted or Version(plain) == Version(wanted)
    except InvalidVersion:
        return False
