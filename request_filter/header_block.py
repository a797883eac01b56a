"""One header block (HPACK, RFC 7541), checked for the one header that ends a grpcio server.

grpcio's asyncio server decodes `:path` as UTF-8 in the loop that accepts requests. If that fails,
the loop ends, and the server with it (`_server_main_loop` in grpcio's `aio/server.pyx.pxi`; so in
1.85.1, and in the sources of 2026).

The check keeps no dynamic table. So it cannot disagree with the server about one, and costs some
microseconds a request. The price: a header that is not UTF-8 and whose name is an entry of the
dynamic table is refused, too, as that name may be `:path`. gRPC allows no such value in any case
(PROTOCOL-HTTP2.md, "ASCII-Value"), except in C-core's raw form of `-bin` headers, which C-core
never sends with a name from the table.
"""

from __future__ import annotations

from typing import Final

from hpack.exceptions import HPACKDecodingError
from hpack.huffman_table import decode_huffman

from request_filter.exceptions import BadRequest

_PATH: Final = b":path"

# Indices of `:path` in the static table (RFC 7541, appendix A), and of its last entry.
_PATH_INDICES: Final = frozenset({4, 5})
_LAST_STATIC: Final = 61

# A string of more bytes is in no frame that the scanner lets through.
_LARGEST_INTEGER: Final = 1 << 24

_MOST_SHIFTS: Final = 28  # zeros can go on without end
_ALL_ONES: Final = 0xFF

_CUT_SHORT: Final = "sent a header block that is cut short"


def check_header_block(block: bytes) -> None:
    """Look at each header of a block.

    Raises:
        BadRequest: its `:path` is not UTF-8, or the block is no HPACK.
    """
    at, end = 0, len(block)
    try:
        while at < end:
            first = block[at]
            at += 1
            if first >= 0x80:  # noqa: PLR2004 - name and value are entries of a table
                if first == 0xFF:  # noqa: PLR2004 - the prefix is full
                    _, at = _integer(block, at, 0x7F)
                continue
            if 0x20 <= first < 0x40:  # noqa: PLR2004 - a new size of the dynamic table
                if first == 0x3F:  # noqa: PLR2004
                    _, at = _integer(block, at, 0x1F)
                continue
            mask = 0x3F if first >= 0x40 else 0x0F  # noqa: PLR2004 - added to the table, or not
            index = first & mask
            if index == mask:
                index, at = _integer(block, at, mask)
            name, name_is_coded = b"", False
            if not index:
                name, name_is_coded, at = _string(block, at)
            value, is_coded, at = _string(block, at)
            if not _is_ascii(value, is_coded=is_coded) and (
                index in _PATH_INDICES
                or index > _LAST_STATIC
                or (not index and _decoded(name, is_coded=name_is_coded) == _PATH)
            ):
                _refuse_other_than_utf8(_decoded(value, is_coded=is_coded))
    except IndexError:
        raise BadRequest(_CUT_SHORT) from None


def _integer(block: bytes, at: int, prefix: int) -> tuple[int, int]:
    """Decode the integer after a full prefix (section 5.1); return it and where it ends."""
    number, shift = prefix, 0
    while True:
        byte = block[at]
        at += 1
        number += (byte & 0x7F) << shift
        if number > _LARGEST_INTEGER or shift > _MOST_SHIFTS:
            raise BadRequest("sent a header block with an integer that is too large")
        if byte < 0x80:  # noqa: PLR2004 - no more bytes follow
            return number, at
        shift += 7


def _string(block: bytes, at: int) -> tuple[bytes, bool, int]:
    """Return a string as on the wire, whether it is Huffman-coded, and where it ends."""
    first = block[at]
    length, at = first & 0x7F, at + 1
    if length == 0x7F:  # noqa: PLR2004 - the prefix is full
        length, at = _integer(block, at, 0x7F)
    end = at + length
    if end > len(block):
        raise BadRequest(_CUT_SHORT)
    return block[at:end], first >= 0x80, end  # noqa: PLR2004 - the flag of the code


def _is_ascii(wire: bytes, *, is_coded: bool) -> bool:
    """Return whether a string is certainly ASCII, without decoding it.

    The Huffman code of each byte from 0x80 on begins with 15 ones (appendix B). 15 ones in a row
    always fill a whole byte of the wire.
    """
    return _ALL_ONES not in wire if is_coded else wire.isascii()


def _decoded(wire: bytes, *, is_coded: bool) -> bytes:
    if not is_coded:
        return wire
    try:
        return decode_huffman(wire)
    except HPACKDecodingError:
        raise BadRequest("sent a header block with a string that is no Huffman code") from None


def _refuse_other_than_utf8(value: bytes) -> None:
    try:
        value.decode()
    except UnicodeDecodeError:
        raise BadRequest("sent a :path that is not UTF-8") from None
