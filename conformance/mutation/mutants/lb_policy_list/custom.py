"""Mutants of the clauses in custom.toml."""

from __future__ import annotations

from typing import Any

from envoy.config.cluster.v3.cluster_pb2 import Cluster

from client_under_test.reference.clusters.aggregates import LeafEndpoints, cluster_impl
from client_under_test.reference.clusters.discovery import Aggregate, Leaf
from client_under_test.reference.editions.mutants import Mutant, for_good
from client_under_test.reference.policies.configs import (
    ClusterImplConfig,
    PriorityChild,
    PriorityConfig,
    RoundRobinConfig,
)
from client_under_test.reference.policies.interface import PolicyConfig
from client_under_test.reference.policies.registry import is_known
from client_under_test.reference.policies.rules.localities import locality_target
from client_under_test.reference.xds.custom_rules import policy_fields, policy_name
from client_under_test.reference.xds.policy_list_rules import list_is_too_deep

TWO = 2


LIMIT = 8_388_608


PREFIX = "type.googleapis.com/"


OF_GRPC = frozenset({"round_robin", "ring_hash_experimental", "pick_first"})


def changed(value: Any, change: Any) -> Any:
    """Change each value of a JSON value, innermost first."""
    if isinstance(value, dict):
        value = {key: changed(each, change) for key, each in value.items()}
    elif isinstance(value, list):
        value = [changed(each, change) for each in value]
    return change(value)


def without(value: Any, dropped: Any) -> Any:
    """Return a JSON value without the fields that `dropped` matches."""
    if not isinstance(value, dict):
        return value
    return {key: each for key, each in value.items() if not dropped(key, each)}


def in_turn_but_for_the_first(
    aggregate: Aggregate | None, leaf: Leaf, found: LeafEndpoints, child: PolicyConfig
) -> ClusterImplConfig:
    """Use the policy of a Cluster in its first priority only."""
    assert isinstance(child, PriorityConfig), "each leaf has priorities"
    children = {
        name: priority_child if name == child.priorities[0] else PriorityChild(RoundRobinConfig())
        for name, priority_child in child.children.items()
    }
    below = PriorityConfig(children=children, priorities=child.priorities)
    return cluster_impl(aggregate, leaf, found, below)


numbers_as_text = Mutant(
    clause="A52-CUSTOM-01",
    broken="numbers beyond 53 bits become text",
    xds={
        "policy_fields": lambda struct: changed(
            policy_fields(struct),
            lambda value: (
                str(value) if type(value) in {int, float} and abs(value) > 2**53 else value
            ),
        )
    },
)


nothing_dropped = Mutant(
    clause="A52-CUSTOM-01",
    broken="fields that are null are left out",
    xds={
        "policy_fields": lambda struct: changed(
            policy_fields(struct), lambda value: without(value, lambda _, each: each is None)
        )
    },
)


empty_dropped = Mutant(
    clause="A52-CUSTOM-01",
    broken="fields without a name are left out",
    xds={
        "policy_fields": lambda struct: changed(
            policy_fields(struct), lambda value: without(value, lambda key, _: not key)
        )
    },
)


booleans_as_numbers = Mutant(
    clause="A52-CUSTOM-01",
    broken="booleans become numbers",
    xds={
        "policy_fields": lambda struct: changed(
            policy_fields(struct), lambda value: int(value) if isinstance(value, bool) else value
        )
    },
)


some_keys_lost = Mutant(
    clause="A52-CUSTOM-02",
    broken="a key called __proto__ is left out",
    xds={
        "policy_fields": lambda struct: changed(
            policy_fields(struct), lambda value: without(value, lambda key, _: key == "__proto__")
        )
    },
)


some_nested_keys_lost = Mutant(
    clause="A52-CUSTOM-02",
    broken="within another object a key called __proto__ is left out",
    xds={
        "policy_fields": lambda struct: {
            name: changed(field, lambda value: without(value, lambda key, _: key == "__proto__"))
            for name, field in policy_fields(struct).items()
        }
    },
)


one_package = Mutant(
    clause="A52-CUSTOM-03",
    broken="udpa.type.v1.TypedStruct is not supported",
    xds={"is_typed_struct": lambda package: package == "xds.type.v3"},
)


one_prefix = Mutant(
    clause="A52-CUSTOM-04",
    broken="only type_urls of type.googleapis.com have a name",
    xds={
        "policy_name": lambda url: (
            policy_name(url) if url.startswith(PREFIX) or "/" not in url else url
        )
    },
)


first_slash = Mutant(
    clause="A52-CUSTOM-04",
    broken="the name starts after the first slash",
    xds={"policy_name": lambda url: url.partition("/")[2] or url},
)


slash_demanded = Mutant(
    clause="A52-CUSTOM-05",
    broken="a type_url without a slash has no name",
    xds={"policy_name": lambda url: policy_name(url) if "/" in url else ""},
    reports="passed over",
)


any_name = Mutant(
    clause="A52-CUSTOM-06",
    broken="an unregistered policy ends the list",
    xds={"has_policy": lambda _name, _registered: True},
)


by_the_end_of_its_name = Mutant(
    clause="A52-CUSTOM-06",
    broken="a name that ends with that of a registered policy selects it",
    xds={
        "has_policy": lambda name, registered: (
            is_known(name, registered) or any(each.endswith(name) for each in registered)
        )
    },
)


def value_demanded(struct: Any) -> dict[str, Any]:
    """Reject an empty config."""
    if not struct.fields:
        raise ValueError(struct)
    return policy_fields(struct)


