"""Every way in which a client can fail to run, in the order of a run."""

from __future__ import annotations

import re
import signal as signals
from typing import Final, Literal

Fault = Literal[
    "not JSON",  # such as a log line
    "field",  # a field is missing, unknown, or has a wrong value
    "twice",  # the answer to a request, or the end of a call, for the second time
    "order",  # a right message at a wrong place
]
"""What is wrong with a line that an adapter must not write."""

LAST_WORDS: Final = 5
"""Lines of stderr that are quoted."""

_CAUSE: Final = re.compile(
    r"(panic|fatal error): |Exception in thread |thread '.*' .*panicked at |terminate called "
)
"""How Go, Java, Rust and C++ begin to report what ends a process."""


class ClientTrouble(Exception):
    """Base of all: its text is one sentence for the user."""


# Before there is a process: bad input.


class UnknownClient(ClientTrouble):
    """No client has this name, the folder is none, or the client has no such variant."""


class BadManifest(ClientTrouble):
    """A client.toml that breaks its rules; the text names file and field."""


class MissingInput(ClientTrouble):
    """The manifest asks the user for something that is not set; the text says what and how."""


class MissingToolchain(ClientTrouble):
    """A program that builds the client is not on this machine; the text says how to get it."""


class NoSuchVersion(ClientTrouble):
    """The client was never published in this version."""


class NoWheel(NoSuchVersion):
    """Published, but not as a wheel for this Python and platform."""


class UnfitSource(ClientTrouble):
    """The client cannot be built from what the user names; the text says why and what can."""


class BuildFailed(ClientTrouble):
    """The client could not be built or installed; the text ends with the builder's own words."""


class CacheUnusable(ClientTrouble):
    """What a client needs cannot be kept on this machine; the text says where and why."""


class NoOwnHosts(ClientTrouble):
    """This machine cannot give a process host names of its own; the text says why."""


class UnknownKnob(ClientTrouble):
    """The client's manifest does not offer this knob, or not for a single channel."""


# In a conversation with the process.


def last_words(stderr_tail: str) -> list[str]:
    """Return what to quote of the end of a process's stderr: lines, at most LAST_WORDS.

    Some languages print the cause before the stack, so the quotation starts there.
    """
    lines = [line for line in stderr_tail.splitlines() if line.strip(" ^~")]
    causes = [index for index, line in enumerate(lines) if _CAUSE.match(line)]
    start = causes[-1] if causes else max(len(lines) - LAST_WORDS, 0)
    return lines[start : start + LAST_WORDS]


_STDERR_ENDS: Final = "; its stderr ends:"


def without_last_words(text: str) -> str:
    """Return the first line of a failure's description, without the announcement of stderr."""
    return text.partition("\n")[0].removesuffix(_STDERR_ENDS)


class ConversationFailed(ClientTrouble):
    """Base of every way a conversation can end badly.

    Args:
        what: what happened, as a sentence without its full stop.
        hello_said: whether the adapter had said hello. Before it, the trouble is the adapter's;
            after it, the client's.
        stderr_tail: the last lines of the process's stderr.
    """

    def __init__(self, what: str, *, hello_said: bool, stderr_tail: str = "") -> None:
        super().__init__(what)
        self.hello_said: Final = hello_said
        self.stderr_tail: Final = stderr_tail

    def with_last_words(self) -> str:
        """Return the failure and the last lines of stderr, if any."""
        lines = last_words(self.stderr_tail)
        return "\n".join([f"{self}{_STDERR_ENDS}", *lines]) if lines else f"{self}"


class NotStarted(ConversationFailed):
    """The system could not start the command at all."""


class ClientUnresponsive(ConversationFailed):
    """The process lives, but its hello did not come in time."""


class WrongContract(ConversationFailed):
    """The adapter speaks a version of the contract that the suite does not.

    Args:
        theirs: the version that it speaks.
        ours: those that the suite speaks.
    """

    def __init__(
        self, theirs: int, ours: tuple[int, ...], *, hello_said: bool = True, stderr_tail: str = ""
    ) -> None:
        super().__init__(
            f"the adapter speaks version {theirs} of the contract, this suite version "
            f"{' or '.join(map(str, ours))}: use an adapter and a suite of one version",
            hello_said=hello_said,
            stderr_tail=stderr_tail,
        )
        self.theirs: Final = theirs


class ClientCrashed(ConversationFailed):
    """The process died by a signal that the suite did not send.

    Args:
        signal: its number.
    """

    def __init__(self, signal: int, *, hello_said: bool, stderr_tail: str = "") -> None:
        super().__init__(
            f"the client died by {signal_name(signal)}",
            hello_said=hello_said,
            stderr_tail=stderr_tail,
        )
        self.signal: Final = signal


class ClientExited(ConversationFailed):
    """The process ended by itself though its stdin was open.

    Args:
        code: its exit code.
    """

    def __init__(self, code: int, *, hello_said: bool, stderr_tail: str = "") -> None:
        super().__init__(
            f"the client exited with code {code}, but the suite had not asked it to exit",
            hello_said=hello_said,
            stderr_tail=stderr_tail,
        )
        self.code: Final = code


class ClientHung(ConversationFailed):
    """The process lives, but did not answer a request, or end a call, in time."""


class Unanswered(ClientHung):
    """The process lives, but did not answer a request in time."""


class DoneMissing(ConversationFailed):
    """The adapter reported the end of every call of a request, but not that the request is done.

    Args:
        number: the id of the request.
    """

    def __init__(self, number: int, *, hello_said: bool, stderr_tail: str = "") -> None:
        super().__init__(
            f"all calls have `finished`, but there is no `done` for request {number}",
            hello_said=hello_said,
            stderr_tail=stderr_tail,
        )


class ClientFlooded(ConversationFailed):
    """The process wrote far more than its requests can explain."""


class ProtocolError(ConversationFailed):
    """The process wrote something to stdout that is no message of the contract.

    Args:
        line: what it wrote, shortened.
        why: what is wrong with it.
        fault: which kind of fault that is.
    """

    def __init__(
        self,
        line: str,
        why: str,
        *,
        hello_said: bool,
        stderr_tail: str = "",
        fault: Fault = "order",
    ) -> None:
        super().__init__(
            f"the adapter wrote a line that is not a valid message ({why}): {line}",
            hello_said=hello_said,
            stderr_tail=stderr_tail,
        )
        self.line: Final = line
        self.why: Final = why
        self.fault: Final[Fault] = fault


class StdoutClosed(ConversationFailed):
    """The process closed its stdout, and keeps running."""

    def __init__(self, *, hello_said: bool, stderr_tail: str = "") -> None:
        super().__init__(
            "the adapter closed its standard output and keeps running",
            hello_said=hello_said,
            stderr_tail=stderr_tail,
        )


class HelloContradicted(ConversationFailed):
    """The adapter's hello contradicts its manifest."""


class ClockWrong(ConversationFailed):
    """The adapter reported times that no monotonic clock can produce."""


class RequestRefused(ConversationFailed):
    """The adapter answered a request with `error`. The conversation can continue."""


class ConversationOver(ConversationFailed):
    """The suite itself has closed the process, and then asked for more."""


# In what was waited for: the process is well.


class NotSeen(ClientTrouble):
    """A stream did not open, or a channel did not reach a state, in the time given."""


def signal_name(number: int) -> str:
    """`SIGSEGV` for 11; `signal 64` for one without a name."""
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"signal {number}"
