"""What a manifest states in the catalogue's own words: whether anybody knows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from client_under_test import Client
from client_under_test.exceptions import BadManifest
from client_under_test.manifest import FILE, Manifest
from conformance.catalogue import BROUGHT
from conformance.oracles.ring import KEY_FORMATS

EDITIONS_ARE: Final = f"there are {', '.join(BROUGHT)} (`xdspec list editions`)"


def check(client: Client) -> None:
    """See that a client's manifest states nothing but what there is.

    Raises:
        BadManifest: it states an edition, or a format of ring keys, that nobody knows.
    """
    for field, edition in _editions(client.manifest):
        if edition not in BROUGHT:
            raise BadManifest(
                f"{client.folder / FILE}: {field}: {edition} is no edition: {EDITIONS_ARE}"
            )
    for number, table in enumerate(client.manifest.ring_key_formats):
        if table.format not in KEY_FORMATS:
            raise BadManifest(
                f"{client.folder / FILE}: ring-key-formats[{number}].format: {table.format} is no "
                f"format that is known: there are {', '.join(KEY_FORMATS)}; without this table the "
                "suite finds it out"
            )


def _editions(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Fields, and the editions that they have."""
    tables = [(f"editions[{n}].follows", one.follows) for n, one in enumerate(manifest.editions)]
    for name, variant in manifest.variants.items():
        tables.append((f"variants.{name}.follows-also", variant.follows_also))
        tables.append((f"variants.{name}.follows-not", variant.follows_not))
    return ((field, edition) for field, editions in tables for edition in editions)
