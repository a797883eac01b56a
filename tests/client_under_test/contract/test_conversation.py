from __future__ import annotations

import msgspec
import pytest

from client_under_test.contract.conversation import (
    BYTES_A_CALL,
    BYTES_AT_FIRST,
    LONGEST_LINE,
    LONGEST_UPDATE,
    Conversation,
    Flood,
    OtherContract,
)
from client_under_test.contract.invalid_line import InvalidLine
from client_under_test.contract.messages import (
    Answer,
    AskHello,
    Close,
    Done,
    Error,
    Finished,
    OpenChannel,
    PlannedCall,
    PolicyUpdate,
    RegisterPolicy,
    Request,
    StartCalls,
    State,
    Watch,
)

HELLO = b'{"type":"hello","id":0,"contract":1,"name":"n","version":"1","capabilities":[],"at":0}\n'


def call(name: str) -> PlannedCall:
    return PlannedCall(
        id=name, path="/p", metadata=(), deadline=None, wait_for_ready=False, kept_open=False
    )


def start(number: int, *names: str) -> StartCalls:
    calls = tuple(call(name) for name in names)
    return StartCalls(id=number, channel=1, calls=calls, concurrency=None, pace=None)


def finished(name: str) -> bytes:
    rest = b'"status":"OK","details":"","hostname":null,"started_at":1,"ended_at":2}\n'
    return b'{"type":"finished","call":"' + name.encode() + b'",' + rest


def done(number: int) -> bytes:
    return b'{"type":"done","id":%d}\n' % number


def error(number: str) -> bytes:
    return b'{"type":"error","id":%s,"message":"m"}\n' % number.encode()


def state(channel: int) -> bytes:
    return b'{"type":"state","channel":%d,"state":"IDLE","at":1}\n' % channel


@pytest.fixture
def conversation() -> Conversation:
    """Hello asked as 0, channel 1 open and watched by 2, calls a and b under way as 3."""
    conversation = Conversation()
    conversation.ask(AskHello(id=0, contract=1))
    conversation.ask(OpenChannel(id=1, target="t", options={}))
    conversation.hear(done(1))
    conversation.ask(Watch(id=2, channel=1))
    conversation.ask(start(3, "a", "b"))
    return conversation


@pytest.mark.parametrize(
    ("data", "kinds"),
    [
        (HELLO, ["Hello"]),
        (state(1) + state(1), [State, State]),
        (finished("b") + finished("a") + done(3), [Finished, Finished, Done]),
        (finished("b") + error("3"), [Finished, Error]),
        (error("null"), [Error]),
        (done(2) + done(4), [Done, Done]),
        (b"", []),
    ],
)
def test_what_may_be_said(
    conversation: Conversation, data: bytes, kinds: list[type[Answer] | str]
) -> None:
    conversation.ask(Close(id=4, channel=1))
    heard = [kind.__name__ if isinstance(kind, type) else kind for kind in kinds]
    assert [type(answer).__name__ for answer in conversation.hear(data)] == heard


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"Connected!\n", "malformed"),
        (b"\n", "truncated"),
        (b"\xff\xfe\n", "malformed"),
        (b'{"type":"sing"}\n', "sing"),
        (b'{"type":"done","id":2,"extra":1}\n', "extra"),
        (done(7), "request 7 was not asked"),
        (done(1), "request 1 has already been answered"),
        (done(0), "request 0 is not answered so"),
        (done(2), "channel 1 is watched until it is closed"),
        (HELLO + HELLO, "request 0 has already been answered"),
        (HELLO.replace(b'"id":0', b'"id":2'), "request 2 is not answered so"),
        (error("9"), "request 9 was not asked"),
        (finished("c"), "call c was not requested"),
        (finished("a") + finished("a"), "call a has already finished"),
        (finished("a") + done(3), "calls of request 3 have not finished"),
        (error("3") + finished("a"), "call a has already finished"),
        (b'{"type":"opened","call":"z","hostname":"h","at":1}\n', "call z was not requested"),
        (state(8), "channel 8 is not watched"),
    ],
)
def test_babble(conversation: Conversation, data: bytes, why: str) -> None:
    with pytest.raises(InvalidLine) as babble:
        conversation.hear(data)
    assert why in babble.value.why


ENDED = finished("a")[:-1]


