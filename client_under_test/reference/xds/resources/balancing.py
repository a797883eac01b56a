"""The LB policy of a Cluster, by its old fields or its new one, as gRPC's own JSON (A42, A52)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from envoy.extensions.load_balancing_policies.client_side_weighted_round_robin.v3 import (
    client_side_weighted_round_robin_pb2,
)
from envoy.extensions.load_balancing_policies.least_request.v3 import least_request_pb2
from envoy.extensions.load_balancing_policies.pick_first.v3 import pick_first_pb2
from envoy.extensions.load_balancing_policies.ring_hash.v3 import ring_hash_pb2
from envoy.extensions.load_balancing_policies.round_robin.v3 import round_robin_pb2
from envoy.extensions.load_balancing_policies.wrr_locality.v3 import wrr_locality_pb2
from google.protobuf.json_format import SerializeToJsonError
from google.protobuf.message import DecodeError
from udpa.type.v1 import typed_struct_pb2 as udpa_pb2
from xds.type.v3 import typed_struct_pb2 as xds_pb2

from client_under_test.reference.xds.policy_list_rules import LEAST_REQUEST
from client_under_test.reference.xds.resources.findings import Findings
from client_under_test.reference.xds.resources.kinds import PREFIX
from client_under_test.reference.xds.rules import XdsRules

Json = dict[str, Any]

_TIMES: Final = (
    "blackout_period",
    "oob_reporting_period",
    "weight_expiration_period",
    "weight_update_period",
)
_NANOS: Final = 1_000_000_000


def balancing(cluster: Any, rules: XdsRules, findings: Findings) -> list[Json]:
    """Return the Cluster's policy as a list of LoadBalancingConfig; add errors to `findings`.

    Clauses: A52-FIELD-03.
    """
    if rules.prefers_extension(cluster):
        with findings.at("load_balancing_policy"):
            return _Registry(rules, findings).convert(cluster.load_balancing_policy)
    return _old_fields(cluster, rules, findings)


# The old fields.


def _old_fields(cluster: Any, rules: XdsRules, findings: Findings) -> list[Json]:
    """A42-CDS-20: our choice is to read ring_hash_lb_config for RING_HASH only."""
    match rules.supported_policy(cluster.lb_policy):
        case "ROUND_ROBIN":
            if rules.checks_unused_config:
                _old_ring_hash(cluster, rules, findings)
            return _in_localities([{"round_robin": {}}])  # A42-LOC-06
        case "RING_HASH":
            return _old_ring_hash(cluster, rules, findings)
        case "LEAST_REQUEST" if rules.supports_policy(LEAST_REQUEST):
            policy = [_least_request(cluster.least_request_lb_config)]
            weighted = rules.chooses_locality_by_weight("LEAST_REQUEST")
            return _in_localities(policy) if weighted else policy
        case _:
            findings.add(f"{cluster.lb_policy} is not supported", "lb_policy")
            return []


def _old_ring_hash(cluster: Any, rules: XdsRules, findings: Findings) -> list[Json]:
    config = cluster.ring_hash_lb_config
    with findings.at("ring_hash_lb_config"):
        if not rules.function_is_accepted(config.hash_function):
            findings.add(f"{config.hash_function} is not XX_HASH", "hash_function")
        return [_ring_hash(config, rules, findings)]


def _in_localities(policy: list[Json]) -> list[Json]:
    return [{"xds_wrr_locality_experimental": {"childPolicy": policy}}]


def _ring_hash(config: Any, rules: XdsRules, findings: Findings) -> Json:
    minimum, maximum = rules.ring_sizes(config)
    for field, size in (("minimum_ring_size", minimum), ("maximum_ring_size", maximum)):
        if not rules.ring_size_is_accepted(size):
            findings.add(f"{size} is not between 1 and 8388608", field)
    if not rules.ring_sizes_fit(minimum, maximum):
        findings.add(f"{minimum} is more than maximum_ring_size {maximum}", "minimum_ring_size")
    return {"ring_hash_experimental": {"minRingSize": minimum, "maxRingSize": maximum}}


def _least_request(config: Any) -> Json:
    """A48: what may be said of choice_count is the policy's own business."""
    said = config.HasField("choice_count")
    return {
        "least_request_experimental": {"choiceCount": config.choice_count.value} if said else {}
    }


# The new field.


def _lacking(policy: Any) -> str | None:
    """Return the field that an entry lacks."""
    if not policy.HasField("typed_extension_config"):
        return "typed_extension_config"
    return None if policy.typed_extension_config.HasField("typed_config") else "typed_config"


