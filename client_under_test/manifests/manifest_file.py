"""client.toml: how it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from client_under_test.contract.exceptions import BadManifest
from client_under_test.manifests.manifest import Manifest
from client_under_test.manifests.manifest_rules import broken_rules
from client_under_test.manifests.toml_errors import BrokenRule, converted

FILE: Final = "client.toml"


def read(folder: Path) -> Manifest:
    """The manifest of a client's folder.

    Raises:
        BadManifest: it cannot be read or breaks a rule; one sentence with file and field.
    """
    file = folder / FILE
    try:
        return parse(file.read_bytes(), file)
    except OSError as trouble:
        raise BadManifest(f"{file}: cannot be read: {trouble.strerror}") from trouble


def parse(text: bytes, file: Path) -> Manifest:
    """The manifest in `text`; `file` is named in errors.

    Raises:
        BadManifest: it breaks a rule.
    """
    try:
        raw = msgspec.toml.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as trouble:
        words = str(trouble)
        raise BadManifest(
            f"{file}: the file is not TOML: {words[:1].lower()}{words[1:]}"
        ) from trouble
    try:
        manifest = converted(raw, Manifest)
    except BrokenRule as wrong:
        raise BadManifest(f"{file}: {wrong}") from None
    for field, why in broken_rules(manifest):
        raise BadManifest(f"{file}: {field}: {why}")
    return manifest
