"""A conversation that can be waited for: what was heard goes to those who asked."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable
from typing import Final, Protocol

from client_under_test.contract import messages as contract
from client_under_test.contract.adapter_clock import Clock
from client_under_test.contract.conversation import Conversation
from client_under_test.contract.exceptions import (
    ClientHung,
    ConversationFailed,
    DoneMissing,
    RequestRefused,
    Unanswered,
)
from client_under_test.contract.messages import (
    Answer,
    AskHello,
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

Listener = Callable[[Answer], None]


class LineLog(Protocol):
    """Receives everything that is written and read."""

    def sent(self, line: bytes) -> None:
        """Receive a line to the adapter."""

    def received(self, data: bytes) -> None:
        """Receive what was read from the adapter."""


class StdioProtocol:
    """Asks, and lets others wait for what is heard.

    Args:
        write: takes a line to the adapter's stdin.
        stderr_tail: gives the last lines of its stderr.
    """

    def __init__(self, write: Callable[[bytes], None], stderr_tail: Callable[[], str]) -> None:
        self.clock: Final = Clock()
        self.hello: Hello | None = None
        self.errors_without_id: list[str] = []
        self.log: LineLog | None = None
        self._write = write
        self._stderr_tail = stderr_tail
        self._conversation = Conversation()
        self._numbers = itertools.count()
        self._asked_hello: dict[int, float] = {}
        self._asked_calls: dict[str, float] = {}
        self._asked_channels: dict[int, float] = {}
        self._asked_policies: dict[int, float] = {}
        self._done: set[int] = set()
        self._refused: dict[int, str] = {}
        self._calls: dict[str, Listener] = {}
        self._channels: dict[int, Listener] = {}
        self._policies: dict[int, Listener] = {}
        self._failure: ConversationFailed | None = None
        self._news = asyncio.Event()

    # Asking.

    def next_id(self) -> int:
        """Return a new request id."""
        return next(self._numbers)

    def ask(self, request: Request) -> None:
        """Send a request and do not wait.

        Raises:
            ConversationFailed: it is over.
        """
        if self._failure is not None:
            raise self._failure
        line, now = self._conversation.ask(request), time.monotonic()
        match request:
            case AskHello(id=number):
                self._asked_hello[number] = now
            case RegisterPolicy(id=number):
                self._asked_policies[number] = now
            case OpenChannel(id=number):
                self._asked_channels[number] = now
            case Watch(channel=number):
                self._asked_channels.setdefault(number, now)
            case StartCalls(calls=calls):
                self._asked_calls.update((call.id, now) for call in calls)
        self._send(line)

    def ask_badly(self, line: bytes, number: int | None) -> None:
        """Send a line that is no request; an error may answer it, with this id or with none."""
        if number is not None:
            self._conversation.expect(number)
        self._send(line + b"\n")

    def _send(self, line: bytes) -> None:
        if self.log is not None:
            self.log.sent(line)
        self._write(line)

    async def say_hello(self) -> None:
        """Ask for a hello and hear it; each one may narrow the clock.

        Raises:
            RequestRefused: the adapter answered with an error.
            ConversationFailed: it is over.
        """
        number = self.next_id()
        self.ask(AskHello(id=number, contract=contract.NEWEST))
        await self.until(lambda: number not in self._asked_hello or number in self._refused)
        self.check_refusal(number, "`hello`")

    async def ask_and_wait(self, request: Request, *, deadline: float) -> None:
        """Send a request and wait until it is done.

        Raises:
            RequestRefused: the adapter answered with an error.
            Unanswered: it did not answer within `deadline` seconds.
            ConversationFailed: it is over.
        """
        self.ask(request)
        what = f"`{request.__struct_config__.tag}`"
        try:
            async with asyncio.timeout(deadline):
                await self.until(lambda: self.is_over(request.id))
        except TimeoutError:
            raise self.hung(f"did not answer {what} within {deadline:g} s", Unanswered) from None
        self.check_refusal(request.id, what)

    # Waiting.

    @property
    def has_calls(self) -> bool:
        """Return whether a call has not finished."""
        return self._conversation.has_calls

    def is_over(self, number: int) -> bool:
        """Return whether the adapter has done or refused a request."""
        return number in self._done or number in self._refused

    async def settled(self, *, deadline: float) -> None:
        """Wait until every request has been answered, and every call has finished.

        Raises:
            ClientHung: they have not within `deadline` seconds.
            ConversationFailed: it is over.
        """
        try:
            async with asyncio.timeout(deadline):
                await self.until(lambda: self._conversation.is_idle)
        except TimeoutError:
            raise self.hung(f"left a request or a call unfinished for {deadline:g} s") from None

    def check_refusal(self, number: int, what: str) -> None:
        """Raise what the adapter said against a request, if it did.

        Raises:
            RequestRefused: it did.
        """
        if number in self._refused:
            raise RequestRefused(
                f"the adapter refused {what}: {self._refused[number]}",
                hello_said=self.hello is not None,
                stderr_tail=self._stderr_tail(),
            )

    def hung(self, what: str, kind: type[ClientHung] = ClientHung) -> ClientHung:
        """Return the exception for a client that missed a deadline."""
        return kind(
            f"the client {what}",
            hello_said=self.hello is not None,
            stderr_tail=self._stderr_tail(),
        )

    def done_missing(self, number: int) -> DoneMissing:
        """Return the exception for a request whose calls have finished, without a `done`."""
        return DoneMissing(
            number, hello_said=self.hello is not None, stderr_tail=self._stderr_tail()
        )

    async def until(self, ready: Callable[[], bool]) -> None:
        """Wait until `ready()`, looking whenever something was heard; the caller sets the deadline.

        Raises:
            ConversationFailed: it is over, and not ready.
        """
        while not ready():
            if self._failure is not None:
                raise self._failure
            await self._news.wait()

    # Hearing.

    def hear(self, data: bytes) -> None:
        """Take in what the adapter wrote.

        Raises:
            Babble, Flood, OtherContract: see `conversation`.
            Impossible: see `clock`.
        """
        heard_at = time.monotonic()
        if self.log is not None:
            self.log.received(data)
        for answer in self._conversation.hear(data):
            self._check_times(answer, heard_at)
            match answer:
                case Hello(id=number, at=at):
                    asked_at = self._asked_hello[number]
                    self.clock.heard(at, asked_at=asked_at, heard_at=heard_at)
                    self.hello = answer
                    del self._asked_hello[number]
                case Opened(call=name):
                    self._calls[name](answer)
                case Finished(call=name):
                    self._calls.pop(name)(answer)
                case State(channel=number):
                    self._channels[number](answer)
                case PolicyUpdate(policy=number):
                    self._policies[number](answer)
                case Done(id=number):
                    self._done.add(number)
                case Error():
                    self._take_error(answer)
        self._wake()

    def _take_error(self, error: Error) -> None:
        if error.id is not None:
            self._refused[error.id] = error.message
        elif self.hello is None:
            # Nothing else was asked: it is the hello that the adapter could not read.
            self._refused.update(dict.fromkeys(self._asked_hello, error.message))
        else:
            self.errors_without_id.append(error.message)

    def _check_times(self, answer: Answer, heard_at: float) -> None:
        """Check that the times in an answer are possible.

        Raises:
            Impossible: a time is not possible.
        """
        check = self.clock.check
        match answer:
            case Opened(call=name, at=at):
                asked_at = self._asked_calls[name]
                check(f"that {name} opened", at, asked_at=asked_at, heard_at=heard_at)
            case Finished(call=name, started_at=started, ended_at=ended):
                asked_at = self._asked_calls.pop(name)
                check(f"that {name} started", started, asked_at=asked_at, heard_at=heard_at)
                check(f"that {name} ended", ended, asked_at=asked_at, heard_at=heard_at)
                self.clock.check_span(name, started, ended)
            case State(channel=number, state=state, at=at):
                what = f"that channel {number} was {state}"
                asked_at = self._asked_channels[number]
                check(what, at, asked_at=asked_at, heard_at=heard_at)
            case PolicyUpdate(policy=number, instance=instance, at=at):
                what = f"that instance {instance} of its policy was updated"
                asked_at = self._asked_policies[number]
                check(what, at, asked_at=asked_at, heard_at=heard_at)

    def fail(self, failure: ConversationFailed) -> None:
        """End the conversation: all waiting calls raise the failure; later failures are ignored."""
        if self._failure is None:
            self._failure = failure
            self._wake()

    @property
    def failure(self) -> ConversationFailed | None:
        """What ended the conversation, if it is over."""
        return self._failure

    def listen_to_call(self, name: str, listener: Listener) -> None:
        """Give the answers about a call to `listener`."""
        self._calls[name] = listener

    def listen_to_channel(self, number: int, listener: Listener) -> None:
        """Give the states of a channel to `listener`."""
        self._channels[number] = listener

    def listen_to_policy(self, number: int, listener: Listener) -> None:
        """Give the updates of a registered policy to `listener`."""
        self._policies[number] = listener

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()
