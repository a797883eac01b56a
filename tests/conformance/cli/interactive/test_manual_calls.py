"""Which requests are the calls that were asked for."""

from __future__ import annotations

from client_under_test.launching.channels import CALL_ID_KEY
from client_under_test.launching.channels import Call as PlannedCall
from conformance.cli.interactive.manual_calls import recognize
from test_servers import Rpc

UNARY = "/grpc.testing.TestService/UnaryCall"


def call(number: int, *metadata: tuple[str, str | bytes], path: str = UNARY) -> PlannedCall:
    return PlannedCall(id=f"call-{number}", path=path, metadata=metadata)


def row(*metadata: tuple[str, str | bytes], path: str = UNARY) -> Rpc:
    transport = (("user-agent", "some"), *metadata)
    return Rpc(at=1, endpoint="e", connection=1, path=path, metadata=transport, deadline=None)


def test_by_the_id_that_it_carries() -> None:
    planned = [call(1, ("session", "a")), call(2, ("session", "a"))]
    rows = {7: row((CALL_ID_KEY, "call-2")), 8: row((CALL_ID_KEY, "call-1"))}
    assert recognize(planned, rows) == ({"call-2": 7, "call-1": 8}, ())


def test_by_its_metadata_in_whatever_order_it_came() -> None:
    planned = [call(1, ("session", "a")), call(2, ("session", "b"))]
    rows = {3: row(("session", "b"), ("own", "x")), 4: row(("session", "a"))}
    assert recognize(planned, rows) == ({"call-1": 4, "call-2": 3}, ())


def test_alike_ones_in_the_order_in_which_they_came() -> None:
    planned = [call(1), call(2), call(3)]
    assert recognize(planned, {5: row(), 6: row()}) == ({"call-1": 5, "call-2": 6}, ())


def test_those_with_metadata_before_those_without() -> None:
    planned = [call(1), call(2, ("session", "a"))]
    rows = {1: row(("session", "a")), 2: row()}
    assert recognize(planned, rows) == ({"call-1": 2, "call-2": 1}, ())


def test_the_values_of_a_key_in_their_order() -> None:
    planned = [call(1, ("session", "a"), ("other", "x"), ("session", "b"))]
    assert recognize(planned, {1: row(("session", "b"), ("session", "a"))})[0] == {}
    assert recognize(planned, {1: row(("session", "a"), ("session", "b"), ("other", "x"))})[0]


def test_no_other_path_and_no_other_bytes() -> None:
    planned = [call(1, ("k-bin", b"\0"))]
    rows = {1: row(("k-bin", b"\0"), path="/other"), 2: row(("k-bin", b"\1"))}
    assert recognize(planned, rows) == ({}, (1, 2))


def test_more_than_was_asked_for() -> None:
    planned = [call(1)]
    twice = row((CALL_ID_KEY, "call-1"))
    assert recognize(planned, {1: twice, 2: twice}) == ({"call-1": 1}, (2,))
    assert recognize(planned, {1: row(), 2: row()}) == ({"call-1": 1}, (2,))


def test_those_of_others_are_let_be() -> None:
    assert recognize([call(1)], {1: row((CALL_ID_KEY, "call-9"))}) == ({}, ())
