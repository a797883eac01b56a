"""One header block: what is refused is a `:path` that is no UTF-8, in every way to write it."""

from __future__ import annotations

import itertools

import hpack
import pytest
from hpack.huffman_constants import REQUEST_CODES, REQUEST_CODES_LENGTH
from hypothesis import given
from hypothesis import strategies as st

from request_filter import BadRequest
from request_filter.header_block import check_header_block

STATIC_PATHS = (4, 5)
REFUSED = "sent a :path that is not UTF-8"


def string(text: bytes, *, coded: bool) -> bytes:
    wire = hpack.huffman.HuffmanEncoder(REQUEST_CODES, REQUEST_CODES_LENGTH).encode(text)
    body = wire if coded else text
    prefix = bytearray(hpack.hpack.encode_integer(len(body), 7))
    prefix[0] |= 0x80 if coded else 0
    return bytes(prefix) + body


def literal(
    name: bytes | int, value: bytes, *, pattern: int = 0x40, coded: tuple[bool, bool] = (True, True)
) -> bytes:
    """A header as a literal: by a name or its index, added to the table (0x40) or not."""
    bits = 6 if pattern == 0x40 else 4
    begin = bytearray(hpack.hpack.encode_integer(name if isinstance(name, int) else 0, bits))
    begin[0] |= pattern
    spelled = b"" if isinstance(name, int) else string(name, coded=coded[0])
    return bytes(begin) + spelled + string(value, coded=coded[1])


WAYS = list(itertools.product((0x40, 0x00, 0x10), (False, True), (False, True)))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", [b":path", *STATIC_PATHS, 62, 5000])
def test_a_path_that_is_not_utf8_is_refused_however_it_is_written(
    name: bytes | int, way: tuple[int, bool, bool]
) -> None:
    block = literal(name, b"/a/\xff", pattern=way[0], coded=way[1:])
    with pytest.raises(BadRequest, match=REFUSED):
        check_header_block(b"\x83\x86" + block)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        (b":path", b"/grpc.testing.TestService/UnaryCall"),
        (b":path", "/é/\U0001f600".encode()),
        (b":path", b"/?'+|#>$@[]~^}<`{" * 20),
        (b"trace-bin", b"\x00\xff\xfe"),
        (b"user-agent", b"\xff"),
        (1, b"\xff"),
        (61, b"\xff"),
        (62, b"a+b?c"),
    ],
)
def test_other_headers_pass(name: bytes | int, value: bytes, way: tuple[int, bool, bool]) -> None:
    check_header_block(literal(name, value, pattern=way[0], coded=way[1:]))


def test_huffman_codes_of_other_bytes_than_ascii_begin_with_fifteen_ones() -> None:
    """On this rests that a coded string without a byte of ones is ASCII."""
    for byte in range(0x80, 0x100):
        code, length = REQUEST_CODES[byte], REQUEST_CODES_LENGTH[byte]
        assert length > 15
        assert code >> (length - 15) == (1 << 15) - 1


@given(
    headers=st.lists(
        st.tuples(
            st.sampled_from([b":path", b":authority", b"a", b"x-bin", b"grpc-timeout"]),
            st.binary(max_size=40),
        ),
        max_size=12,
    ),
    size=st.sampled_from([None, 0, 100]),
)
def test_of_what_an_encoder_writes_no_path_passes_that_is_not_utf8(
    headers: list[tuple[bytes, bytes]], size: int | None
) -> None:
    """One header a block, so that names come from the table as soon as they can."""
    encoder = hpack.Encoder()
    if size is not None:
        encoder.header_table_size = size
    decoder = hpack.Decoder()
    for name, value in headers:
        block = encoder.encode([(name, value)])
        assert decoder.decode(block, raw=True) == [(name, value)]
        try:
            check_header_block(block)
        except BadRequest:  # of such a name from the table it is not known what it is
            assert not value.isascii()
            return
        if name == b":path":
            value.decode()


@given(st.binary(max_size=300))
def test_any_bytes_are_judged(block: bytes) -> None:
    """What passes has no such path, by a decoder that knows HPACK whole."""
    try:
        check_header_block(block)
    except BadRequest:
        return
    decoder = hpack.Decoder()
    try:
        headers = decoder.decode(block, raw=True)
    except hpack.HPACKError:
        return
    for name, value in headers:
        if bytes(name) == b":path":
            bytes(value).decode()


@pytest.mark.parametrize(
    "block",
    [
        b"\x40",
        b"\x44\x05abc",
        b"\x44",
        b"\xff",
        b"\xff" + b"\x80" * 5 + b"\x01",
        b"\x3f" + b"\xff" * 9 + b"\x01",
        b"\x44\x7f\xff\xff\xff\xff\x7f",
        b"\x44\x82\xff\xff",
    ],
)
def test_what_is_no_hpack_is_refused(block: bytes) -> None:
    with pytest.raises(BadRequest):
        check_header_block(block)
