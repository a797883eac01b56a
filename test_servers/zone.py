"""What a name server answers: names and their answers as frozen values, and the wire format.

Pure: bytes in, bytes out. Sockets are in `name_server`.
"""

import ipaddress
from collections.abc import Mapping
from typing import Literal

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.rrset
import msgspec

__all__ = [
    "Answer",
    "NameRecords",
    "NoSuchName",
    "Question",
    "Reply",
    "ServerFailure",
    "Silence",
    "Transport",
    "reply_to",
]

Transport = Literal["UDP", "TCP"]

_SMALLEST = 512
"""Bytes of a UDP message that every resolver accepts (RFC 1035, 2.3.4)."""

_LARGEST = 65535
"""Most bytes of a message over TCP: its length field has two bytes."""


class NameRecords(msgspec.Struct, frozen=True, tag="FOUND", tag_field="answer"):
    """A name that is there.

    Attributes:
        addresses: Its IPv4 and IPv6 addresses, in the order of the answer.
        texts: Its TXT records.
        services: Its SRV records: port and name of each.
        is_truncated: Whether an answer over UDP is empty and marked as truncated, so that the
            resolver must ask again over TCP.
        ttl: Seconds for which the records may be kept; few, so that who asks again hears what is
            so by then.
    """

    addresses: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    services: tuple[tuple[int, str], ...] = ()
    is_truncated: bool = False
    ttl: int = 1


class NoSuchName(msgspec.Struct, frozen=True, tag="NXDOMAIN", tag_field="answer"):
    """A name that is not there, as those that nothing is said of."""


class ServerFailure(msgspec.Struct, frozen=True, tag="SERVFAIL", tag_field="answer"):
    """A name of which the server cannot say whether it is there."""


class Silence(msgspec.Struct, frozen=True, tag="SILENCE", tag_field="answer"):
    """A name to which the server says nothing."""


Answer = NameRecords | NoSuchName | ServerFailure | Silence


class Question(msgspec.Struct, frozen=True):
    """What is asked.

    Attributes:
        name: In lower case, without the dot at its end.
        kind: The type of records, such as "A" or "TXT".
    """

    name: str
    kind: str


class Reply(msgspec.Struct, frozen=True):
    """What was asked, and the bytes that answer it.

    Attributes:
        question: The question.
        answer: The zone's answer for that name.
        wire: The encoded response. None: the server does not respond.
    """

    question: Question
    answer: Answer
    wire: bytes | None


def reply_to(wire: bytes, names: Mapping[str, Answer], transport: Transport) -> Reply | None:
    """Answers a query. None: this is no query that could be answered.

    Args:
        wire: The query.
        names: All names that there are, in lower case and without the dot at their end.
        transport: How it came.
    """
    try:
        query = dns.message.from_wire(wire)
        (asked,) = query.question
    except (dns.exception.DNSException, ValueError):
        return None
    if query.flags & dns.flags.QR or asked.rdclass != dns.rdataclass.IN:
        return None
    name = asked.name.to_text(omit_final_dot=True).lower()
    question = Question(name, dns.rdatatype.to_text(asked.rdtype))
    answer = names.get(name, NoSuchName())
    message = _message(query, question, answer)
    if message is None:
        return Reply(question, answer, None)
    is_short = transport == "UDP" and isinstance(answer, NameRecords) and answer.is_truncated
    room = max(query.payload, _SMALLEST) if transport == "UDP" else _LARGEST
    return Reply(question, answer, _short(query) if is_short else _written(query, message, room))


def _message(
    query: dns.message.Message, question: Question, answer: Answer
) -> dns.message.Message | None:
    if isinstance(answer, Silence):
        return None
    message = dns.message.make_response(query, recursion_available=True)
    if isinstance(answer, ServerFailure):
        message.set_rcode(dns.rcode.SERVFAIL)
    elif isinstance(answer, NoSuchName):
        message.set_rcode(dns.rcode.NXDOMAIN)
    else:
        own = query.question[0].name  # as it was asked: who mixes cases looks whether they return
        message.answer += [  # one by one: what stands together is shuffled
            dns.rrset.from_text(own, answer.ttl, "IN", question.kind, record)
            for record in _records(question, answer)
        ]
    return message


def _records(question: Question, found: NameRecords) -> list[str]:
    """Return the records of this kind, as in a zone file."""
    versions = {"A": 4, "AAAA": 6}
    match question.kind:
        case "A" | "AAAA" as kind:
            addresses = found.addresses
            return [a for a in addresses if ipaddress.ip_address(a).version == versions[kind]]
        case "TXT":
            return [_quoted(text) for text in found.texts]
        case "SRV":
            return [f"0 0 {port} {name}." for port, name in found.services]
        case _:
            return []


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _written(query: dns.message.Message, message: dns.message.Message, room: int) -> bytes:
    try:
        return message.to_wire(max_size=room)
    except dns.exception.TooBig:
        return _short(query)


def _short(query: dns.message.Message) -> bytes:
    message = dns.message.make_response(query, recursion_available=True)
    message.flags |= dns.flags.TC
    return message.to_wire()
