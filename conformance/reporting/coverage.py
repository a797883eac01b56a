"""What ``xdspec list coverage`` says: the map of the ground, and how much of it is seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from conformance.spec.catalogue import PeerBehavior


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
