"""Clusters: their leaves, their trees, their limits and their load."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import msgspec
import pytest

from client_under_test.reference.clusters.aggregates import (
    LeafEndpoints,
    LocalityEndpoints,
    PriorityNames,
    endpoints_of,
    endpoints_without_data,
    found_by_dns,
    keeps_priority_name,
    make_update,
)
from client_under_test.reference.clusters.discovery import Aggregate, Leaf
from client_under_test.reference.editions.editions import MODERN, SEED, Rules
from client_under_test.reference.policies.configs import (
    ClusterImplConfig,
    ClusterManagerConfig,
    ClusterResolverConfig,
    FailingConfig,
    Mechanism,
    PickFirstConfig,
    PriorityConfig,
    RingHashConfig,
    RoundRobinConfig,
    WaitingConfig,
)
from client_under_test.reference.policies.interface import (
    Account,
    Complete,
    Drop,
    Fail,
    Queue,
    Update,
)
from client_under_test.reference.policies.ledger import ClusterLoad, Ledger, LocalityLoad
from client_under_test.reference.policies.rules.admission import DropCategory
from client_under_test.reference.values import Endpoint, Locality, Status

from .bench import CONNECTING, FAILED, READY, Bench, endpoint

BOTH = (pytest.param(SEED.rules, id="seed"), pytest.param(MODERN.rules, id="modern"))
RING, TURNS = RingHashConfig(), RoundRobinConfig()
OK = Status("OK", "")
GONE = Status.unavailable("it does not exist")
NEAR, FAR = Locality(zone="near"), Locality(zone="far")


def leaf(name: str) -> Leaf:
    return Leaf(name=name, policy=TURNS)


def aggregate(name: str, *clusters: str) -> Aggregate:
    return Aggregate(name=name, policy=RING, clusters=clusters)


# Trees.


def found(*addresses: str, locality: Locality = NEAR, weight: int = 1) -> LeafEndpoints:
    endpoints = tuple(endpoint(address) for address in addresses)
    group = LocalityEndpoints(locality=locality, weight=weight, endpoints=endpoints)
    return LeafEndpoints(priorities=((group,),))


def test_a37_priorities_of_all_leaves_under_the_policy_of_the_aggregate() -> None:
    dns = Leaf(name="D", policy=TURNS, dns_name="name:80")
    leaves = [(leaf("B"), found("b:1")), (dns, found_by_dns(["d:1", "d:2"], SEED.rules))]
    update = make_update("A", aggregate("A", "B", "D"), leaves, PriorityNames(), SEED.rules)
    assert isinstance(update.config, ClusterResolverConfig)
    assert update.config.mechanisms == (Mechanism("B"), Mechanism("D", dns_name="name:80"))
    joined = update.config.child
    assert isinstance(joined, PriorityConfig)
    first, second = (joined.children[name] for name in joined.priorities)
    assert isinstance(first.config, ClusterImplConfig)
    assert isinstance(second.config, ClusterImplConfig)
    assert (first.config.cluster, first.config.child, first.ignore_reresolution) == (
        "B",
        RING,
        True,
    )
    assert (second.config.cluster, second.config.child) == ("D", PickFirstConfig())
    assert not second.ignore_reresolution
    assert [entry.addresses for entry in update.endpoints] == [("b:1",), ("d:1",), ("d:2",)]


def test_a75_a_policy_for_each_leaf() -> None:
    leaves = [(leaf("B"), found("b:1")), (leaf("C"), found("c:1"))]
    update = make_update("A", aggregate("A", "B", "C"), leaves, PriorityNames(), MODERN.rules)
    assert isinstance(update.config, PriorityConfig)
    assert update.config.priorities == ("B", "C")
    below = update.config.children["C"].config
    assert isinstance(below, ClusterImplConfig)
    assert isinstance(below.child, PriorityConfig)
    (name,) = below.child.priorities
    assert below.child.children[name].config == TURNS
    assert update.endpoints[1].path == ("C", name)


def test_a61_dns_is_one_endpoint_under_any_policy() -> None:
    dns = Leaf(name="D", policy=RING, dns_name="name:80")
    leaves = [(dns, found_by_dns(["d:1", "d:2"], MODERN.rules))]
    update = make_update("D", None, leaves, PriorityNames(), MODERN.rules)
    assert [entry.addresses for entry in update.endpoints] == [("d:1", "d:2")]
    assert update.endpoints[0].locality == Locality()


@pytest.mark.parametrize("rules", BOTH)
def test_tree_serves(rules: Rules) -> None:
    leaves = [(leaf("B"), found("b:1")), (leaf("C"), found("c:1"))]
    rules = replace(rules, policy_of_leaf=lambda _aggregate, _leaf: TURNS)
    update = make_update("A", aggregate("A", "B", "C"), leaves, PriorityNames(), rules)
    bench = Bench(update.config, rules)
    bench.update(update.endpoints)
    bench.fail("b:1")
    bench.ready("c:1")
    result = bench.pick()
    assert isinstance(result, Complete)
    assert result.account is not None
    assert (result.account.cluster, result.account.locality) == ("C", NEAR)


@pytest.mark.parametrize("rules", BOTH)
def test_a_leaf_without_endpoints_is_passed_over(rules: Rules) -> None:
    leaves = [(leaf("B"), endpoints_without_data("no data")), (leaf("C"), found("c:1"))]
    rules = replace(rules, policy_of_leaf=lambda _aggregate, _leaf: TURNS)
    update = make_update("A", aggregate("A", "B", "C"), leaves, PriorityNames(), rules)
    bench = Bench(update.config, rules)
    bench.update(update.endpoints)
    bench.ready("c:1")
    assert bench.served_by() == "c:1"


@pytest.mark.parametrize("rules", BOTH)
def test_another_list_of_leaves_is_switched_gracefully_by_a37_only(rules: Rules) -> None:
    """A74 takes it as it is: requests wait for the new first leaf."""
    names = PriorityNames()

    def update(*listed: str) -> Update:
        leaves = [(leaf(name), found(f"{name}:1")) for name in listed]
        made = make_update("A", aggregate("A", *listed), leaves, names, rules)
        below = tuple(
            msgspec.structs.replace(entry, path=("A", *entry.path)) for entry in made.endpoints
        )
        return Update(config=ClusterManagerConfig(children={"A": made.config}), endpoints=below)

    rules = replace(rules, policy_of_leaf=lambda _aggregate, _leaf: TURNS)
    first = update("B", "C")
    bench = Bench(first.config, rules)
    bench.update(first.endpoints)
    bench.ready("B:1")
    changed = update("D", "B")
    bench.update(changed.endpoints, changed.config)
    if rules.enclosing_policy is MODERN.rules.enclosing_policy:
        assert bench.pick(cluster="A") == Queue()
    else:
        assert bench.served_by(cluster="A") == "B:1"
    bench.ready("D:1")
    assert bench.served_by(cluster="A") == "D:1"
    again = update("D", "B")
    attempts = len(bench.attempts)
    bench.update(again.endpoints, again.config)
    assert len(bench.attempts) == attempts


def test_endpoints_of_a_priority() -> None:
    localities = [
        LocalityEndpoints(
            locality=NEAR,
            weight=3,
            endpoints=(
                Endpoint(addresses=("a:1", "a:2"), weight=2, hash_key="k"),
                endpoint("b:1"),
            ),
        ),
        LocalityEndpoints(locality=FAR, weight=0, endpoints=(endpoint("c:1"),)),
    ]
    made = endpoints_of(localities, ("p",), SEED.rules)
    assert [(entry.addresses, entry.weight) for entry in made] == [(("a:1",), 6), (("b:1",), 3)]
    assert made[0].locality == NEAR
    assert made[0].locality_weight == 3
    assert made[0].path == ("p",)
    assert endpoints_of(localities, (), MODERN.rules)[0].addresses == ("a:1", "a:2")


def test_priorities_keep_their_names() -> None:
    names = PriorityNames()

    def assign(cluster: str, priorities: list[frozenset[Locality]]) -> tuple[str, ...]:
        return names.assign(cluster, priorities, keeps_priority_name)

    near, far = frozenset({NEAR}), frozenset({FAR})
    first, second = assign("A", [near, far])
    assert first != second
    assert assign("A", [far, near]) == (second, first)
    (moved,) = assign("A", [far])
    assert moved == second
    third, fourth = assign("A", [near, far])
    assert fourth == second
    assert third not in {first, second}
    assert assign("B", [near])[0] not in {first, second, third}
    (empty,) = assign("E", [frozenset()])
    assert assign("E", [frozenset()]) == (empty,)


def test_no_leaves() -> None:
    update = make_update("A", aggregate("A"), [], PriorityNames(), MODERN.rules)
    assert isinstance(update.config, FailingConfig)


# Limits and load.


def leaf_config() -> ClusterImplConfig:
    return ClusterImplConfig(cluster="A", child=TURNS)


def impl(bench_rules: Rules = SEED.rules, **fields: object) -> Bench:
    config = ClusterImplConfig(cluster="C", service_name="S", reported=True, child=TURNS, **fields)  # type: ignore[arg-type]
    bench = Bench(config, bench_rules)
    bench.update([endpoint("a", locality=NEAR), endpoint("b", locality=FAR)])
    bench.ready("a", "b")
    return bench


def test_drops() -> None:
    bench = impl(drops=(DropCategory("none", 0), DropCategory("all", 1_000_000)))
    result = bench.pick()
    assert isinstance(result, Drop)
    assert result.category == "all"
    assert bench.tools.rules.queue_wait_for_ready(result) == result
    bench.tools.ledger.dropped(result)
    assert bench.tools.ledger.take() == (
        ClusterLoad(cluster="C", service_name="S", dropped=1, dropped_by_category=(("all", 1),)),
    )
    some = impl(drops=(DropCategory("some", 250_000),))
    dropped = sum(isinstance(some.pick(), Drop) for _ in range(4000))
    assert 850 < dropped < 1150


def test_circuit_breaking_is_shared_and_ends() -> None:
    bench = impl(max_requests=2)
    ledger = bench.tools.ledger
    accounts = []
    for _ in range(2):
        result = bench.pick()
        assert isinstance(result, Complete)
        assert result.account is not None
        ledger.started(result.account)
        accounts.append(result.account)
    refused = bench.pick()
    assert isinstance(refused, Drop)
    assert refused.category is None
    ledger.dropped(refused)
    ledger.finished(accounts[0], OK)
    assert isinstance(bench.pick(), Complete)
    (load,) = ledger.take()
    assert (load.dropped, load.dropped_by_category) == (1, ())
    assert sum(locality.issued for locality in load.localities) == 2


@pytest.mark.parametrize(
    ("key", "shared"),
    [
        (SEED.rules.in_flight_key, True),
        (lambda account: (account.cluster, account.channel), False),
        (lambda account: (account.cluster, account.policy), True),
    ],
)
def test_what_counts_as_one_is_a_rule(
    key: Callable[[Account], tuple[object, ...]], *, shared: bool
) -> None:
    rules = replace(SEED.rules, in_flight_key=key)
    ledger = Ledger(rules)
    first, second = (
        Account(cluster="C", service_name="S", reported=False, channel=number)
        for number in range(2)
    )
    ledger.started(first)
    assert ledger.in_flight(second) == shared


def test_an_account_tells_channel_and_policy() -> None:
    bench = Bench(ClusterManagerConfig(children={"A": leaf_config()}), SEED.rules)
    bench.update([endpoint("a", path=("A",))])
    bench.ready("a")
    result = bench.pick(cluster="A")
    assert isinstance(result, Complete)
    assert result.account is not None
    assert (result.account.channel, result.account.policy[0]) == (0, "A")


def test_what_is_in_flight_is_a_rule() -> None:
    rules = replace(
        SEED.rules,
        in_flight_while_waiting=1,
        in_flight_when_dropped=2,
        ends_flight=lambda status: status == OK,
    )
    ledger = Ledger(rules)
    account = Account(cluster="C", service_name="S", reported=False)
    ledger.waits(account)
    ledger.dropped(Drop(GONE, account))
    ledger.started(account)
    ledger.finished(account, GONE)
    ledger.finished(account, OK)
    assert ledger.in_flight(account) == 3


def test_new_limits_hold_at_once() -> None:
    bench = impl()
    config = ClusterImplConfig(cluster="C", max_requests=0, child=TURNS)
    bench.update([endpoint("a"), endpoint("b")], config)
    assert isinstance(bench.pick(), Drop)
    assert len(bench.attempts) == 2


def test_load_by_locality() -> None:
    bench = impl()
    ledger = bench.tools.ledger
    by_address = {}
    for _ in range(2):
        result = bench.pick()
        assert isinstance(result, Complete)
        by_address[result.subchannel.address] = result.account
    near, far = by_address["a"], by_address["b"]
    assert near is not None
    assert far is not None
    for account in (near, near, far):
        ledger.started(account)
    ledger.finished(near, OK)
    ledger.finished(far, GONE)
    (first,) = ledger.take()
    assert first.localities == (
        LocalityLoad(locality=FAR, issued=1, succeeded=0, errors=1, in_progress=0),
        LocalityLoad(locality=NEAR, issued=2, succeeded=1, errors=0, in_progress=1),
    )
    (second,) = ledger.take()
    assert second.localities == (
        LocalityLoad(locality=NEAR, issued=0, succeeded=0, errors=0, in_progress=1),
    )
    ledger.finished(near, OK)
    (third,) = ledger.take()
    assert third.localities[0].succeeded == 1
    assert ledger.take() == ()


def test_not_reported() -> None:
    config = ClusterImplConfig(cluster="C", child=TURNS, max_requests=1)
    bench = Bench(config, SEED.rules)
    bench.update(["a"])
    bench.ready("a")
    result = bench.pick()
    assert isinstance(result, Complete)
    assert result.account is not None
    bench.tools.ledger.started(result.account)
    refused = bench.pick()
    assert isinstance(refused, Drop)
    bench.tools.ledger.dropped(refused)
    assert bench.tools.ledger.take() == ()


# The root.


def test_requests_go_by_cluster() -> None:
    config = ClusterManagerConfig(
        children={"A": TURNS, "B": WaitingConfig(), "C": FailingConfig(status=GONE)}
    )
    bench = Bench(config, SEED.rules)
    bench.update([endpoint("a", path=("A",))])
    assert bench.state is CONNECTING
    bench.ready("a")
    assert bench.state is READY
    assert bench.served_by(cluster="A") == "a"
    assert bench.pick(cluster="B") == Queue()
    assert bench.pick(cluster="C") == Fail(GONE)
    assert isinstance(bench.pick(cluster="D"), Fail)


def test_cluster_that_arrives_and_goes() -> None:
    bench = Bench(ClusterManagerConfig(children={"A": WaitingConfig()}), SEED.rules)
    bench.update([])
    bench.update([endpoint("a", path=("A",))], ClusterManagerConfig(children={"A": TURNS}))
    bench.ready("a")
    assert bench.served_by(cluster="A") == "a"
    bench.update([], ClusterManagerConfig(children={}))
    assert bench.state is FAILED
    assert not bench.live


def test_cluster_without_a_change_is_not_told() -> None:
    config = ClusterManagerConfig(children={"A": PickFirstConfig(), "B": TURNS})
    bench = Bench(config, SEED.rules)
    endpoints = [endpoint("a", path=("A",)), endpoint("b", path=("B",))]
    bench.update(endpoints)
    reports = len(bench.reported)
    bench.take(bench.policy.update(Update(config=config, endpoints=tuple(endpoints))))
    assert len(bench.reported) == reports + 1
    assert bench.attempts == ["a", "b"]
