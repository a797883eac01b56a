"""client.toml: how it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from client_under_test.contract.exceptions import BadManifest
from client_under_test.manifests.manifest import Manifest
from client_under_test.manifests.manifest_rules import broken_rules
from client_under_test.manifests.toml_errors import BrokenRule, converted
from client_under_test.manifests.toml_file import contents, decoded, place

FILE: Final = "client.toml"


def read(folder: Path) -> Manifest:
    """Read the manifest of a client's folder.

    Raises:
        BadManifest: it cannot be read or breaks a rule; one sentence with file and field.
    """
    file = folder / FILE
    try:
        return parse(contents(file), file)
    except OSError as trouble:
        raise BadManifest(f"{file}: cannot be read: {trouble.strerror}") from trouble


def parse(text: bytes, file: Path) -> Manifest:
    """Parse the manifest in `text`; errors name `file`.

    Raises:
        BadManifest: it breaks a rule.
    """
    try:
        manifest = converted(decoded(text), Manifest)
    except BrokenRule as wrong:
        raise BadManifest(f"{file}: {wrong}{place(text, str(wrong))}") from None
    for field, why in broken_rules(manifest):
        raise BadManifest(f"{file}: {field}: {why}{place(text, field)}")
    return manifest
