"""The map of the ground: what implementations test themselves, and which scenarios see it."""

import tomllib
from pathlib import Path

import msgspec

from conformance.spec.catalogue.loader import FOLDER, CatalogueError
from regular_files import read_text

GROUND = "peer_coverage.toml"


class Behaviour(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
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


def ground(folder: Path = FOLDER) -> dict[str, tuple[Behaviour, ...]]:
    """The map, by section.

    Args:
        folder: Where `peer_coverage.toml` lies.

    Raises:
        CatalogueError: a line is wrong.
    """
    text = read_text(folder / GROUND)
    try:
        return msgspec.convert(tomllib.loads(text), dict[str, tuple[Behaviour, ...]])
    except (msgspec.ValidationError, tomllib.TOMLDecodeError) as error:
        raise CatalogueError(f"{GROUND}: {error}") from None
