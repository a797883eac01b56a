"""The map of the ground: what implementations test themselves, and which scenarios see it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from conformance.spec.catalogue.loader import FOLDER, CatalogueError
from regular_files import read_text

FILE = "peer_coverage.toml"


class PeerBehavior(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of the map."""

    says: str
    """What a client does."""
    scenarios: tuple[str, ...] = ()
    """Which see it: by id, or by an id without brackets for all rows of a table."""
    missing: str | None = None
    """Why none does. Either this or `scenarios` is there."""

    def __post_init__(self) -> None:
        """Refuse a line that says both, or neither."""
        if bool(self.scenarios) == bool(self.missing):
            raise ValueError("a line has either `scenarios` or `missing`")


def peer_coverage(folder: Path = FOLDER) -> dict[str, tuple[PeerBehavior, ...]]:
    """The map, by section.

    Args:
        folder: Where `peer_coverage.toml` lies.

    Raises:
        CatalogueError: a line is wrong.
    """
    text = read_text(folder / FILE)
    try:
        return msgspec.convert(tomllib.loads(text), dict[str, tuple[PeerBehavior, ...]])
    except (msgspec.ValidationError, tomllib.TOMLDecodeError) as error:
        raise CatalogueError(f"{FILE}: {error}") from None


def coverage_lines(ground: Mapping[str, tuple[PeerBehavior, ...]]) -> Iterator[str]:
    """Each line of the map with the scenarios that see it, or the reason why none does."""
    for section, lines in ground.items():
        yield f"{section}: {_share(lines)}"
        for line in lines:
            yield f"  {line.says}"
            how = f"not seen: {line.missing}" if line.missing else ", ".join(line.scenarios)
            yield f"    {how}"
    yield f"all: {_share(tuple(line for lines in ground.values() for line in lines))}"


def _share(lines: tuple[PeerBehavior, ...]) -> str:
    seen = sum(1 for line in lines if not line.missing)
    return f"{seen} of {len(lines)} lines, {100 * seen // len(lines)} %"
