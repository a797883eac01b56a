"""Which kinds of references a client ignores, told from its requests alone."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any

import pytest
from msgspec.structs import replace

from conformance.judging.verdicts import Cause
from conformance.xds_config.config import (
    LISTENER,
    ROUTE,
    XdsConfig,
    aggregate,
    logical_dns,
    merge,
    single_locality,
    with_raw_clusters,
)
from conformance.xds_config.references import (
    EDS_FOR_DNS,
    NO_CHILDREN,
    NO_CLUSTERS,
    NO_ENDPOINTS,
    NO_LOAD_STREAM,
    NO_ROUTES,
    changed_clusters,
    followed,
    ignored,
    target_of,
)
from conformance.xds_config.routes import CLUSTER, CLUSTER_HEADER, Route
from fake_control_plane import Event, Kind, Request, Response, Service, StreamOpened
from fake_control_plane.snapshot import Packed

LEAF = single_locality(["127.0.0.1:1"], name="leaf")
TREE = aggregate(LEAF)
PLAIN = single_locality(["127.0.0.1:1"])
BY_NAME = logical_dns("some.name:1")
REPORTED = replace(PLAIN, clusters=(replace(PLAIN.get_cluster(), is_reported=True),))
LATER = 1000.0


def events(*said: tuple[str, Kind | None, str]) -> tuple[Event, ...]:
    """One event a second: what was sent, requested, rejected, or opened."""
    times = count(1.0)
    return tuple(_event(next(times), what, kind, name) for what, kind, name in said)


def _event(at: float, what: str, kind: Kind | None, name: str) -> Event:
    common: dict[str, Any] = {"at": at, "stream": 1, "node": "n"}
    if kind is None:
        return StreamOpened(**common, service=Service[name], peer="p")
    about: dict[str, Any] = {"kind": kind, "type_url": kind.type_url, "version": "1", "nonce": "1"}
    if what == "sent":
        return Response(**common, **about, resources=(Packed(name, kind.type_url, b""),))
    detail = "no" if what == "rejected" else ""
    return Request(**common, **about, names=(name,), subscribed=(name,), error_detail=detail)


def sent(kind: Kind, name: str) -> tuple[str, Kind, str]:
    return "sent", kind, name


def asked(kind: Kind, name: str) -> tuple[str, Kind, str]:
    return "asked", kind, name


def causes(served: XdsConfig, said: Iterable[Event]) -> set[Cause]:
    return {each.cause for each in ignored(served, tuple(said))}


SENT = sent(Kind.CLUSTER, CLUSTER)


@pytest.mark.parametrize(
    ("served", "said", "ignores", "follows"),
    [
        pytest.param(TREE, [], (), (), id="nothing was sent"),
        pytest.param(TREE, [SENT], [NO_CHILDREN], (), id="no child"),
        pytest.param(TREE, [SENT, asked(Kind.CLUSTER, "leaf")], (), [NO_CHILDREN], id="a child"),
        pytest.param(
            TREE, [SENT, asked(Kind.ENDPOINTS, CLUSTER)], [NO_CHILDREN], (), id="as if it were EDS"
        ),
        pytest.param(TREE, [SENT, asked(Kind.CLUSTER, "*")], (), [NO_CHILDREN], id="all clusters"),
        pytest.param(
            TREE,
            [asked(Kind.CLUSTER, "leaf"), SENT, asked(Kind.CLUSTER, "leaf")],
            (),
            (),
            id="another resource led to the child before",
        ),
        pytest.param(
            TREE, [SENT, ("rejected", Kind.CLUSTER, CLUSTER)], (), (), id="the client rejects it"
        ),
        pytest.param(PLAIN, [SENT], [NO_ENDPOINTS], (), id="no endpoints"),
        pytest.param(
            PLAIN, [SENT, asked(Kind.ENDPOINTS, CLUSTER)], (), [NO_ENDPOINTS], id="endpoints"
        ),
        pytest.param(PLAIN, [sent(Kind.LISTENER, LISTENER)], [NO_ROUTES], (), id="no routes"),
        pytest.param(PLAIN, [sent(Kind.ROUTE, ROUTE)], [NO_CLUSTERS], (), id="no clusters"),
        pytest.param(
            BY_NAME,
            [SENT, asked(Kind.ENDPOINTS, CLUSTER)],
            [EDS_FOR_DNS],
            (),
            id="EDS for LOGICAL_DNS",
        ),
        pytest.param(BY_NAME, [SENT], (), [EDS_FOR_DNS], id="no EDS for LOGICAL_DNS"),
        pytest.param(
            BY_NAME,
            [asked(Kind.ENDPOINTS, CLUSTER), SENT],
            (),
            (),
            id="EDS before it became LOGICAL_DNS",
        ),
        pytest.param(
            REPORTED,
            [SENT, asked(Kind.ENDPOINTS, CLUSTER)],
            [NO_LOAD_STREAM],
            [NO_ENDPOINTS],
            id="no load stream",
        ),
        pytest.param(
            REPORTED,
            [SENT, asked(Kind.ENDPOINTS, CLUSTER), ("opened", None, "LRS")],
            (),
            [NO_ENDPOINTS, NO_LOAD_STREAM],
            id="a load stream",
        ),
    ],
)
def test_what_a_client_ignores_and_what_it_follows(
    served: XdsConfig,
    said: list[tuple[str, Kind | None, str]],
    ignores: Iterable[Cause],
    follows: Iterable[Cause],
) -> None:
    happened = events(*said)
    assert causes(served, happened) == {*ignores}
    assert followed(served, happened, before=LATER) == {*follows}


def test_time_to_request_counts_from_the_newest_resource() -> None:
    happened = events(SENT, SENT)
    (only,) = ignored(TREE, happened)
    assert only.since == happened[-1].at
    assert only.roots == {CLUSTER}
    assert str(only) == f"{NO_CHILDREN.words} (leaf)"


def test_a_client_that_had_no_time_yet_refutes_nothing() -> None:
    assert not followed(BY_NAME, events(SENT), before=1.0)


def test_a_child_that_a_route_names_as_well_says_nothing() -> None:
    beside = replace(TREE, routes=(*TREE.routes, *LEAF.routes))
    assert NO_CHILDREN not in causes(beside, events(SENT))


def test_raw_bytes_refer_to_nothing_that_is_known() -> None:
    assert not causes(with_raw_clusters(TREE, TREE.cluster()), events(SENT))


def test_only_a_root_of_this_kind_cannot_serve() -> None:
    beside = merge(TREE, single_locality(["127.0.0.1:2"], name="other"))
    (only,) = [each for each in ignored(beside, events(SENT)) if each.cause == NO_CHILDREN]
    assert only.roots == {CLUSTER}


def test_the_route_of_a_call_is_the_first_that_matches() -> None:
    routes = (
        Route((), "/s/m", cluster="by-path"),
        Route((), cluster="by-header", when=(CLUSTER_HEADER, "b")),
        Route((), weighted_clusters={"x": 1, "y": 2}),
    )
    served = replace(PLAIN, routes=routes)
    assert target_of(served, "/s/m", [(CLUSTER_HEADER, "b")]) == {"by-path"}
    assert target_of(served, "/s/n", [(CLUSTER_HEADER, "b")]) == {"by-header"}
    assert target_of(served, "/s/n", []) == {"x", "y"}
    assert target_of(replace(PLAIN, routes=routes[:2]), "/s/n", []) == frozenset()


def test_a_cluster_to_which_an_earlier_route_led_proves_nothing() -> None:
    happened = events(SENT, asked(Kind.CLUSTER, "leaf"))
    assert followed(TREE, happened, before=LATER) == {NO_CHILDREN}
    assert not followed(TREE, happened, before=LATER, earlier=[LEAF])


def test_a_cluster_that_changes_its_type_may_serve_as_before() -> None:
    assert changed_clusters([PLAIN, TREE]) == {CLUSTER}
    assert changed_clusters([TREE, TREE]) == frozenset()
