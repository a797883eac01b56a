"""Who is accused of telling another story of a call than its backend, and who never is."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from conformance import timing
from conformance.judging.contradictions import ReportedCall, contradictions
from test_servers import Attempt, Rpc, Serve

ANSWERED_AT, ENDED_AT = 10.0, 10.01
DOUBT = 0.5
LONG = timing.WHOLE + DOUBT

ROW = Rpc(
    at=9.99,
    ended_at=ANSWERED_AT,
    status="OK",
    endpoint="endpoint-0",
    connection=1,
    path="/s/m",
    metadata=(),
    deadline=5.0,
)
FAILED = ReportedCall(id="a", status="UNAVAILABLE", details="", ended_at=ENDED_AT, expires_at=14.0)
OPEN = Attempt(endpoint="endpoint-0", connection=1, peer="p", mode=Serve(), accepted_at=9.0)


def found(told: ReportedCall, *rows: Rpc, connection: Attempt | None = OPEN) -> list[str]:
    attempts = [connection] if connection else []
    rpcs = [("a", row) for row in rows]
    return [
        str(contradiction) for contradiction in contradictions([told], rpcs, attempts, doubt=DOUBT)
    ]


@pytest.mark.parametrize(
    ("told", "row", "closed_at"),
    [
        ({}, {}, None),
        ({}, {}, ENDED_AT + LONG),
        ({"status": "DEADLINE_EXCEEDED"}, {}, None),
        ({"status": "CANCELLED"}, {}, None),
        ({"expires_at": None}, {"deadline": None}, None),
        ({"expires_at": ENDED_AT + timing.UNEXPIRED}, {}, None),
        ({"status": "OK"}, {"status": "CANCELLED"}, None),
        ({"status": "OK"}, {"status": "UNAVAILABLE"}, ANSWERED_AT),
    ],
)
def test_who_is_accused(told: dict[str, Any], row: dict[str, Any], closed_at: float | None) -> None:
    connection = replace(OPEN, closed_at=closed_at, closed_by=closed_at and "client")
    outcome, seen = replace(FAILED, **told), replace(ROW, **row)
    (words,) = found(outcome, seen, connection=connection)
    assert words.startswith(f"a as {outcome.status}, but the backend that received it ")


@pytest.mark.parametrize(
    ("told", "row", "connection"),
    [
        ({"status": "OK"}, {}, {}),
        ({"status": "OK"}, {"status": None, "ended_at": None}, {}),
        # Its deadline has passed, or may have.
        ({"expires_at": ENDED_AT}, {}, {}),
        ({"expires_at": ENDED_AT + timing.UNEXPIRED / 2}, {}, {}),
        # The connection broke before the answer, or after, before it can have arrived for sure.
        ({}, {}, {"closed_at": ANSWERED_AT - 1, "closed_by": "gate"}),
        ({}, {}, {"closed_at": ANSWERED_AT, "closed_by": "gate"}),
        ({}, {}, {"closed_at": ENDED_AT, "closed_by": "client"}),
        ({}, {}, {"closed_at": ENDED_AT + LONG - 0.01, "closed_by": "client"}),
        ({}, {}, {"closed_at": ENDED_AT + LONG - 0.01, "closed_by": "backend"}),
        # The backend answered only after the client had given up, as with a gate that held it.
        ({}, {"ended_at": ENDED_AT + 1}, {}),
        # It did not answer at all, or failed the call itself.
        ({}, {"status": "CANCELLED"}, {}),
        ({}, {"status": "RESOURCE_EXHAUSTED"}, {}),
        ({}, {"status": None, "ended_at": None}, {}),
        # It came through no gate that is known.
        ({}, {"connection": 0}, {}),
    ],
)
def test_who_is_not(told: dict[str, Any], row: dict[str, Any], connection: dict[str, Any]) -> None:
    outcome, seen = replace(FAILED, **told), replace(ROW, **row)
    assert not found(outcome, seen, connection=replace(OPEN, **connection))


def test_a_call_that_reached_no_backend_or_two_is_nobodys_lie() -> None:
    assert not found(FAILED)
    assert not found(FAILED, ROW, replace(ROW, connection=2))
    assert not found(replace(FAILED, status="OK"), replace(ROW, status="CANCELLED"), ROW)
