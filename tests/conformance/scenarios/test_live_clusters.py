"""What is served of a cluster whose updates lead from place to place."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast, get_args

import pytest

from conformance.judging.aborts import Unsupported
from conformance.scenarios.helpers.live_clusters import OTHER_CLUSTER, STEPS, Form, LiveCluster
from conformance.xds_config.subscriptions import subscriptions
from conformance.xds_config.trees import at_the_first
from conformance.xds_config.variants import ResourceVariant
from fake_control_plane import Kind

ADDRESSES = tuple(f"127.0.0.1:{port}" for port in range(1, 2 * STEPS + 1))


def live(form: Form) -> LiveCluster:
    return LiveCluster(cast("Any", None), form, ADDRESSES)


@pytest.mark.parametrize("form", get_args(Form))
def test_each_update_leads_elsewhere(form: Form) -> None:
    live_cluster = live(form)
    places = [
        live_cluster.expected_calls(step, of).addresses
        for of in ("used", OTHER_CLUSTER)
        for step in range(STEPS)
    ]
    assert sorted(places) == [(address,) for address in ADDRESSES]
    assert live_cluster.expected_calls(STEPS) == live_cluster.expected_calls()


@pytest.mark.parametrize("form", ["EDS", "aggregate"])
@pytest.mark.parametrize("step", range(STEPS))
def test_it_leads_where_it_is_said_to(form: Form, step: int) -> None:
    live_cluster = live(form)
    served = live_cluster.served(step)
    for of in ("used", OTHER_CLUSTER):
        wanted = at_the_first(served, of)
        assert live_cluster.expected_calls(step, of).addresses == wanted.endpoints[_leaf(wanted)][0]


def _leaf(wanted: Any) -> str:
    root = wanted.clusters[wanted.root]
    return str(root.clusters[0]) if hasattr(root, "clusters") else str(wanted.root)


@pytest.mark.parametrize("form", get_args(Form))
def test_updates_of_clusters_change_no_endpoints(form: Form) -> None:
    """So a valid Cluster and a variant need nothing else to be used."""
    live_cluster = live(form)
    first, second = (live_cluster.served(step).resources_by_name() for step in range(2))
    changed = {kind for kind, name in first if first[kind, name] != second[kind, name]}
    assert changed == {Kind.CLUSTER}
    assert {what for what in subscriptions(live_cluster.served(1)) if what not in first} == set()


async def test_a_client_that_rejects_nothing_has_no_verdict_on_what_stays_in_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each Cluster has its own verdict; a client may not be held to any of them."""
    seen: list[ResourceVariant] = []

    async def accepts(_: LiveCluster, variant: ResourceVariant, *_unchanged: str) -> bool:
        seen.append(variant)
        return False

    monkeypatch.setattr(LiveCluster, "check_rejected", accepts)
    variants = [ResourceVariant("A29-CDS-01"), ResourceVariant("A29-CDS-02")]
    world: Any = SimpleNamespace(checks=SimpleNamespace(has=lambda _: True))
    with pytest.raises(Unsupported, match="rejected none of these Clusters"):
        await LiveCluster(world, "EDS", ADDRESSES).check_all_rejected(variants)
    assert seen == variants
