from __future__ import annotations

import sys

from envoy.config.endpoint.v3 import load_report_pb2
from envoy.service.load_stats.v3 import lrs_pb2

from fake_control_plane.loads import (
    ClusterLoad,
    EndpointLoad,
    Load,
    Loads,
    Locality,
    LocalityLoad,
    MetricLoad,
    cluster_load,
    loads_of,
)

NEAR, FAR = Locality("near"), Locality("far")


def at(locality: Locality, issued: int, ended: int, in_progress: int) -> LocalityLoad:
    return LocalityLoad(locality=locality, issued=issued, successful=ended, in_progress=in_progress)


def of(cluster: str, *localities: LocalityLoad, service: str = "") -> ClusterLoad:
    return ClusterLoad(cluster=cluster, service=service, localities=localities)


def test_counts_are_summed_and_the_gauge_is_not() -> None:
    loads = Loads()
    loads.receive(1, [of("c", at(NEAR, 5, 2, 3))])
    assert loads.load("c") == Load(issued=5, successful=2, in_progress=3)
    loads.receive(1, [of("c", at(NEAR, 1, 3, 1))])
    assert loads.load("c") == Load(issued=6, successful=5, in_progress=1)
    assert loads.load("c").is_balanced


def test_a_locality_left_out_has_nothing_in_progress() -> None:
    loads = Loads()
    loads.receive(1, [of("c", at(NEAR, 2, 1, 1), at(FAR, 1, 0, 1))])
    loads.receive(1, [of("c", at(NEAR, 0, 1, 0))])
    assert loads.load("c", locality=FAR).in_progress == 0
    assert loads.load("c", locality=NEAR) == Load(issued=2, successful=2)
    loads.receive(1, [])
    assert loads.load("c").in_progress == 0


def test_parts_of_a_cluster() -> None:
    loads = Loads()
    loads.receive(
        1,
        [
            of("c", at(NEAR, 1, 1, 0), at(FAR, 2, 2, 0), service="s"),
            of("c", at(NEAR, 4, 4, 0), service="t"),
            of("d", at(NEAR, 8, 8, 0)),
        ],
    )
    assert loads.clusters() == (("c", "s"), ("c", "t"), ("d", ""))
    assert loads.load("c").issued == 7
    assert loads.load("c", service="s").issued == 3
    assert loads.load("c", locality=NEAR).issued == 5
    assert loads.load("c", service="s", locality=FAR).issued == 2
    assert loads.load("nobody") == Load()
    assert loads.load("c", locality=Locality("elsewhere")) == Load()


def test_streams_add_up_until_they_end() -> None:
    loads = Loads()
    loads.receive(1, [of("c", at(NEAR, 1, 0, 1))])
    loads.receive(2, [of("c", at(NEAR, 2, 0, 2))])
    assert loads.load("c").in_progress == 3
    loads.close(1)
    assert loads.load("c") == Load(issued=3, in_progress=2)
    assert not loads.load("c").is_balanced
    loads.close(1)


def test_balance_is_of_an_exact_number() -> None:
    loads = Loads()
    assert loads.is_balanced("c", issued=0)
    loads.receive(1, [of("c", at(NEAR, 3, 1, 1))])
    assert not loads.is_balanced("c", issued=3)
    loads.receive(1, [of("c", at(NEAR, 0, 2, 0))])
    assert loads.is_balanced("c", issued=3)
    assert not loads.is_balanced("c", issued=4)


def test_drops() -> None:
    loads = Loads()
    loads.receive(1, [ClusterLoad(cluster="c", dropped=3, dropped_by_category={"lb": 2})])
    loads.receive(
        1, [ClusterLoad(cluster="c", dropped=4, dropped_by_category={"lb": 1, "throttle": 3})]
    )
    drops = loads.drops("c")
    assert (drops.total, drops.by_category) == (7, {"lb": 3, "throttle": 3})
    assert loads.drops("d").total == 0


def test_rows_are_kept() -> None:
    loads = Loads()
    rows = (of("c", at(NEAR, 1, 1, 0)), of("d"), of("c", at(NEAR, 1, 1, 0)))
    loads.receive(1, rows[:2])
    loads.receive(2, rows[2:])
    assert loads.rows == rows


def test_an_interval_out_of_bounds_is_taken_as_it_is() -> None:
    stats = load_report_pb2.ClusterStats(cluster_name="c")
    stats.load_report_interval.seconds = -(10**15)
    stats.load_report_interval.nanos = 5 * 10**8
    assert cluster_load(stats).interval == 0.5 - 10**15