@pytest.mark.parametrize(
    ("line", "fault", "why"),
    [
        (b"Connected!", "not JSON", "JSON is malformed"),
        (b"[" * 100_000, "not JSON", ""),
        (b"7", "not JSON", "Expected `object`"),
        (
            ENDED.replace(b'"OK"', b'"Canceled"'),
            "field",
            'answer `finished`: `status` is "Canceled", which is none of OK, CANCELLED, UNKNOWN, ',
        ),
        (
            ENDED.replace(b'"hostname":null,', b""),
            "field",
            "answer `finished` lacks the field `hostname`",
        ),
        (
            ENDED.replace(b'"hostname"', b'"host":1,"hostname"'),
            "field",
            "answer `finished` has an unknown field `host`",
        ),
        (
            ENDED.replace(b'_at":1', b'_at":1.5'),
            "field",
            "answer `finished`: `started_at` is 1.5 (Expected `int`, got `float`)",
        ),
        (
            HELLO[:-1].replace(b"[]", b'["wath"]'),
            "field",
            'answer `hello`: `capabilities` is ["wath"], which is none of metadata, ',
        ),
        (b'{"type":"sing"}', "field", '`type` is "sing", which is none of done, error, '),
        (done(1)[:-1], "twice", "request 1 has already been answered"),
        (done(9)[:-1], "order", "request 9 was not asked"),
    ],
)
def test_each_fault_of_a_line_is_named(
    conversation: Conversation, line: bytes, fault: str, why: str
) -> None:
    with pytest.raises(InvalidLine) as invalid:
        conversation.hear(line + b"\n")
    assert invalid.value.fault == fault
    assert why in invalid.value.why


def test_a_cut_line_shows_the_faulty_field(conversation: Conversation) -> None:
    line = ENDED.replace(b'"details":""', b'"details":"' + b"x" * 900 + b'"')
    line = line.replace(b'"ended_at":2', b'"ended_at":-2')
    with pytest.raises(InvalidLine) as invalid:
        conversation.hear(line + b"\n")
    shown = invalid.value.line
    assert shown.startswith('{"type":"finished","call":"a",')
    assert shown.endswith('"ended_at":-2}')
    assert "x … x" in shown
    with pytest.raises(InvalidLine) as invalid:
        conversation.hear(line.replace(b'"type"', b'"kind"') + b"\n")
    assert invalid.value.line.endswith("xxx …")


@pytest.mark.parametrize(
    "line",
    [
        HELLO.replace(b'"contract":1', b'"contract":3'),
        b'{"type":"hello","contract":3,"greeting":"unheard of"}\n',
    ],
)
def test_another_contract_is_no_babble(conversation: Conversation, line: bytes) -> None:
    with pytest.raises(OtherContract) as other:
        conversation.hear(line)
    assert other.value.version == 3


def test_messages_may_come_in_pieces(conversation: Conversation) -> None:
    data = state(1) + finished("a")
    heard = [answer for byte in data for answer in conversation.hear(bytes([byte]))]
    assert [type(answer) for answer in heard] == [State, Finished]


def test_one_endless_line_is_a_flood(conversation: Conversation) -> None:
    conversation.hear(b"x" * LONGEST_LINE)
    with pytest.raises(Flood):
        conversation.hear(b"x")


def test_states_without_end_are_a_flood(conversation: Conversation) -> None:
    block = state(1) * 1000
    needed = BYTES_AT_FIRST // len(block)
    for _ in range(needed):
        conversation.hear(block)
    with pytest.raises(Flood):
        conversation.hear(block * 10)


def test_more_calls_may_say_more(conversation: Conversation) -> None:
    names = [f"call-{number}" for number in range(1000)]
    conversation.ask(start(9, *names))
    details = b"x" * (BYTES_A_CALL - 500)
    for name in names:
        conversation.hear(finished(name).replace(b'"details":""', b'"details":"%s"' % details))


@pytest.mark.parametrize("names", [("a",), ("c", "c")])
def test_a_call_id_is_used_once(conversation: Conversation, names: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="twice"):
        conversation.ask(start(9, *names))


def test_a_request_id_is_used_once(conversation: Conversation) -> None:
    with pytest.raises(ValueError, match="request id 3 is used twice"):
        conversation.ask(Close(id=3, channel=1))


