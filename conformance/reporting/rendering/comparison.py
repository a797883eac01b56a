"""What was wanted beside what was seen, with that in which they differ marked. Pure."""

from __future__ import annotations

import difflib
import re

import msgspec

LONGEST = 6000
"""Letters of either that are compared word by word; longer ones are only shown."""

ALIKE = 0.35
"""Texts that have less in common are two different sentences: marks would be everywhere."""


class Piece(msgspec.Struct, frozen=True):
    """Some words, and whether the other text has them, too."""

    text: str
    differs: bool = False


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """Both texts, in pieces."""

    wanted: tuple[Piece, ...]
    saw: tuple[Piece, ...]


def compared(wanted: str, saw: str, *, is_alike: bool = False) -> Compared:
    """Mark the words that only one of the two texts has, if they are texts of one kind.

    Nothing is marked in a check that passes, since both texts then have the same meaning.
    """
    as_they_are = Compared(wanted=_whole(wanted), saw=_whole(saw))
    if is_alike or not (wanted and saw) or max(len(wanted), len(saw)) > LONGEST:
        return as_they_are
    left, right = _words(wanted), _words(saw)
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    if matcher.ratio() < ALIKE:
        return as_they_are
    wants: list[Piece] = []
    saws: list[Piece] = []
    for tag, first, after, other_first, other_after in matcher.get_opcodes():
        is_other = tag != "equal"
        for pieces, words in ((wants, left[first:after]), (saws, right[other_first:other_after])):
            if words:
                pieces.append(Piece("".join(words), differs=is_other))
    return Compared(wanted=tuple(wants), saw=tuple(saws))


def _whole(text: str) -> tuple[Piece, ...]:
    return (Piece(text),) if text else ()


def _words(text: str) -> list[str]:
    return re.findall(r"[\w.:/-]+|\s+|[^\w\s]", text)
