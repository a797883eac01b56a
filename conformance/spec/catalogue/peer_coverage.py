"""Read which behaviors the implementations' own tests cover, and which scenarios cover them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from conformance.spec.catalogue.loader import FOLDER, CatalogueError
from regular_files import read_text

FILE = "peer_coverage.toml"


class PeerBehavior(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A behavior that an implementation's own tests cover."""

    says: str
    """What a client does."""
    scenarios: tuple[str, ...] = ()
    """The ids of scenarios that cover it; an id without brackets means all rows of a table."""
    missing: str | None = None
    """Why no scenario covers it. A behavior has either this or `scenarios`."""

    def __post_init__(self) -> None:
        """Reject a behavior that has both `scenarios` and `missing`, or neither."""
        if bool(self.scenarios) == bool(self.missing):
            raise ValueError("an entry needs either `scenarios` or `missing`")


def peer_coverage(folder: Path = FOLDER) -> dict[str, tuple[PeerBehavior, ...]]:
    """Return the behaviors that peers test, by section.

    Args:
        folder: The folder of `peer_coverage.toml`.

    Raises:
        CatalogueError: an entry is invalid.
    """
    text = read_text(folder / FILE)
    try:
        return msgspec.convert(tomllib.loads(text), dict[str, tuple[PeerBehavior, ...]])
    except (msgspec.ValidationError, tomllib.TOMLDecodeError) as error:
        raise CatalogueError(f"{FILE}: {error}") from None


def coverage_lines(ground: Mapping[str, tuple[PeerBehavior, ...]]) -> Iterator[str]:
    """Yield each behavior with the scenarios that check it, or the reason why none does."""
    yield "What the tests of gRPC's implementations check, and the scenarios that check it:"
    for section, lines in ground.items():
        yield f"{section}: {_share(lines)}"
        for line in lines:
            yield f"  {line.says}"
            how = f"not checked: {line.missing}" if line.missing else ", ".join(line.scenarios)
            yield f"    {how}"
    yield f"all: {_share(tuple(line for lines in ground.values() for line in lines))}"


def _share(lines: tuple[PeerBehavior, ...]) -> str:
    seen = sum(1 for line in lines if not line.missing)
    return f"{seen} of {len(lines)} behaviors, {100 * seen // len(lines)} %"
