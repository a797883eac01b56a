"""Which lines may come from an adapter, and when: a pure state machine, fed with bytes.

Rule: whatever an adapter must not say is found here, and nothing here knows a process or a clock.
"""

from __future__ import annotations

from typing import Final

import msgspec

from client_under_test.contract import messages as contract
from client_under_test.contract.invalid_line import InvalidLine, undecodable
from client_under_test.contract.messages import (
    Answer,
    AskHello,
    Capability,
    Close,
    Done,
    Error,
    Finished,
    Hello,
    OpenChannel,
    Opened,
    PolicyUpdate,
    RegisterPolicy,
    Request,
    StartCalls,
    State,
    Watch,
)

# No message of the contract comes near: the longest are details of a status.
LONGEST_LINE: Final = 1 << 20

# What a conversation may say at all: a start (states of watched channels come unasked), and so
# much more for every request and every call.
BYTES_AT_FIRST: Final = 8 << 20
BYTES_A_REQUEST: Final = 4 << 10
BYTES_A_CALL: Final = 16 << 10

# A policy's config comes in a message of at most 4 MiB, as gRPC takes them. As JSON text in a JSON
# line a character may be six; and each update may go to several instances.
LONGEST_UPDATE: Final = 32 << 20
BYTES_A_POLICY: Final = 128 << 20


class Flood(Exception):
    """Far more was said than what was asked can explain."""


class OtherContract(Exception):
    """A hello in another version of the contract.

    Args:
        version: the version.
    """

    def __init__(self, version: int) -> None:
        super().__init__(f"version {version}")
        self.version: Final = version


class _AnyHello(msgspec.Struct, frozen=True, tag_field="type", tag="hello"):
    """What a hello of every version has."""

    contract: int


_decode: Final = msgspec.json.Decoder(Answer).decode
_decode_any_hello: Final = msgspec.json.Decoder(_AnyHello).decode


