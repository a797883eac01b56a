"""Words of clients and names that users give, made fit for a terminal. Pure."""

from __future__ import annotations

import re
from contextlib import suppress

LONGEST = 200
"""Letters of one word that are shown of what a user named."""

# Characters that move the cursor, set colors, ring, or reverse the direction of text. Line ends and
# tabs are text.
_NO_TEXT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)


# What runners of a CI take for a command: `::error::` at the beginning of a line (GitHub),
# `##[error]` anywhere in it (GitHub, Azure), `##teamcity[` as well; rich's markup escapes the
# bracket before this sees it.
_COMMAND = re.compile(r"^(?=\s*::)|(?<=\s)(?=::[A-Za-z])|(?<=#)(?=#\w*\\*\[)", re.MULTILINE)


def defused(text: str) -> str:
    r"""Return words of which no runner of a CI takes a line for a command: `\::error::`.

    Indenting a line is not enough: GitHub's runners pass over the space before it.
    """
    return _COMMAND.sub(r"\\", text)


def block(text: str) -> str:
    """Return words of which no line but the first begins at the left."""
    return re.sub(r"\n(?=\S)", "\n    ", text.rstrip("\n"))


def plain(text: str) -> str:
    r"""Return a text with every control character escaped, such as `\x1b`."""
    with suppress(UnicodeEncodeError):  # of a name of a file, in a locale that is not UTF-8
        text = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return _NO_TEXT.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def short(text: str) -> str:
    """Return a text in which the middle of overlong words is replaced by an ellipsis."""
    half = LONGEST // 2
    return re.sub(
        rf"(\S{{{half}}})\S{{{LONGEST},}}(\S{{{half}}})", lambda long: f"{long[1]}…{long[2]}", text
    )
