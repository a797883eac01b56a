"""What an adapter's hello tells of its client, held against what the manifest states. Pure."""

from __future__ import annotations

import re
from typing import Final

from packaging.version import InvalidVersion, Version

from client_under_test.contract.messages import DEPENDS_ON_VERSION, Hello
from client_under_test.environments import Prepared


def contradiction(hello: Hello, prepared: Prepared) -> str | None:
    """In which way they tell of two clients, as a clause of a sentence; None if in none."""
    manifest = prepared.client.manifest
    told, stated = sorted(set(hello.capabilities)), sorted(set(manifest.capabilities))
    lacking = DEPENDS_ON_VERSION.difference(told)
    if told != [capability for capability in stated if capability not in lacking]:
        return f"hello has {told}, the manifest {stated}"
    if _is_same(hello.version, prepared.version):
        return None
    pinned = manifest.python.version if manifest.python else manifest.version
    is_pinned = pinned == prepared.version
    said = f"client.toml says {pinned}" if is_pinned else f"{prepared.version} was prepared"
    return f"hello has version {hello.version}, and {said}"


_BUILD_MARK: Final = re.compile(r"([-.]dev\d*|-SNAPSHOT|\+incompatible)$", re.IGNORECASE)
"""What a library may add to the number under which a registry has it. grpc-go 1.69.0 was released
as 1.69.0-dev; the others are the same mark of Python, Maven and Go."""


def _is_same(told: str, prepared: str) -> bool:
    """Whether two spellings are one version: 1.70 is 1.70.0, and so is 1.70.0-dev.

    The suite knows which version it installed, so a build mark in one of the two says nothing new.
    A pre-release such as 1.70.0-rc1 is another version.
    """
    plain, wanted = (_BUILD_MARK.sub("", version) for version in (told, prepared))
    try:
        return plain == wanted or Version(plain) == Version(wanted)
    except InvalidVersion:
        return False
