"""A client's bytes, in whatever pieces they come."""

from __future__ import annotations

import contextlib
import itertools

import hpack
import pytest
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    Frame,
    HeadersFrame,
    PingFrame,
    PushPromiseFrame,
    SettingsFrame,
)
from hypothesis import given
from hypothesis import strategies as st

from request_filter import BadRequest, RequestScanner

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
GOOD = hpack.Encoder().encode([(":method", "POST"), (":path", "/a/b")])
BAD = hpack.Encoder().encode([(b":method", b"POST"), (b":path", b"/a/\xff")], huffman=False)
LONG = b"\x00\x01a" + b"\x7f\x81\x7f" + b"x" * 16384  # a literal of 16 KiB


def headers(block: bytes, *flags: str, stream: int = 1, pad: int = 0) -> bytes:
    frame = HeadersFrame(stream, block, flags=flags)
    frame.pad_length = pad
    return frame.serialize()


def said(*frames: bytes | Frame) -> bytes:
    return PREFACE + b"".join(f if isinstance(f, bytes) else f.serialize() for f in frames)


BEFORE = (SettingsFrame(), PingFrame(opaque_data=b"12345678"))
HARMLESS = said(
    *BEFORE,
    headers(GOOD, "END_HEADERS"),
    DataFrame(1, b"\x00" * 300),
    headers(GOOD, "END_HEADERS", "PADDED", "PRIORITY", stream=3, pad=7),
    headers(GOOD[:2], stream=5),
    ContinuationFrame(5, b"").serialize(),
    ContinuationFrame(5, GOOD[2:], flags=["END_HEADERS"]),
    DataFrame(5, BAD),
)
HARMFUL = [
    said(*BEFORE, headers(BAD, "END_HEADERS")),
    said(*BEFORE, headers(BAD, "END_HEADERS", "PADDED", "PRIORITY", pad=9)),
    said(headers(BAD[:5]), ContinuationFrame(1, BAD[5:], flags=["END_HEADERS"])),
    said(headers(b""), *(ContinuationFrame(1, BAD[i : i + 1]) for i in range(len(BAD))))
    + ContinuationFrame(1, b"", flags=["END_HEADERS"]).serialize(),
    HARMLESS + headers(BAD, "END_HEADERS", stream=7),
]


@given(st.sets(st.integers(1, len(HARMLESS) - 1)))
def test_what_is_harmless_passes_in_any_pieces(cuts: set[int]) -> None:
    scanner = RequestScanner()
    places = [0, *sorted(cuts), len(HARMLESS)]
    passed = [scanner.feed(HARMLESS[begin:end]) for begin, end in itertools.pairwise(places)]
    assert b"".join(passed) == HARMLESS


@given(st.data())
def test_of_what_ends_a_server_no_header_is_passed_on(data: st.DataObject) -> None:
    harmful = data.draw(st.sampled_from(HARMFUL))
    cuts = data.draw(st.sets(st.integers(1, len(harmful) - 1)))
    scanner = RequestScanner()
    places = [0, *sorted(cuts), len(harmful)]
    pieces = [harmful[begin:end] for begin, end in itertools.pairwise(places)]
    passed = b"".join(scanner.feed(piece) for piece in pieces[:-1])
    assert harmful.startswith(passed)
    assert b"/a/" not in passed.removeprefix(HARMLESS), "a part of the block was passed on"
    with pytest.raises(BadRequest, match="UTF-8"):
        scanner.feed(pieces[-1])


@pytest.mark.parametrize(
    ("frames", "why"),
    [
        ((ContinuationFrame(1, GOOD),), "continuation of no"),
        ((headers(GOOD), PingFrame(opaque_data=b"12345678")), "before the end"),
        ((headers(GOOD), headers(GOOD, stream=3)), "within another"),
        ((headers(GOOD), ContinuationFrame(3, b"")), "continuation of no"),
        ((b"\x00\x00\x01\x01\x04\x00\x00\x00\x00\x83",), "no stream"),
        ((b"\x00\x00\x01\x01\x0c\x00\x00\x00\x01\x05",), "padding"),
        ((b"\x00\x00\x00\x01\x2c\x00\x00\x00\x01",), "padding"),
        ((b"\x01\x00\x01\x01\x04\x00\x00\x00\x01",), "more than 65,536 bytes"),
        ((headers(b""), *(ContinuationFrame(1, b"") for _ in range(15_000))), "more than"),
        ((headers(LONG), *(ContinuationFrame(1, b"\x00" * 16384) for _ in range(4))), "more than"),
    ],
)
def test_what_is_no_http2_is_refused(frames: tuple[bytes | Frame, ...], why: str) -> None:
    with pytest.raises(BadRequest, match=why):
        RequestScanner().feed(said(*frames))


def test_other_protocols_are_the_servers_to_refuse() -> None:
    scanner = RequestScanner()
    assert scanner.feed(b"GET / HTTP/1.1\r\n") == b"GET / HTTP/1.1\r\n"
    assert scanner.feed(HARMFUL[0]) == HARMFUL[0]


def test_frames_without_headers_are_not_kept() -> None:
    scanner = RequestScanner()
    for said_next in (
        said(PushPromiseFrame(1, 2, BAD)),
        b"\xff\xff\xff\x00\x00\x00\x00\x00\x01" + b"x" * 100_000,
    ):
        assert scanner.feed(said_next) == said_next
    assert not scanner._kept


@given(st.binary(max_size=500))
def test_any_bytes_are_judged(wire: bytes) -> None:
    scanner = RequestScanner()
    with contextlib.suppress(BadRequest):
        for begin in range(0, len(wire), 7):
            scanner.feed(PREFACE * (not begin) + wire[begin : begin + 7])