struct_demanded = Mutant(
    clause="A52-CUSTOM-07",
    broken="a TypedStruct without fields is rejected",
    xds={"policy_fields": value_demanded},
    reports="refused",
)


registry_not_asked = Mutant(
    clause="A52-CUSTOM-08",
    broken="a config that the registry rejects selects round_robin",
    xds={"policy_after_registry_error": lambda _words: RoundRobinConfig()},
)


refusal_ends_it = Mutant(
    clause="A52-CUSTOM-09",
    broken="a rejected Cluster is no longer used",
    xds={"rejection_removes": lambda noun, _features: noun == "Cluster"},
)


first_config_for_good = Mutant(
    clause="A52-CUSTOM-10",
    broken="the first config is used forever",
    xds={"policy_fields": for_good(policy_fields)},
)


class OnlyWhatWasThere:
    """Applies an update only if it changes or removes an existing field."""

    def __init__(self) -> None:
        self._in_use: dict[str, Any] = {"nothing": "yet"}

    def fields(self, struct: Any) -> dict[str, Any]:
        """Return the config in use."""
        new = policy_fields(struct)
        if any(key not in new or new[key] != value for key, value in self._in_use.items()):
            self._in_use = new
        return self._in_use


additions_unseen = Mutant(
    clause="A52-CUSTOM-10",
    broken="an update that only adds fields is ignored",
    xds={"policy_fields": OnlyWhatWasThere().fields},
)


localities_share_a_policy = Mutant(
    clause="A52-CUSTOM-11",
    broken="below WrrLocality all localities have one policy",
    rules={"locality_target": lambda _locality: "all"},
)


localities_of_a_region_share_a_policy = Mutant(
    clause="A52-CUSTOM-11",
    broken="all localities of a region have one policy",
    rules={"locality_target": lambda locality: locality.region},
)


localities_of_a_zone_share_a_policy = Mutant(
    clause="A52-CUSTOM-11",
    broken="all localities of a zone have one policy",
    rules={"locality_target": lambda locality: repr((locality.region, locality.zone))},
)


class LaterTogether:
    """Localities after the first two share the policy of the first."""

    def __init__(self) -> None:
        self._known: list[str] = []

    def target(self, locality: Any) -> str:
        """Return the target of a locality."""
        name = locality_target(locality)
        if name not in self._known:
            self._known.append(name)
        return name if self._known.index(name) < TWO else self._known[0]


later_localities_share_a_policy = Mutant(
    clause="A52-CUSTOM-11",
    broken="a locality that an update adds gets the policy of the first one",
    rules={"locality_target": LaterTogether().target},
)


always_in_localities = Mutant(
    clause="A52-CUSTOM-12",
    broken="a custom policy at the top is wrapped in WrrLocality",
    xds={
        "named_policy": lambda name, fields: {
            "xds_wrr_locality_experimental": {"childPolicy": [{name: fields}]}
        }
    },
)


custom_alone = Mutant(
    clause="A52-CUSTOM-13",
    broken="a TypedStruct that names a policy of gRPC is skipped",
    xds={"has_policy": lambda name, registered: name not in OF_GRPC and name in registered},
)


class AtTheTopAlone:
    """Below WrrLocality a TypedStruct names no policy of gRPC."""

    def __init__(self) -> None:
        self._level = 0

    def is_too_deep(self, level: int) -> bool:
        """Note the nesting level of the list."""
        self._level = level
        return list_is_too_deep(level)

    def has_policy(self, name: str, registered: Any) -> bool:
        """Return whether a policy of this name can be used."""
        return is_known(name, registered) and not (self._level > 1 and name in OF_GRPC)


AT_THE_TOP = AtTheTopAlone()


custom_alone_below_localities = Mutant(
    clause="A52-CUSTOM-13",
    broken="below WrrLocality a TypedStruct that names a policy of gRPC is skipped",
    xds={"has_policy": AT_THE_TOP.has_policy, "list_is_too_deep": AT_THE_TOP.is_too_deep},
)


def with_a_ring(message: Any) -> Any:
    """Return a rejected Cluster with lb_policy RING_HASH instead of its list."""
    if not isinstance(message, Cluster):
        return None
    message.ClearField("load_balancing_policy")
    message.lb_policy = Cluster.RING_HASH
    return message


ring_of_a_rejected_config = Mutant(
    clause="A52-CUSTOM-14",
    broken="after a rejected config of ring_hash the cluster has a ring of the default sizes",
    xds={"usable_part_of_rejected": with_a_ring},
)


bad_ring_taken = Mutant(
    clause="A52-CUSTOM-14",
    broken="a rejected config of ring_hash selects round_robin",
    xds={
        "policy_after_registry_error": lambda words: (
            RoundRobinConfig() if "ring_hash" in words else None
        )
    },
)


def lowered(struct: Any) -> dict[str, Any]:
    """Lower a maximum above 8M to 8M."""
    fields = policy_fields(struct)
    return {
        name: min(value, LIMIT) if name == "maxRingSize" else value
        for name, value in fields.items()
    }


maximum_beyond_the_limit_lowered = Mutant(
    clause="A52-CUSTOM-16",
    broken="a TypedStruct of ring_hash with a maximum above 8M is accepted",
    xds={"policy_fields": lowered},
)


first_priority_alone = Mutant(
    clause="A52-CUSTOM-15",
    broken="the policy of the list is used in the first priority only",
    rules={"cluster_impl": in_turn_but_for_the_first},
)