class Conversation:
    """What has been asked and not answered to its end, on one pair of pipes."""

    def __init__(self) -> None:
        self._version: int | None = None  # which the adapter speaks, once it has said hello
        self._capabilities: frozenset[Capability] = frozenset()
        self._rest = b""
        self._longest_line = LONGEST_LINE
        self._allowance = BYTES_AT_FIRST
        self._requests: dict[int, Request | None] = {}
        self._answered: set[int] = set()
        self._policies: set[int] = set()
        self._instances: dict[int, int] = {}  # policies by the numbers of their instances
        self._opened_any = False
        self._open: set[int] = set()
        self._watched: set[int] = set()
        self._calls: dict[str, int] = {}  # unfinished, by id: their request
        self._known_calls: set[str] = set()

    @property
    def has_calls(self) -> bool:
        """Return whether a call has not finished."""
        return bool(self._calls)

    @property
    def is_idle(self) -> bool:
        """Return whether every request has been answered, and every call has finished."""
        return not self._requests and not self._calls

    def ask(self, request: Request) -> bytes:
        """Return the line for a request; the adapter may respond from now on.

        Raises:
            ValueError: the id of the request, or of a call, has been used before; or it is not to
                be asked of this adapter, or not now.
        """
        if isinstance(request, RegisterPolicy):
            self._register(request)
        if isinstance(request, StartCalls):
            names = [call.id for call in request.calls]
            if len(set(names)) < len(names) or not self._known_calls.isdisjoint(names):
                raise ValueError("an id of a call is used twice in one process")
            self._known_calls.update(names)
            self._calls.update(dict.fromkeys(names, request.id))
            self._allowance += BYTES_A_CALL * len(names)
        if isinstance(request, OpenChannel):
            if request.service_config is not None:
                self._check_able("custom_policy")
            if request.bootstrap is not None:
                self._check_able("bootstrap_per_channel")
            self._opened_any = True
            self._open.add(request.id)
        if isinstance(request, Close):
            self._open.discard(request.channel)
        if isinstance(request, Watch):
            self._watched.add(request.channel)
        self.expect(request.id, request)
        return msgspec.json.encode(request) + b"\n"

    def _register(self, request: RegisterPolicy) -> None:
        self._check_able("custom_policy")
        if self._opened_any:
            raise ValueError("a policy is registered before the first channel is opened")
        self._policies.add(request.id)
        self._longest_line = LONGEST_UPDATE
        self._allowance += BYTES_A_POLICY

    def _check_able(self, capability: Capability) -> None:
        if capability not in self._capabilities:
            raise ValueError(f"the adapter's hello does not tell of {capability}")

    def expect(self, number: int, request: Request | None = None) -> None:
        """Let this request id be answered, though what was asked may be no request at all."""
        if number in self._requests:
            raise ValueError(f"request id {number} is used twice")
        self._requests[number] = request
        self._allowance += BYTES_A_REQUEST

    def hear(self, data: bytes) -> list[Answer]:
        """Return the messages that are complete now.

        Raises:
            Babble, Flood, OtherContract: the conversation cannot go on.
        """
        self._allowance -= len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        answers = [self._message(line) for line in lines]
        if len(self._rest) > self._longest_line or self._allowance < 0:
            raise Flood
        return answers

    def _message(self, line: bytes) -> Answer:
        try:
            answer: Answer = _decode(line)
        except msgspec.DecodeError as trouble:
            self._check_contract(line)
            raise undecodable(line, trouble) from trouble
        if isinstance(answer, Hello) and answer.contract not in contract.VERSIONS:
            raise OtherContract(answer.contract)
        self._check(answer, line)
        if isinstance(answer, Hello):
            self._version = answer.contract
            self._capabilities = frozenset(answer.capabilities)
        return answer

    def _check_contract(self, line: bytes) -> None:
        """Accept unknown fields in a hello of another version of the contract."""
        try:
            hello = _decode_any_hello(line)
        except msgspec.DecodeError:
            return
        if hello.contract not in contract.VERSIONS:
            raise OtherContract(hello.contract)

    def _check(self, answer: Answer, line: bytes) -> None:
        """Check that the adapter may send this message now."""
        if (why := self._repeated(answer)) is not None:
            raise InvalidLine(line, why, "twice")
        why = self._against_hello(answer) if isinstance(answer, Hello) else None
        why = why or (
            self._against_reply(answer)
            if isinstance(answer, Hello | Done | Error)
            else self._against_report(answer)
        )
        if why is not None:
            raise InvalidLine(line, why)

    def _repeated(self, answer: Answer) -> str | None:
        """Return what the adapter has answered or reported before, if this does so once more."""
        if isinstance(answer, Hello | Done | Error):
            if answer.id not in self._requests and answer.id in self._answered:
                return f"request {answer.id} has already been answered"
        elif isinstance(answer, Finished) and (
            answer.call in self._known_calls and answer.call not in self._calls
        ):
            return f"call {answer.call} has already finished"
        return None

    def _against_reply(self, answer: Hello | Done | Error) -> str | None:
        """Why a request cannot be answered so; else it has been answered."""
        number = answer.id
        if number is None:
            return None
        if number not in self._requests:
            return f"request {number} was not asked"
        if isinstance(answer, Hello) != isinstance(self._requests[number], AskHello) and not (
            isinstance(answer, Error)
        ):
            return f"request {number} is not answered so"
        if isinstance(answer, Done) and number in self._calls.values():
            return f"calls of request {number} have not finished"
        asked = self._requests[number]
        if isinstance(answer, Done) and isinstance(asked, Watch) and asked.channel in self._open:
            return f"channel {asked.channel} is watched until it is closed"
        del self._requests[number]
        self._answered.add(number)
        if isinstance(answer, Error):
            self._policies.discard(number)
            self._calls = {name: asked for name, asked in self._calls.items() if asked != number}
        return None

    def _against_hello(self, hello: Hello) -> str | None:
        """Why this hello is none of its version, or not of the one that was said before."""
        if self._version not in {None, hello.contract}:
            return f"a hello of contract {hello.contract} after one of {self._version}"
        if hello.contract == 1 and (
            new := sorted(contract.NEW_IN_2.intersection(hello.capabilities))
        ):
            return f"contract 1 has no capability {new[0]}: it came with 2"
        return None

    def _against_report(self, answer: Opened | Finished | State | PolicyUpdate) -> str | None:
        """Why this cannot be reported."""
        if isinstance(answer, PolicyUpdate):
            return self._against_update(answer)
        if isinstance(answer, State):
            watched = answer.channel in self._watched
            return None if watched else f"channel {answer.channel} is not watched"
        if answer.call not in self._calls:
            return f"call {answer.call} was not requested, or has already finished"
        if isinstance(answer, Finished):
            del self._calls[answer.call]
        return None

    def _against_update(self, update: PolicyUpdate) -> str | None:
        """Return why no policy can have received this update."""
        if update.policy not in self._policies:
            return f"policy {update.policy} was not registered by the suite"
        known = self._instances.setdefault(update.instance, update.policy)
        if known != update.policy:
            return f"instance {update.instance} belongs to policy {known}"
        return None
