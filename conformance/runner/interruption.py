"""End the command and all its processes on a signal, once, after printing what it has so far.

Loads nothing but a little of the standard library, so that it is there before anything else.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

INTERRUPTED = 2

TELLING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that tell the command to end: the last comes when its terminal is closed."""

AGAIN = 1.0
"""Seconds after which another signal means that the user does not want to wait for a report. An
earlier one repeats the first signal: a key that was held, or a terminal and a script that both send
it."""

GONE = 5.0
"""Seconds for what was killed to be gone, which takes a moment on a loaded machine."""


class _Ending:
    """How far the end has come, and what it is to bring about."""

    def __init__(self) -> None:
        self.heeds = False
        self.told_at: float | None = None
        self.has_begun = False
        self.answers: list[Callable[[], None] | None] = []
        """What is said at the end, the innermost alone; None: nothing ends just now."""
        self.cleaning: list[Callable[[], None]] = []


_ending = _Ending()


def end_at_once_when_told() -> None:
    """From now on a signal that tells the command to end leaves nothing running, and exit code 2.

    A command that ignores the end of its terminal, as under `nohup`, continues to ignore it.
    """
    for number in TELLING:
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _told)
    _ending.heeds = True
    signal.pthread_sigmask(signal.SIG_UNBLOCK, TELLING)  # the parent process blocked them


def end_is_decided() -> None:
    """Ignore signals once the exit code is decided, while Python shuts down."""
    if _ending.heeds:
        for number in TELLING:
            signal.signal(number, signal.SIG_IGN)


@contextmanager
def last_words(say: Callable[[], None]) -> Iterator[None]:
    """Call `say` if a signal ends the command in this block, after all its processes have ended."""
    with _answered(say):
        yield


@contextmanager
def postponed() -> Iterator[None]:
    """Delay a signal that ends the command until the end of this block."""
    with _answered(None):
        yield


@contextmanager
def resumed() -> Iterator[None]:
    """In a block that is `postponed`, let the command end in this one as it would without that."""
    _, *outer = reversed(_ending.answers)
    with _answered(outer[0] if outer else lambda: None):
        yield


@contextmanager
def cleaned_up(clean: Callable[[], None]) -> Iterator[None]:
    """Call `clean` if a signal ends the command in this block."""
    _ending.cleaning.append(clean)
    try:
        yield
    finally:
        _ending.cleaning.remove(clean)


@contextmanager
def _answered(answer: Callable[[], None] | None) -> Iterator[None]:
    _ending.answers.append(answer)
    try:
        _end_if_told()
        yield
    finally:
        _ending.answers.pop()
        _end_if_told()


def _told(_number: int, _frame: FrameType | None) -> None:
    now = time.monotonic()
    if _ending.told_at is None:
        _ending.told_at = now
        _end_if_told()
    elif now - _ending.told_at > AGAIN:
        _leave()


def _end_if_told() -> None:
    answers = _ending.answers
    if _ending.told_at is None or _ending.has_begun or (answers and answers[-1] is None):
        return
    _ending.has_begun = True
    end_everything_below()
    _speak_anew()
    if answers and (say := answers[-1]) is not None:
        with suppress(Exception):
            say()
    _leave()


def _leave() -> None:
    try:
        end_everything_below()
        for clean in _ending.cleaning:
            with suppress(Exception):
                clean()
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
    finally:
        os._exit(INTERRUPTED)


def _speak_anew() -> None:
    """Open new output streams: the signal may have interrupted a write to the old ones."""
    for name in ("stdout", "stderr"):
        with suppress(Exception):
            stream = getattr(sys, name)
            with suppress(Exception):
                stream.flush()
            encoding, errors = stream.encoding, stream.errors
            again = os.fdopen(stream.fileno(), "w", closefd=False, encoding=encoding, errors=errors)
            setattr(sys, name, again)


# What is below.


class _Late(Exception):
    """What was killed is still there."""


def end_everything_below() -> None:
    """Kill workers, their clients and what those have started, and see them gone.

    Where there is no /proc, workers and clients end when their stdin does.
    """
    with suppress(_Late), _bounded():
        while there := list(_below(os.getpid())):
            for pid in there:
                _kill(pid)
            for pid in there:
                # A grandchild becomes a child when its parent has died. WNOWAIT leaves the exit
                # status to the code that started the process.
                with suppress(ChildProcessError):
                    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


def _kill(pid: int) -> None:
    with suppress(OSError):
        if os.getpgid(pid) == pid:
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGKILL)


@contextmanager
def _bounded() -> Iterator[None]:
    def late(_number: int, _frame: FrameType | None) -> None:
        raise _Late

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, GONE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _below(ancestor: int) -> Iterator[int]:
    """Yield the living descendants of a process, parents first."""
    dead = set()
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():  # noqa: PTH112, PTH208
        with suppress(OSError, ValueError, IndexError):
            pid = int(name)
            with open(f"/proc/{pid}/stat", "rb") as stat:  # noqa: PTH123 - pathlib is slow to load
                state, parent, *_ = stat.read().rpartition(b")")[2].split()
            children.setdefault(int(parent), []).append(pid)
            if state in {b"Z", b"X"}:
                dead.add(pid)
    generation = [ancestor]
    while generation:
        generation = [child for parent in generation for child in children.get(parent, [])]
        yield from (pid for pid in generation if pid not in dead)