def test_a_message_becomes_a_value() -> None:
    stats = load_report_pb2.ClusterStats(
        cluster_name="c", cluster_service_name="s", total_dropped_requests=3
    )
    stats.dropped_requests.add(category="lb", dropped_count=2)
    stats.load_report_interval.FromMilliseconds(1500)
    part = stats.upstream_locality_stats.add(
        priority=1,
        total_successful_requests=4,
        total_error_requests=3,
        total_issued_requests=9,
        total_requests_in_progress=2,
    )
    part.locality.region, part.locality.zone, part.locality.sub_zone = "r", "z", "s"
    part.load_metric_stats.add(
        metric_name="m", num_requests_finished_with_metric=2, total_metric_value=0.5
    )
    endpoint = part.upstream_endpoint_stats.add(
        total_successful_requests=1,
        total_error_requests=2,
        total_issued_requests=4,
        total_requests_in_progress=1,
    )
    endpoint.address.socket_address.address = "::1"
    endpoint.address.socket_address.port_value = 80
    assert cluster_load(stats) == ClusterLoad(
        cluster="c",
        service="s",
        interval=1.5,
        dropped=3,
        dropped_by_category={"lb": 2},
        localities=(
            LocalityLoad(
                locality=Locality("r", "z", "s"),
                priority=1,
                successful=4,
                errors=3,
                issued=9,
                in_progress=2,
                metrics=(MetricLoad("m", 2, 0.5),),
                endpoints=(
                    EndpointLoad(
                        address="[::1]:80", successful=1, errors=2, issued=4, in_progress=1
                    ),
                ),
            ),
        ),
    )


def test_bounded_loads_have_the_same_sums() -> None:
    whole, bounded = Loads(), Loads(keep=3)
    for number in range(40):
        row = ClusterLoad(
            cluster=f"c{number % 2}",
            service=f"s{number % 3}",
            localities=(
                LocalityLoad(
                    locality=Locality(f"r{number % 4}"),
                    issued=3,
                    successful=1,
                    errors=1,
                    in_progress=1,
                ),
            ),
            dropped=number,
            dropped_by_category={f"d{number % 2}": number},
        )
        for loads in (whole, bounded):
            loads.receive(number % 5, [row])
    assert len(bounded.rows) <= 6 + 3
    assert bounded.clusters() == whole.clusters()
    for cluster, service in whole.clusters():
        assert bounded.drops(cluster, service=service) == whole.drops(cluster, service=service)
        assert bounded.by_locality(cluster, service=service) == whole.by_locality(
            cluster, service=service
        )


def of_clusters(*names: str) -> list[ClusterLoad]:
    return [
        ClusterLoad(cluster=name, localities=(LocalityLoad(locality=Locality("r"), issued=1),))
        for name in names
    ]


def test_a_report_costs_as_much_whatever_there_is_already() -> None:
    """Counted in calls, not in seconds: a busy machine is slow, too."""

    def calls(ledger: Loads, report: list[ClusterLoad]) -> int:
        count = 0

        def called(_: object, event: str, __: object) -> None:
            nonlocal count
            count += event in ("call", "c_call")

        sys.setprofile(called)
        try:
            ledger.receive(1, report)
        finally:
            sys.setprofile(None)
        return count

    ledger = Loads(keep=100)
    first = calls(ledger, of_clusters(*(f"a{number}" for number in range(500))))
    ledger.receive(1, of_clusters(*(f"b{number}" for number in range(5000))))
    later = calls(ledger, of_clusters(*(f"c{number}" for number in range(500))))
    assert later <= first * 1.1
    assert len(ledger.rows) == 100
    assert len(ledger.clusters()) == 6000


def test_a_bounded_ledger_is_full_some_time() -> None:
    ledger = Loads(keep=100)
    assert not ledger.receive(1, of_clusters(*(f"c{number}" for number in range(10_000))))
    assert ledger.receive(1, of_clusters("new", "c1", "newer")) == 2
    assert len(ledger.clusters()) == 10_000
    assert ledger.load("c1").issued == 2
    assert ledger.load("new").issued == 0
    many = ClusterLoad(
        cluster="c1",
        localities=tuple(
            LocalityLoad(locality=Locality(f"r{number}"), issued=1) for number in range(2000)
        ),
        dropped_by_category={f"d{number}": 1 for number in range(2000)},
    )
    ledger.receive(1, [many])
    assert len(ledger.by_locality("c1")) == 1000
    assert len(ledger.drops("c1").by_category) == 1000


def test_what_a_report_has_too_much_of_is_left_out() -> None:
    request = lrs_pb2.LoadStatsRequest()
    request.cluster_stats.add(cluster_name="a")
    many = request.cluster_stats.add(cluster_name="b").upstream_locality_stats.add()
    for _ in range(100_000):
        many.upstream_endpoint_stats.add()
    request.cluster_stats.add(cluster_name="c")
    rows, left_out = loads_of(request)
    assert [row.cluster for row in rows] == ["a"]
    assert left_out == 2