def hello(version: int, *able: str, number: int = 0) -> bytes:
    told = HELLO.replace(b'"contract":1', b'"contract":%d' % version)
    told = told.replace(b'"id":0', b'"id":%d' % number)
    return told.replace(b'"capabilities":[]', b'"capabilities":' + msgspec.json.encode(able))


def update(policy: int, instance: int) -> bytes:
    told = PolicyUpdate(policy=policy, instance=instance, config="{}", endpoints=(("a:1",),), at=1)
    return msgspec.json.encode(told) + b"\n"


POLICY = RegisterPolicy(id=1, name="p")
CONFIGURED = OpenChannel(id=1, target="t", options={}, service_config="{}")
WITH_BOOTSTRAP = OpenChannel(id=1, target="t", options={}, bootstrap="{}")


def greeted(*hellos: bytes) -> Conversation:
    conversation = Conversation()
    for number, said in enumerate(hellos):
        conversation.ask(AskHello(id=number, contract=2))
        conversation.hear(said)
    return conversation


@pytest.mark.parametrize(
    ("hellos", "why"),
    [
        ([hello(1, "watch")], None),
        ([hello(2, "watch")], None),
        ([hello(2, "custom_policy"), hello(2, "custom_policy", number=1)], None),
        ([hello(1, "watch", "custom_policy")], "contract 1 has no capability custom_policy"),
        ([hello(1, "bootstrap_per_channel")], "contract 1 has no capability bootstrap_per_channel"),
        ([hello(2), hello(1, number=1)], "a hello of contract 1 after one of 2"),
        ([hello(1), hello(2, number=1)], "a hello of contract 2 after one of 1"),
    ],
)
def test_a_hello_is_of_one_version(hellos: list[bytes], why: str | None) -> None:
    if why is None:
        greeted(*hellos)
        return
    with pytest.raises(InvalidLine) as babble:
        greeted(*hellos)
    assert why in babble.value.why


@pytest.mark.parametrize(
    ("said", "before", "request_", "why"),
    [
        (hello(1, "watch"), [], POLICY, "does not tell of custom_policy"),
        (hello(2, "watch"), [], POLICY, "does not tell of custom_policy"),
        (hello(2, "watch"), [], CONFIGURED, "does not tell of custom_policy"),
        (hello(2, "watch"), [], WITH_BOOTSTRAP, "does not tell of bootstrap_per_channel"),
        (
            hello(2, "custom_policy"),
            [OpenChannel(id=3, target="t", options={})],
            POLICY,
            "before the first channel",
        ),
    ],
)
def test_what_version_2_has_is_not_asked_of_everybody(
    said: bytes, before: list[Request], request_: Request, why: str
) -> None:
    conversation = greeted(said)
    for earlier in before:
        conversation.ask(earlier)
    with pytest.raises(ValueError, match=why):
        conversation.ask(request_)


def test_what_is_asked_of_version_1_has_no_field_of_version_2() -> None:
    asked = greeted(hello(1)).ask(OpenChannel(id=1, target="t", options={}))
    assert asked == b'{"type":"open_channel","id":1,"target":"t","options":{}}\n'


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (update(1, 5) + done(1) + update(1, 5) + update(1, 6) + update(2, 7), None),
        (update(3, 5), "policy 3 was not registered by the suite"),
        (error("1") + update(1, 5), "policy 1 was not registered by the suite"),
        (update(1, 5) + update(2, 5), "instance 5 belongs to policy 1"),
    ],
)
def test_updates_of_policies(data: bytes, why: str | None) -> None:
    conversation = greeted(hello(2, "custom_policy"))
    conversation.ask(POLICY)
    conversation.ask(RegisterPolicy(id=2, name="q"))
    if why is None:
        assert len(conversation.hear(data)) == data.count(b"\n")
        return
    with pytest.raises(InvalidLine) as babble:
        conversation.hear(data)
    assert why in babble.value.why


def test_a_config_of_four_mebibytes_is_no_flood() -> None:
    conversation = greeted(hello(2, "custom_policy"))
    conversation.ask(POLICY)
    config = b"\\u0001" * (4 << 20)
    (heard,) = conversation.hear(update(1, 5).replace(b"{}", config))
    assert isinstance(heard, PolicyUpdate)
    assert len(heard.config) == 4 << 20
    with pytest.raises(Flood):
        conversation.hear(b"x" * (LONGEST_UPDATE + 1))
