"""Frames of HTTP/2 in bytes that come in any pieces."""

from __future__ import annotations

import itertools

from hyperframe.frame import DataFrame, Frame, GoAwayFrame, PingFrame, SettingsFrame
from hypothesis import given
from hypothesis import strategies as st

from request_filter import Frames
from test_servers.go_away import GO_AWAY

SAID = [
    SettingsFrame(settings={3: 100}).serialize(),
    SettingsFrame().serialize(),
    DataFrame(1, data=b"x" * 300).serialize(),
    PingFrame(opaque_data=b"12345678").serialize(),
]
ALL = b"".join(SAID)
ENDS = [sum(map(len, SAID[: number + 1])) for number in range(len(SAID))]


@given(st.sets(st.integers(1, len(ALL) - 1)))
def test_the_first_end_in_each_piece(cuts: set[int]) -> None:
    frames = Frames()
    places = [0, *sorted(cuts), len(ALL)]
    for begin, end in itertools.pairwise(places):
        within = [place for place in ENDS if begin < place <= end]
        assert frames.feed(ALL[begin:end]) == (within[0] - begin if within else None)
        assert frames.is_between is (end in ENDS)
        assert frames.count == sum(place <= end for place in ENDS)


def test_go_away() -> None:
    header, length = Frame.parse_frame_header(memoryview(GO_AWAY[:9]))
    header.parse_body(memoryview(GO_AWAY[9 : 9 + length]))
    assert isinstance(header, GoAwayFrame)
    assert (header.last_stream_id, header.error_code) == (2**31 - 1, 0)
