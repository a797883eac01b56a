"""What is said on load streams, request by request, and sums of what was issued."""

from __future__ import annotations

import pytest

from conformance.judging.expectations import (
    Expectation,
    FirstRequestHasNode,
    LoadStreamsKept,
    LoadStreamsStarted,
    NoEndpointLoad,
    OnlyTheseReported,
    ReportIntervals,
    RequestsInProgress,
    RequestsReported,
    WrongKind,
)
from conformance.judging.observations import (
    Calls,
    LoadReport,
    LoadReports,
    Loads,
    ReportedLoad,
    ReportOfACluster,
)
from conformance.spec.oracles.load import Load, LoadKey

HERE, THERE = LoadKey("a", "", "one"), LoadKey("a", "", "two")


def first(stream: int = 1, node: str = "me", *, of: str = "") -> LoadReport:
    """The first request of a stream."""
    clusters = (ReportOfACluster(cluster=of, loads=()),) if of else ()
    return LoadReport(stream=stream, node=node, clusters=clusters)


def report(*loads: tuple[LoadKey, int], of: str = "a", endpoints: int = 0) -> LoadReport:
    """A report of one cluster: how much is in progress where."""
    told = tuple(ReportedLoad(place, Load(in_progress=count)) for place, count in loads)
    return LoadReport(
        stream=1, clusters=(ReportOfACluster(cluster=of, loads=told, endpoints=endpoints),)
    )


def said(*reports: LoadReport, streams: int = 1, ended: int = 0) -> LoadReports:
    return LoadReports(reports, streams=streams, ended=ended)


@pytest.mark.parametrize(
    ("seen", "expected", "holds"),
    [
        (said(first()), FirstRequestHasNode(node="me"), True),
        (said(first(node="")), FirstRequestHasNode(node="me"), False),
        (said(first(1), first(2, "")), FirstRequestHasNode(node="me"), False),
        (said(first(), report((HERE, 1))), FirstRequestHasNode(node="me", load=False), True),
        (said(first(of="a")), FirstRequestHasNode(node="me", load=False), False),
        (said(first(of="a")), FirstRequestHasNode(node="me", load=True), True),
        (said(first(of="a")), FirstRequestHasNode(node="me"), True),
        (said(), FirstRequestHasNode(node="me"), False),
        (said(streams=2), LoadStreamsStarted(2), True),
        (said(streams=2), LoadStreamsStarted(1), False),
        (said(streams=2, ended=2), LoadStreamsKept(0), True),
        (said(streams=2, ended=1), LoadStreamsKept(0), False),
        (said(streams=2, ended=1), LoadStreamsKept(1), True),
        (said(first(), first()), ReportIntervals(least=2, clusters=()), True),
        (said(first()), ReportIntervals(least=2, clusters=()), False),
        (said(first(), report()), ReportIntervals(least=2, clusters=()), False),
        (said(report(), report()), ReportIntervals(least=2, clusters=("a",)), True),
        (said(report()), ReportIntervals(most=1), True),
        (said(report(), first()), ReportIntervals(most=1), False),
        (said(report(), report(of="b")), OnlyTheseReported(("a", "b")), True),
        (said(report(), report(of="b")), OnlyTheseReported(("a",)), False),
        (said(first()), OnlyTheseReported(("a",)), False),
        (said(report()), NoEndpointLoad(), True),
        (said(report(endpoints=1)), NoEndpointLoad(), False),
        (said(first()), NoEndpointLoad(), False),
    ],
)
def test_what_is_said(seen: LoadReports, expected: Expectation, *, holds: bool) -> None:
    assert expected.finding(seen).holds == holds


HOLDS = RequestsInProgress(cluster="a", in_progress=((HERE, 2), (THERE, 1)))


@pytest.mark.parametrize(
    ("seen", "saw"),
    [
        (said(report((HERE, 2), (THERE, 1))), ""),
        (said(report((HERE, 2), (THERE, 1)), report((HERE, 2))), f"{HERE}: 2 in progress"),
        (said(report((HERE, 2), (THERE, 1)), report(of="b")), "nothing in progress"),
        (said(report((HERE, 0))), "nothing in progress"),
    ],
)
def test_each_report_holds_what_is_open(seen: LoadReports, saw: str) -> None:
    found = HOLDS.finding(seen)
    assert (found.holds, found.saw) == (not saw, saw or "1 such reports")


def test_no_report_at_all_holds_nothing() -> None:
    assert not HOLDS.finding(said()).holds


@pytest.mark.parametrize(
    ("bounds", "holds"),
    [((5, 5), True), ((1, 9), True), ((6, 9), False), ((0, 4), False)],
)
def test_tells_issued(bounds: tuple[int, int], *, holds: bool) -> None:
    """Of all localities of the cluster; of others nothing is asked."""
    loads = ((HERE, 3), (THERE, 2), (LoadKey("b"), 7))
    reported = tuple(ReportedLoad(place, Load(issued=count)) for place, count in loads)
    seen = Loads(received=(), reported=reported, clusters=("a", "b"))
    assert RequestsReported({"a": bounds}).finding(seen).holds == holds


def test_tells_finished() -> None:
    """Requests that succeeded and those that failed, but not those in progress."""
    load = Load(issued=9, succeeded=3, errors=2, in_progress=4)
    seen = Loads(received=(), reported=(ReportedLoad(HERE, load),), clusters=("a",))
    found = RequestsReported({"a": (5, 5)}, "finished").finding(seen)
    assert (found.holds, found.saw) == (True, "5 to a finished")
    assert not RequestsReported({"a": (9, 9)}, "finished").finding(seen).holds


@pytest.mark.parametrize("expected", [HOLDS, OnlyTheseReported(()), RequestsReported({})])
def test_what_is_no_load(expected: Expectation) -> None:
    with pytest.raises(WrongKind):
        expected.finding(Calls(()))
