import asyncio

import pytest

from test_servers import DeadlinePassed
from test_servers.journal import Journal


def is_even(number: int) -> bool:
    return number % 2 == 0


def journal_of(*rows: int) -> Journal[int]:
    journal: Journal[int] = Journal("numbers")
    for row in rows:
        journal.append(row)
    return journal


async def test_what_is_there_already_needs_no_time() -> None:
    assert await journal_of(1, 2, 3, 4).wait(is_even, count=2, deadline=0) == (2, 4)


async def test_what_comes_later_is_waited_for() -> None:
    journal = journal_of(2)
    waiting = asyncio.create_task(journal.wait(is_even, count=3, deadline=2))
    await asyncio.sleep(0)
    for row in (1, 4, 3, 6):
        assert not waiting.done()
        journal.append(row)
    assert await waiting == (2, 4, 6)


async def test_an_amended_row_is_asked_about_again() -> None:
    journal = journal_of(1)
    waiting = asyncio.create_task(journal.wait(is_even, deadline=2))
    await asyncio.sleep(0)
    journal.amend(0, 8)
    assert await waiting == (8,)
    assert journal.rows == (8,)


async def test_rows_have_to_satisfy_at_once() -> None:
    journal = journal_of(2, 1)
    waiting = asyncio.create_task(journal.wait(is_even, count=2, deadline=0.05))
    await asyncio.sleep(0)
    journal.amend(0, 3)
    journal.amend(1, 4)
    with pytest.raises(DeadlinePassed):
        await waiting


async def test_rows_before_the_mark_do_not_count() -> None:
    journal = journal_of(2, 4, 6)
    assert await journal.wait(is_even, since=2, deadline=0) == (6,)
    waiting = asyncio.create_task(journal.wait(is_even, since=3, deadline=2))
    await asyncio.sleep(0)
    journal.amend(0, 8)
    journal.append(10)
    assert await waiting == (10,)


async def test_the_oldest_half_goes_when_there_are_more_than_are_kept() -> None:
    gone: list[int] = []
    journal: Journal[int] = Journal("numbers", 4, gone.extend)
    for number in range(10):
        journal.append(number)
        assert len(journal) == number + 1
        assert len(journal.rows) <= 4
        assert [*gone, *journal.rows] == [*range(number + 1)]
    assert gone == [*range(6)]
    assert (journal.get(5), journal.get(6)) == (None, 6)
    journal.amend(6, 60)
    assert journal.rows == (60, 7, 8, 9)
    assert await journal.wait(is_even, since=7, deadline=0) == (8,)
    with pytest.raises(DeadlinePassed, match=r"1 of 2 awaited numbers .* of 10 in all"):
        await journal.wait(is_even, since=7, count=2, deadline=0)


async def test_a_deadline_says_what_was_seen_instead() -> None:
    with pytest.raises(
        DeadlinePassed,
        match=r"1 of 2 awaited numbers were seen within 0\.01 s, of 3 in all; the last is 5",
    ):
        await journal_of(1, 2, 5).wait(is_even, count=2, deadline=0.01)


async def test_a_faulty_predicate_fails_its_own_wait_alone() -> None:
    journal = journal_of(1)
    faulty = asyncio.create_task(journal.wait(lambda row: 1 // (row - 1) > 1, deadline=2))
    sound = asyncio.create_task(journal.wait(is_even, deadline=2))
    with pytest.raises(ZeroDivisionError):
        await faulty
    journal.append(2)
    assert await sound == (2,)
