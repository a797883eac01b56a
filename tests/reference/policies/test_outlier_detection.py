"""outlier_detection above round_robin: sweeps, ejections, and what updates change."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from client_under_test.reference.editions.editions import edition
from client_under_test.reference.policies.configs import OutlierDetectionConfig, RoundRobinConfig
from client_under_test.reference.policies.interface import Account, Complete
from client_under_test.reference.policies.rules.outlier_detection import (
    FailurePercentage,
    OutlierSettings,
)
from client_under_test.reference.values import Endpoint, Status

from .bench import Bench

RULES = edition("outlier-detection").rules
SETTINGS = OutlierSettings(
    interval=10.0,
    base_ejection_time=15.0,
    max_ejection_time=40.0,
    max_ejection_percent=100,
    failure_percentage=FailurePercentage(threshold=50, minimum_hosts=1, request_volume=2),
)
SWEEP = "the next sweep"


class Outliers(Bench):
    """The endpoints a, b and c, all READY, and a clock that stands still."""

    def __init__(self, **changed: Any) -> None:
        self.now = 100.0
        super().__init__(config(**changed), RULES)
        self.tools.ledger.now = lambda: self.now
        self.connect("a", "b", "c")

    def connect(self, *endpoints: Endpoint | str) -> None:
        self.update(endpoints)
        for address, state in self.states.items():
            if state.name == "CONNECTING":
                self.ready(address)

    def end_calls(self, address: str, *codes: str) -> None:
        (subchannel,) = (each for each in self.live if each.address == address)
        for code in codes:
            account = Account(cluster="c", service_name="", reported=False, subchannel=subchannel)
            self.tools.ledger.started(account)
            self.tools.ledger.finished(account, Status(code, ""))

    def fail_calls(self, *addresses: str) -> None:
        for address in addresses:
            self.end_calls(address, "INTERNAL", "UNAVAILABLE")

    def sweep(self, seconds: float = 10.0) -> None:
        self.now += seconds
        self.fire(SWEEP)

    @property
    def used(self) -> str:
        results = [self.pick() for _ in range(6)]
        return "".join(sorted({r.subchannel.address for r in results if isinstance(r, Complete)}))


def config(**changed: Any) -> OutlierDetectionConfig:
    return OutlierDetectionConfig(settings=replace(SETTINGS, **changed), child=RoundRobinConfig())


def test_ejects_and_returns() -> None:
    bench = Outliers()
    bench.fail_calls("a")
    assert bench.used == "abc"
    bench.sweep()
    assert bench.used == "bc"
    bench.sweep()
    assert bench.used == "bc"
    bench.sweep()
    assert bench.used == "abc"
    assert bench.take_attempts() == ["a", "b", "c"]


@pytest.mark.parametrize("codes", [["INTERNAL"], ["OK", "UNAVAILABLE"], ["OK", "OK", "ABORTED"]])
def test_keeps(codes: list[str]) -> None:
    bench = Outliers()
    bench.end_calls("a", *codes)
    bench.sweep()
    assert bench.used == "abc"


def test_counts_one_interval() -> None:
    bench = Outliers()
    for _ in range(3):
        bench.end_calls("a", "INTERNAL")
        bench.sweep()
    assert bench.used == "abc"


def test_ejection_time_grows_up_to_the_limit_and_shrinks() -> None:
    bench = Outliers()
    lengths = []
    for _ in range(4):
        bench.fail_calls("a")
        bench.sweep()
        begun = bench.now
        while bench.used == "bc":
            bench.sweep()
        lengths.append(bench.now - begun)
    assert lengths == [20.0, 40.0, 50.0, 50.0]
    for _ in range(4):
        bench.sweep()
    bench.fail_calls("a")
    bench.sweep()
    bench.sweep()
    bench.sweep()
    assert bench.used == "abc"


@pytest.mark.parametrize(("percent", "used"), [(0, "abc"), (33, "bc"), (34, "c"), (100, "")])
def test_max_ejection_percent(percent: int, used: str) -> None:
    bench = Outliers(max_ejection_percent=percent)
    bench.fail_calls("a", "b", "c")
    bench.sweep()
    assert bench.used == used


def test_no_algorithm_ends_ejections_and_stops_the_timer() -> None:
    bench = Outliers()
    bench.fail_calls("a")
    bench.sweep()
    bench.update("abc", config(failure_percentage=None))
    assert bench.used == "abc"
    assert not bench.running(SWEEP)
    bench.fail_calls("a")
    bench.update("abc", config())
    bench.sweep()
    assert bench.used == "abc"


@pytest.mark.parametrize(("interval", "seconds"), [(10.0, 6.0), (20.0, 16.0), (3.0, 0.0)])
def test_a_new_interval_begins_with_the_old_one(interval: float, seconds: float) -> None:
    bench = Outliers()
    bench.fail_calls("a")
    bench.now += 4
    bench.update("abc", config(interval=interval))
    (timer,) = (timer for timer in bench.timers if timer.purpose == SWEEP)
    assert timer.seconds == seconds
    bench.sweep(seconds)
    assert bench.used == "bc"


def test_an_endpoint_that_leaves_is_forgotten() -> None:
    bench = Outliers()
    bench.fail_calls("a", "b")
    bench.sweep()
    bench.connect("b", "c")
    assert bench.used == "c"
    bench.connect("a", "b", "c")
    assert bench.used == "ac"


def test_all_addresses_of_an_endpoint_are_ejected() -> None:
    bench = Outliers()
    bench.connect(Endpoint(addresses=("a", "d")), "b", "c")
    bench.fail_calls("a")
    bench.sweep()
    assert bench.used == "bc"
    bench.connect(Endpoint(addresses=("d", "a")), "b", "c")
    assert bench.used == "bc"
    bench.connect(Endpoint(addresses=("a",)), "b", "c")
    assert bench.used == "abc"
