"""Load reports as a table of what was counted and what is told."""

from __future__ import annotations

from client_under_test.reference.policies.ledger import ClusterLoad, LocalityLoad
from client_under_test.reference.values import Locality
from client_under_test.reference.xds.load_rules import LoadStreamRules
from client_under_test.reference.xds.lrs import Lrs

NEAR = Locality("near")


def load(
    cluster: str, issued: int, succeeded: int, *, progress: int = 0, drops: int = 0
) -> ClusterLoad:
    locality = LocalityLoad(
        locality=NEAR, issued=issued, succeeded=succeeded, errors=0, in_progress=progress
    )
    return ClusterLoad(
        cluster=cluster,
        service_name="s",
        localities=(locality,) if issued or succeeded or progress else (),
        dropped=drops,
        dropped_by_category=(("d", drops),) if drops else (),
    )


class Counted:
    """A ledger that gives what the test puts in."""

    def __init__(self) -> None:
        self.loads: list[ClusterLoad] = []

    def __call__(self) -> list[ClusterLoad]:
        taken, self.loads = self.loads, []
        return taken


def test_all_clusters_each_with_its_own_time() -> None:
    counted = Counted()
    lrs = Lrs(counted, 100.0)
    lrs.response((), wants_all=True, interval=1.0)
    counted.loads = [load("a", 3, 2, progress=1)]
    (report,) = lrs.report(101.0)
    assert (report.load, report.seconds) == (load("a", 3, 2, progress=1), 1.0)
    counted.loads = [load("a", 0, 1), load("b", 1, 1)]
    first, second = lrs.report(104.0)
    assert (first.load.localities[0].issued, first.load.localities[0].succeeded) == (0, 1)
    assert (first.seconds, second.seconds) == (3.0, 4.0)


def test_clusters_that_are_not_asked_for_go_on_gathering() -> None:
    counted = Counted()
    lrs = Lrs(counted, 0.0)
    lrs.response(["a"], wants_all=False, interval=1.0)
    counted.loads = [load("a", 1, 1), load("b", 2, 1, progress=1, drops=2)]
    assert [load_report.load.cluster for load_report in lrs.report(10.0)] == ["a"]
    counted.loads = [load("b", 1, 2, drops=1)]
    assert lrs.report(20.0) == []
    lrs.response(["b"], wants_all=False, interval=1.0)
    (report,) = lrs.report(40.0)
    assert report.load == load("b", 3, 3, drops=3)
    assert report.seconds == 40.0


def test_what_is_idle_is_left_out() -> None:
    counted = Counted()
    lrs = Lrs(counted, 0.0)
    lrs.response((), wants_all=True, interval=1.0)
    counted.loads = [load("a", 0, 0)]
    assert lrs.report(1.0) == []


def test_what_was_in_progress_while_not_asked_for_and_is_over_is_not_in_progress() -> None:
    counted = Counted()
    lrs = Lrs(counted, 0.0)
    counted.loads = [load("a", 1, 0, progress=1)]
    lrs.report(1.0)
    lrs.response((), wants_all=True, interval=1.0)
    counted.loads = [load("a", 0, 1)]
    (report,) = lrs.report(2.0)
    assert report.load == load("a", 1, 1)


def test_nothing_is_lost_while_there_is_no_stream() -> None:
    counted = Counted()
    lrs = Lrs(counted, 0.0)
    lrs.response((), wants_all=True, interval=1.0)
    lrs.stream_started()
    assert lrs.interval is None
    lrs.response((), wants_all=True, interval=2.0)
    counted.loads = [load("a", 5, 5)]
    (report,) = lrs.report(7.0)
    assert report.load == load("a", 5, 5)
    assert lrs.interval == 2.0


def test_by_the_rules_of_another_client() -> None:
    """What mutants replace: who is asked for, what is told and kept, and for how long."""
    counted = Counted()
    rules = LoadStreamRules(
        clusters_to_report=lambda known, _names, _all: known,
        reports_locality=lambda locality: bool(locality.issued),
        reported_interval=lambda _since, asked, begun: asked + begun,
        load_interval=lambda interval: interval / 2,
        load_outlives_stream=False,
    )
    lrs = Lrs(counted, 100.0, rules)
    lrs.response(("b",), wants_all=False, interval=4.0)
    assert lrs.time_to_report == 2.0
    counted.loads = [load("a", 1, 0, progress=1), load("b", 0, 0, progress=1)]
    (report,) = lrs.report(103.0)
    assert (report.load.cluster, report.seconds) == ("a", 7.0)
    counted.loads = [load("a", 1, 1)]
    lrs.stream_started()
    assert lrs.report(104.0) == []
