"""What waits for a client that does not read."""

from __future__ import annotations

from fake_control_plane import Kind, Packed
from fake_control_plane.load_reporting import LoadReporting
from fake_control_plane.outbox import MOST_BYTES, MOST_ITEMS, NewestOnly, Outbox, ResponseRules
from fake_control_plane.stream import Outgoing

CDS, EDS = Kind.CLUSTER, Kind.ENDPOINTS


def response(kind: Kind, number: int, *names: str, size: int = 1, fault: str = "") -> Outgoing:
    return Outgoing(
        type_url=kind.type_url,
        version=str(number),
        nonce=f"1.{number}",
        resources=tuple(Packed(name, kind.type_url, b"%d" % number * size) for name in names),
        fault=fault,
    )


def taken(outbox: Outbox[Outgoing]) -> list[tuple[str, dict[str, bytes]]]:
    """What is sent, each resource with the first byte of its body, which tells its version."""
    sent = []
    while outbox:
        taken_response = outbox.take()
        sent.append(
            (
                taken_response.version,
                {packed.name: packed.body[:1] for packed in taken_response.resources},
            )
        )
    return sent


def test_up_to_the_bound_each_version_is_sent() -> None:
    outbox = Outbox(ResponseRules())
    for number in range(MOST_ITEMS):
        assert not outbox.put(response(EDS, number, "a"))
    assert [version for version, _ in taken(outbox)] == [str(n) for n in range(MOST_ITEMS)]


def test_beyond_the_bound_the_newest_version_of_each_resource_is_left() -> None:
    outbox = Outbox(ResponseRules())
    large = MOST_BYTES // 4
    assert not outbox.put(response(EDS, 1, "a", "b"))
    assert not outbox.put(response(CDS, 2, "x", "y"))
    assert not outbox.put(response(EDS, 3, "b", size=large))
    assert not outbox.put(response(CDS, 4, "x", size=large))
    assert not outbox.put(response(EDS, 5, "c", fault="resend"))
    assert not outbox.put(response(EDS, 6, "c", size=large))
    given_up = outbox.put(response(EDS, 7, "b", size=large))
    assert [given_up_response.version for given_up_response in given_up] == ["1", "2", "3", "6"]
    assert taken(outbox) == [
        ("4", {"x": b"4"}),
        ("5", {"c": b"5"}),
        ("7", {"a": b"1", "c": b"6", "b": b"7"}),
    ]


def test_many_small_responses_are_bounded_too() -> None:
    outbox = Outbox(ResponseRules())
    for number in range(10 * MOST_ITEMS):
        outbox.put(response(EDS, number, "a"))
        assert len(outbox) <= MOST_ITEMS
    assert taken(outbox)[-1][0] == str(10 * MOST_ITEMS - 1)


def test_one_response_is_kept_whatever_its_size() -> None:
    outbox = Outbox(ResponseRules())
    assert not outbox.put(response(EDS, 1, "a", size=MOST_BYTES + 1))
    assert len(outbox) == 1


def test_of_what_is_asked_for_the_last_counts() -> None:
    outbox = Outbox[LoadReporting](NewestOnly())
    asked = [LoadReporting(interval=1.0 + number) for number in range(MOST_ITEMS + 1)]
    given_up = [dropped for item in asked for dropped in outbox.put(item)]
    assert given_up == asked[:-1]
    assert outbox.take() == asked[-1]
