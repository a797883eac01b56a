"""What an adapter's hello tells of its client, held against what the manifest states. Pure."""

from __future__ import annotations

from packaging.version import InvalidVersion, Version

from client_under_test.contract.messages import Hello
from client_under_test.environments import Prepared


def contradiction(hello: Hello, prepared: Prepared) -> str | None:
    """In which way they tell of two clients, as a clause of a sentence; None if in none."""
    manifest = prepared.client.manifest
    told, stated = sorted(set(hello.capabilities)), sorted(set(manifest.capabilities))
    if told != stated:
        return f"hello has {told}, the manifest {stated}"
    if _is_same(hello.version, prepared.version):
        return None
    pinned = manifest.python.version if manifest.python else manifest.version
    is_pinned = pinned == prepared.version
    said = f"client.toml says {pinned}" if is_pinned else f"{prepared.version} was prepared"
    return f"hello has version {hello.version}, and {said}"


def _is_same(one: str, other: str) -> bool:
    """Whether two spellings are one version: 1.70 is 1.70.0."""
    try:
        return one == other or Version(one) == Version(other)
    except InvalidVersion:
        return False
