"""What a message quotes of a process's stderr."""

from __future__ import annotations

import pytest

from client_under_test.contract.exceptions import (
    LAST_WORDS,
    ClientExited,
    last_words,
    without_last_words,
)

STACK = [f"\tmain.go:{line} +0x1a" for line in range(2000)]
PYTHON = [
    "Traceback (most recent call last):",
    '  File "a.py", line 1',
    "    f()",
    "    ^^^",
    "ValueError: 1",
]


@pytest.mark.parametrize(
    "cause",
    [
        "panic: runtime error: index out of range [-1]",
        "fatal error: all goroutines are asleep - deadlock!",
        'Exception in thread "main" java.lang.IllegalStateException: closed',
        "thread 'main' (4) panicked at src/ring.rs:7:9:",
        "terminate called after throwing an instance of 'std::bad_alloc'",
    ],
)
def test_a_quotation_starts_at_the_cause(cause: str) -> None:
    quoted = last_words("\n".join(["started", cause, "", *STACK]))
    assert quoted == [cause, *STACK[: LAST_WORDS - 1]]


def test_a_quotation_starts_at_the_last_cause() -> None:
    assert last_words("panic: 1\na\npanic: 2\nb")[0] == "panic: 2"


@pytest.mark.parametrize(("lines", "quoted"), [(STACK, STACK[-LAST_WORDS:]), ([], [])])
def test_without_a_cause_it_is_the_end(lines: list[str], quoted: list[str]) -> None:
    assert last_words("\n".join(lines)) == quoted


def test_lines_that_point_at_a_column_are_left_out() -> None:
    assert last_words("\n".join(PYTHON)) == [*PYTHON[:3], PYTHON[4]]


def test_the_first_line_announces_nothing_that_does_not_follow() -> None:
    failure = ClientExited(3, hello_said=True, stderr_tail="no such file\n")
    assert without_last_words(failure.with_last_words()) == f"{failure}"
    assert without_last_words("one line") == "one line"
