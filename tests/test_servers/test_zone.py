"""What is answered to queries, byte by byte, without any socket."""

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import pytest
from hypothesis import given
from hypothesis import strategies as st

from test_servers import Answer, NameRecords, NoSuchName, Question, ServerFailure, Silence
from test_servers.zone import Transport, reply_to

MANY = NameRecords(tuple(f"127.1.{number // 250}.{number % 250 + 1}" for number in range(300)))
NAMES: dict[str, Answer] = {
    "both.test": NameRecords(("127.0.0.2", "::1", "127.0.0.3")),
    "text.test": NameRecords(texts=('grpc_config=[{"a": "b\\\\c"}]',)),
    "service.test": NameRecords(services=((1234, "balancer.test"),)),
    "lasting.test": NameRecords(("127.0.0.5",), ttl=3600),
    "short.test": NameRecords(("127.0.0.4",), is_truncated=True),
    "many.test": MANY,
    "failing.test": ServerFailure(),
    "silent.test": Silence(),
}


def ask(name: str, kind: str, by: Transport = "UDP", **edns: int) -> dns.message.Message:
    query = dns.message.make_query(name, kind, **edns)  # type: ignore[arg-type]
    reply = reply_to(query.to_wire(), NAMES, by)
    assert reply is not None
    assert reply.wire is not None
    response = dns.message.from_wire(reply.wire)
    assert query.is_response(response)
    return response


@pytest.mark.parametrize(
    ("name", "kind", "records"),
    [
        ("both.test", "A", ["127.0.0.2", "127.0.0.3"]),
        ("both.test", "AAAA", ["::1"]),
        ("both.test", "TXT", []),
        ("both.test", "MX", []),
        ("text.test", "TXT", ['"grpc_config=[{\\"a\\": \\"b\\\\\\\\c\\"}]"']),
        ("service.test", "SRV", ["0 0 1234 balancer.test."]),
        ("Both.TEST", "A", ["127.0.0.2", "127.0.0.3"]),
    ],
)
def test_records(name: str, kind: str, records: list[str]) -> None:
    response = ask(name, kind)
    assert response.rcode() == dns.rcode.NOERROR
    assert [str(record) for answer in response.answer for record in answer] == records


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("failing.test", dns.rcode.SERVFAIL),
        ("nobody.test", dns.rcode.NXDOMAIN),
        ("sub.both.test", dns.rcode.NXDOMAIN),
    ],
)
def test_no_records(name: str, code: dns.rcode.Rcode) -> None:
    response = ask(name, "A")
    assert (response.rcode(), response.answer) == (code, [])


@pytest.mark.parametrize(("name", "seconds"), [("both.test", 1), ("lasting.test", 3600)])
def test_time_to_live(name: str, seconds: int) -> None:
    assert {answer.ttl for answer in ask(name, "A").answer} == {seconds}


def test_silence_is_noted() -> None:
    reply = reply_to(dns.message.make_query("silent.test", "AAAA").to_wire(), NAMES, "UDP")
    assert reply is not None
    assert (reply.question, reply.wire) == (Question("silent.test", "AAAA"), None)


@pytest.mark.parametrize(
    ("name", "by", "edns", "is_cut"),
    [
        ("short.test", "UDP", {}, True),
        ("short.test", "TCP", {}, False),
        ("many.test", "UDP", {}, True),
        ("many.test", "UDP", {"use_edns": 0, "payload": 1232}, True),
        ("many.test", "UDP", {"use_edns": 0, "payload": 8192}, False),
        ("many.test", "TCP", {}, False),
    ],
)
def test_truncation(name: str, by: Transport, edns: dict[str, int], *, is_cut: bool) -> None:
    response = ask(name, "A", by, **edns)
    assert bool(response.flags & dns.flags.TC) == is_cut
    assert bool(response.answer) != is_cut


@pytest.mark.parametrize(
    "wire",
    [
        b"",
        b"no query",
        dns.message.Message().to_wire(),
        dns.message.make_query("both.test", "A", "CH").to_wire(),
        dns.message.make_response(dns.message.make_query("both.test", "A")).to_wire(),
    ],
    ids=["nothing", "no-message", "no-question", "another-class", "an-answer"],
)
def test_what_is_no_query(wire: bytes) -> None:
    assert reply_to(wire, NAMES, "UDP") is None


def test_unknown_names_are_told_as_such() -> None:
    reply = reply_to(dns.message.make_query("nobody.test", "A").to_wire(), NAMES, "UDP")
    assert reply is not None
    assert reply.answer == NoSuchName()


@given(
    st.one_of(
        st.binary(max_size=80),
        st.tuples(
            st.sampled_from(["a.test", "b.test", "."]),
            st.sampled_from(["A", "AAAA", "TXT", "SRV", "ANY", "OPT", "AXFR"]),
            st.lists(st.tuples(st.integers(0, 63), st.integers(0, 255)), max_size=4),
            st.integers(0, 64),
        ).map(lambda drawn: mutated(*drawn)),
    ),
    st.sampled_from(["UDP", "TCP"]),
)
def test_any_bytes_are_answered_or_ignored(wire: bytes, transport: Transport) -> None:
    reply = reply_to(wire, {"a.test": NameRecords(addresses=("127.0.0.1",))}, transport)
    if reply is not None and reply.wire is not None:
        assert dns.message.from_wire(reply.wire).flags & dns.flags.QR


def mutated(name: str, kind: str, changes: list[tuple[int, int]], length: int) -> bytes:
    """A query with some bytes changed, perhaps cut short."""
    wire = bytearray(dns.message.make_query(name, kind).to_wire())
    for at, byte in changes:
        wire[at % len(wire)] = byte
    return bytes(wire[:length] if length < len(wire) // 2 else wire)