class _Registry:
    """A52's xDS LB policy registry: converters by the type of the policy's config."""

    def __init__(self, rules: XdsRules, findings: Findings) -> None:
        self._rules = rules
        self._findings = findings

    def convert(self, message: Any, level: int = 1) -> list[Json]:
        """Return the first supported policy of the list; an empty list if it is invalid.

        Clauses: A52-INPUT-03, A52-INPUT-04, A52-INPUT-05, A52-LIST-04, A52-LIST-07, A52-LIST-09.
        """
        if self._rules.list_is_too_deep(level):
            self._findings.add(f"is a list of level {level}")
            return []
        for number, policy in enumerate(self._rules.entries_to_try(message.policies)):
            path = f"policies[{number}].typed_extension_config"
            with self._findings.at(path):
                lacking = _lacking(policy)
                if lacking is not None and not self._rules.missing_field_is_error(lacking):
                    continue
                if lacking is not None:
                    self._findings.add("is missing", lacking.removeprefix("typed_extension_config"))
                    return []
                extension = policy.typed_extension_config
                type_url = self._rules.type_of_policy(extension)
                before = self._findings.count
                found = self._one(type_url, extension.typed_config.value, level)
            is_bad = self._findings.count > before
            if is_bad and not self._rules.error_ends_list(type_url, level):
                self._findings.forget(before)
            elif found is not None:
                return found
        self._findings.add("has no policy that is supported", "policies")
        return []

    def _one(self, type_url: str, body: bytes, level: int) -> list[Json] | None:
        """Return the policy; None if it is not supported.

        Clauses: A52-INPUT-01, A52-LIST-02, A52-LIST-11, A52-LIST-17.
        """
        known = _CONVERTERS.get(type_url)
        if known is None or not self._rules.supports_policy(type_url):
            return None
        message_class, converter = known
        try:
            message = message_class.FromString(body)
        except DecodeError:
            self._findings.add(f"is no {message_class.DESCRIPTOR.name}", "typed_config")
            return []
        with self._findings.at("typed_config"):
            return converter(self, message, level)

    def ring_hash(self, message: Any, _level: int) -> list[Json]:
        """`envoy.extensions...RingHash`.

        Clauses: A52-RING-04, A52-RING-06.
        """
        if not self._rules.extension_function_is_accepted(message.hash_function):
            self._findings.add(f"{message.hash_function} is not XX_HASH", "hash_function")
        return [_ring_hash(message, self._rules, self._findings)]

    def round_robin(self, message: Any, _level: int) -> list[Json]:
        """`envoy.extensions...RoundRobin`: nothing to configure."""
        return [self._rules.round_robin_config(message)]

    def pick_first(self, message: Any, _level: int) -> list[Json]:
        """`envoy.extensions...PickFirst` (A62)."""
        return [{"pick_first": {"shuffleAddressList": message.shuffle_address_list}}]

    def least_request(self, message: Any, _level: int) -> list[Json]:
        """`envoy.extensions...LeastRequest` (A48)."""
        return [_least_request(message)]

    def weighted_round_robin(self, message: Any, _level: int) -> list[Json]:
        """`envoy.extensions...ClientSideWeightedRoundRobin` (A58)."""
        for field in _TIMES:
            with self._findings.at(field):
                self._look_at_time(field, getattr(message, field))
        penalty = message.error_utilization_penalty.value
        if not self._rules.penalty_is_accepted(penalty):
            self._findings.add(f"{penalty} is below zero", "error_utilization_penalty")
        fields: dict[str, Any] = {
            field: f"{time.seconds + time.nanos / _NANOS}s"
            for field in _TIMES
            for time in [getattr(message, field)]
            if message.HasField(field) and self._rules.is_set(time.seconds or time.nanos)
        }
        if message.HasField("error_utilization_penalty") and self._rules.is_set(penalty):
            fields["error_utilization_penalty"] = penalty
        if message.enable_oob_load_report.value:
            fields["enable_oob_load_report"] = True
        names = message.DESCRIPTOR.fields_by_name
        return [{"weighted_round_robin": {names[name].json_name: fields[name] for name in fields}}]

    def _look_at_time(self, field: str, time: Any) -> None:
        if not self._rules.is_duration(time.seconds, time.nanos):
            self._findings.add("is no Duration")
        elif not self._rules.time_is_accepted(field, time.seconds * _NANOS + time.nanos):
            self._findings.add("is below zero")

    def wrr_locality(self, message: Any, level: int) -> list[Json]:
        """`envoy.extensions...WrrLocality`: a policy for each locality, found in the same way.

        Clauses: A52-LIST-12.
        """
        with self._findings.at("endpoint_picking_policy"):
            if not message.HasField("endpoint_picking_policy"):
                self._findings.add("is missing")
                return []
            return _in_localities(self.convert(message.endpoint_picking_policy, level + 1))

    def typed_struct(self, message: Any, _level: int) -> list[Json] | None:
        """Return a policy by the last part of its type's name, if gRPC's own registry has it."""
        rules = self._rules
        name = rules.policy_name(message.type_url)
        if not rules.is_typed_struct(message.DESCRIPTOR.file.package):
            return None
        if not rules.has_policy(name, rules.registered_policies):
            return None
        try:
            return [rules.named_policy(name, rules.policy_fields(message.value))]
        except (SerializeToJsonError, ValueError):  # a number that JSON does not have, say
            self._findings.add("cannot be written as JSON", "value")
            return []


_Converter = Callable[[_Registry, Any, int], "list[Json] | None"]

_CONVERTERS: Final[dict[str, tuple[Any, _Converter]]] = {
    PREFIX + message.DESCRIPTOR.full_name: (message, converter)
    for message, converter in (
        (ring_hash_pb2.RingHash, _Registry.ring_hash),
        (round_robin_pb2.RoundRobin, _Registry.round_robin),
        (pick_first_pb2.PickFirst, _Registry.pick_first),
        (least_request_pb2.LeastRequest, _Registry.least_request),
        (
            client_side_weighted_round_robin_pb2.ClientSideWeightedRoundRobin,
            _Registry.weighted_round_robin,
        ),
        (wrr_locality_pb2.WrrLocality, _Registry.wrr_locality),
        (xds_pb2.TypedStruct, _Registry.typed_struct),
        (udpa_pb2.TypedStruct, _Registry.typed_struct),
    )
}
