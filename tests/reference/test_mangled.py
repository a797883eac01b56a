"""Whatever a control plane sends, the client answers with an ACK or a NACK and lives on."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from envoy.extensions.load_balancing_policies.ring_hash.v3 import ring_hash_pb2
from google.protobuf.any_pb2 import Any as Packed
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError
from hypothesis import given, settings
from hypothesis import strategies as st

from client_under_test.reference.clusters import aggregates
from client_under_test.reference.clusters.aggregates import LeafEndpoints, PriorityNames
from client_under_test.reference.clusters.discovery import Leaf
from client_under_test.reference.editions.editions import MODERN, SEED, SEED_2021, Edition
from client_under_test.reference.policies import registry
from client_under_test.reference.policies.cluster_manager import ClusterManager
from client_under_test.reference.policies.configs import ClusterManagerConfig
from client_under_test.reference.policies.interface import PickArgs, Update, UpdateState
from client_under_test.reference.policies.ledger import Ledger
from client_under_test.reference.resolving.selector import RouteSelector, find_host
from client_under_test.reference.xds.ads import Absent, Ads, Request
from client_under_test.reference.xds.resources.kinds import Kind
from client_under_test.reference.xds.resources.reading import Good, read_resources
from client_under_test.reference.xds.resources.values import RouteConfiguration
from client_under_test.reference.xds.rules import XdsRules
from fake_control_plane import resources as made

EXAMPLES = 100


def listeners() -> list[Any]:
    inline = made.route_configuration("r", cluster="c")
    return [made.listener("x", route_config="r"), made.listener("x", route_config=inline)]


def routes() -> list[Any]:
    policies = [
        made.hash_header("session", regex="a+", substitution=r"\1"),
        made.hash_channel_id(terminal=True),
        made.hash_cookie("c"),
    ]
    by_path = made.route(cluster="c", path="/x", hash_policies=policies)
    by_path.match.headers.add(name="h").string_match.prefix = "p"
    by_path.match.headers.add(name="i").range_match.end = 5
    by_path.match.runtime_fraction.default_value.numerator = 50
    weighted = made.route(cluster="c")
    weighted.route.weighted_clusters.clusters.add(name="a").weight.value = 1
    return [made.route_configuration("x", by_path, weighted)]


def clusters() -> list[Any]:
    extended = made.eds_cluster("x", max_requests=5, lrs=True)
    entry = extended.load_balancing_policy.policies.add()
    config = ring_hash_pb2.RingHash(hash_function=ring_hash_pb2.RingHash.XX_HASH)
    config.minimum_ring_size.value = 5
    config.maximum_ring_size.value = 10
    entry.typed_extension_config.typed_config.Pack(config)
    return [
        made.eds_cluster("x", policy=made.ring_hash(5, 10)),
        made.logical_dns_cluster("x", "host", 80),
        made.aggregate_cluster("x", "a", "b"),
        extended,
    ]


def endpoints() -> list[Any]:
    return [
        made.endpoints(
            "x",
            made.locality("one", made.endpoint("127.0.0.1:1", "[::1]:1", weight=3, hash_key="k")),
            made.locality("two", made.endpoint("127.0.0.2:1", health="DRAINING"), weight=7),
            made.locality("three", made.endpoint("127.0.0.3:1"), priority=1),
            drops=[made.drop("d", 5)],
        )
    ]


SEEDS: dict[Kind, Callable[[], list[Any]]] = {
    Kind.LISTENER: listeners,
    Kind.ROUTE: routes,
    Kind.CLUSTER: clusters,
    Kind.ENDPOINTS: endpoints,
}


def bytes_of(kind: Kind) -> st.SearchStrategy[bytes]:
    """A good resource with some of its bytes cut, replaced, put in or doubled."""
    good = [message.SerializeToString() for message in SEEDS[kind]()]

    @st.composite
    def mangled(draw: st.DrawFn) -> bytes:
        data = bytearray(draw(st.sampled_from(good)))
        for _ in range(draw(st.integers(1, 4))):
            start = draw(st.integers(0, len(data)))
            end = draw(st.integers(start, min(len(data), start + 8)))
            data[start:end] = draw(st.binary(max_size=8))
        return bytes(data)

    return mangled()


TEXTS = ["", "x", "*", "a*b", "(", "[::1]", "127.0.0.1", "\0", "x" * 300, "-bin", "content-type"]
NUMBERS = [0, 1, -1, 2, 5, 127, 2**31 - 1, -(2**31), 2**32 - 1, 2**63 - 1, 2**64 - 1, 8388609]


def shake(message: Any, rng: random.Random, changes: int) -> None:
    """Change fields somewhere in a message to values that it may have by its schema."""
    for _ in range(changes):
        target = message
        while True:
            below = [
                value
                for field, value in target.ListFields()
                if field.type == FieldDescriptor.TYPE_MESSAGE
            ]
            if not below or rng.random() < 0.2:
                break
            chosen = rng.choice(below)
            if not hasattr(chosen, "ListFields"):
                if not len(chosen) or hasattr(chosen, "items"):
                    break
                chosen = rng.choice(chosen)
            target = chosen
        fields = target.DESCRIPTOR.fields
        if fields:
            _shake_field(target, rng.choice(fields), rng)


def _shake_field(target: Any, field: Any, rng: random.Random) -> None:
    if rng.random() < 0.3:
        target.ClearField(field.name)
        return
    present = getattr(target, field.name)
    if field.is_repeated:
        if hasattr(present, "items"):
            return
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            present.append(rng.choice(present)) if len(present) else present.add()
        else:
            present.append(_scalar(field, rng))
    elif field.type == FieldDescriptor.TYPE_MESSAGE:
        present.SetInParent()
    else:
        setattr(target, field.name, _scalar(field, rng))


RANGES = {
    FieldDescriptor.CPPTYPE_ENUM: (-(2**31), 2**31),
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64),
    FieldDescriptor.CPPTYPE_BOOL: (0, 2),
}


def _scalar(field: Any, rng: random.Random) -> Any:
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        text = rng.choice(TEXTS)
        return text.encode() if field.type == FieldDescriptor.TYPE_BYTES else text
    if field.cpp_type not in RANGES:
        return rng.choice([0.0, -1.5, 1e300, float("nan"), float("inf")])
    least, end = RANGES[field.cpp_type]
    number = rng.choice([candidate for candidate in NUMBERS if least <= candidate < end])
    return bool(number) if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL else number


def answered(kind: Kind, packed: list[Packed]) -> None:
    """The response is answered once, NACKed exactly if something in it is bad, then used."""
    ads = Ads(XdsRules())
    ads.subscribe(kind, "x")
    ads.stream_started()
    outputs = ads.response(kind.type_url, "1", "n", packed)
    (request,) = [output for output in outputs if isinstance(output, Request)]
    read = read_resources(kind, packed, XdsRules())
    assert (request.error is None) == all(isinstance(resource, Good) for resource in read)
    assert request.error is None or request.error
    outcome = ads.outcome(kind, "x")
    if outcome is not None and not isinstance(outcome, Absent):
        for edition in (SEED, SEED_2021, MODERN):
            use(outcome, edition)


def use(outcome: Any, edition: Edition) -> None:
    """What was accepted makes no rule raise."""
    rng = random.Random(1)
    match outcome:
        case RouteConfiguration():
            host = find_host(outcome, "x", edition.rules)
            if host is not None:
                RouteSelector(host, channel_id=1, rng=rng, rules=edition.rules).select(
                    "/x", (("session", "aaa"), ("h", "p"), ("i", "3"))
                )
        case Leaf():
            balance(outcome, LeafEndpoints(), edition)
            found = read_resources(Kind.ENDPOINTS, [_packed(endpoints()[0])], XdsRules())[0]
            assert isinstance(found, Good)
            assert isinstance(found.value, LeafEndpoints)
            balance(outcome, found.value, edition)
        case LeafEndpoints():
            for cluster in clusters()[:1]:
                leaf = read_resources(Kind.CLUSTER, [_packed(cluster)], XdsRules())[0]
                assert isinstance(leaf, Good)
                assert isinstance(leaf.value, Leaf)
                balance(leaf.value, outcome, edition)


def balance(leaf: Leaf, found: LeafEndpoints, edition: Edition) -> None:
    rng = random.Random(1)
    tools = registry.tools(edition.rules, random=rng, ledger=Ledger(edition.rules))
    update = aggregates.make_update("x", None, [(leaf, found)], PriorityNames(), edition.rules)
    manager = ClusterManager(tools)
    below = tuple(
        type(endpoint)(
            addresses=endpoint.addresses,
            weight=endpoint.weight,
            locality=endpoint.locality,
            locality_weight=endpoint.locality_weight,
            hash_key=endpoint.hash_key,
            path=("x", *endpoint.path),
        )
        for endpoint in update.endpoints
    )
    actions = manager.update(
        Update(config=ClusterManagerConfig(children={"x": update.config}), endpoints=below)
    )
    for action in actions:
        if isinstance(action, UpdateState):
            action.picker.pick(PickArgs(path="/x", cluster="x", request_hash=5, random=rng))


def _packed(message: Any) -> Packed:
    packed = Packed()
    packed.Pack(message)
    return packed


@pytest.mark.parametrize("kind", list(Kind))
@settings(max_examples=EXAMPLES, deadline=None)
@given(data=st.data())
def test_bytes(kind: Kind, data: st.DataObject) -> None:
    value = data.draw(bytes_of(kind))
    answered(kind, [Packed(type_url=kind.type_url, value=value)])


@pytest.mark.parametrize("kind", list(Kind))
@settings(max_examples=EXAMPLES, deadline=None)
@given(seed=st.integers(0, 2**32), changes=st.integers(1, 6))
def test_fields(kind: Kind, seed: int, changes: int) -> None:
    rng = random.Random(seed)
    message = rng.choice(SEEDS[kind]())
    shake(message, rng, changes)
    try:
        packed = _packed(message)
    except (ValueError, DecodeError):
        return
    answered(kind, [packed])


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    type_url=st.sampled_from([*(kind.type_url for kind in Kind), "", "x"]),
    version=st.text(max_size=5),
    nonce=st.text(max_size=5),
    packed=st.lists(
        st.builds(
            Packed,
            type_url=st.sampled_from([*(kind.type_url for kind in Kind), "", "x"]),
            value=st.binary(max_size=30),
        ),
        max_size=4,
    ),
)
def test_responses(type_url: str, version: str, nonce: str, packed: list[Packed]) -> None:
    ads = Ads(XdsRules())
    for kind in Kind:
        ads.subscribe(kind, "x")
    ads.stream_started()
    outputs = ads.response(type_url, version, nonce, packed)
    known = type_url in {kind.type_url for kind in Kind}
    assert len([output for output in outputs if isinstance(output, Request)]) == known
