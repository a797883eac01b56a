"""From the LB policy of an xDS Cluster to configs in JSON form (A42, A52)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from envoy.config.cluster.v3 import cluster_pb2
from envoy.extensions.load_balancing_policies.pick_first.v3 import pick_first_pb2
from envoy.extensions.load_balancing_policies.ring_hash.v3 import ring_hash_pb2
from envoy.extensions.load_balancing_policies.round_robin.v3 import round_robin_pb2
from envoy.extensions.load_balancing_policies.wrr_locality.v3 import wrr_locality_pb2
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError
from udpa.type.v1 import typed_struct_pb2 as udpa_typed_struct_pb2
from xds.type.v3 import typed_struct_pb2

from client_under_test.reference.policies import registry
from client_under_test.reference.policies.configs import DEFAULT_MINIMUM
from client_under_test.reference.policies.exceptions import BadConfig
from client_under_test.reference.policies.interface import PolicyConfig
from client_under_test.reference.policies.ring_config import LARGEST_RING

if TYPE_CHECKING:
    from client_under_test.reference.editions import Rules

JsonConfig = dict[str, dict[str, Any]]

DEPTH_LIMIT: Final = 16  # A52: "more than 16 levels of recursion" are not valid


def cluster_policy(cluster: Any, rules: Rules) -> PolicyConfig:
    """A52: convert the policy of a Cluster message, then parse it; both validate.

    Raises:
        BadConfig: the Cluster is to be rejected; the field is within the Cluster.
    """
    if cluster.HasField("load_balancing_policy"):
        field = "load_balancing_policy"
        configs = convert(cluster.load_balancing_policy, rules)
    else:
        field = "lb_policy"
        configs = from_the_enum(cluster, rules)
    return registry.parse(configs, rules, field)


def from_the_enum(cluster: Any, rules: Rules) -> list[JsonConfig]:
    """Convert lb_policy and the config that goes with it.

    Clauses: A42-CDS-01, A42-CDS-02, A42-CDS-03, A42-CDS-20, A42-CDS-21 (any other policy is
    rejected), A42-CDS-29.
    """
    if cluster.lb_policy == cluster_pb2.Cluster.ROUND_ROBIN:
        return [{"xds_wrr_locality_experimental": {"childPolicy": [{"round_robin": {}}]}}]
    if cluster.lb_policy == cluster_pb2.Cluster.RING_HASH:
        return [_ring_hash(cluster.ring_hash_lb_config, "ring_hash_lb_config", rules)]
    raise BadConfig("lb_policy", f"{_enum_name(cluster, 'lb_policy')} is not supported")


def convert(
    policy: Any, rules: Rules, field: str = "load_balancing_policy", depth: int = 1
) -> list[JsonConfig]:
    """A52: convert the first supported entry of a LoadBalancingPolicy message.

    Raises:
        BadConfig: no entry is supported, the first that is cannot be converted, or the nesting is
            too deep.
    """
    if depth > DEPTH_LIMIT:
        raise BadConfig(field, f"is nested more than {DEPTH_LIMIT} deep")
    for number, entry in enumerate(policy.policies):
        config = entry.typed_extension_config.typed_config
        inner = f"{field}.policies[{number}].typed_extension_config.typed_config"
        converter = _CONVERTERS.get(config.type_url.rpartition("/")[2])
        if converter is None:
            continue
        kind, convert_one = converter
        message = kind()
        try:
            message.ParseFromString(config.value)
        except DecodeError as error:
            raise BadConfig(f"{inner}.value", f"is not a {kind.DESCRIPTOR.full_name}") from error
        converted = convert_one(message, inner, depth, rules)
        if converted is not None:
            return [converted]
    raise BadConfig(field, "no supported policy in the list")


def _convert_ring_hash(message: Any, field: str, _depth: int, rules: Rules) -> JsonConfig:
    return _ring_hash(message, field, rules)


def _ring_hash(message: Any, field: str, rules: Rules) -> JsonConfig:
    """Convert either message of ring_hash: the sizes, each with its default in xDS.

    Clauses: A42-CDS-04, A42-CDS-05, A42-CDS-06, A42-CDS-07, A42-CONF-04.
    """
    function = _enum_name(message, "hash_function")
    if not rules.hash_function_is_supported(function):
        raise BadConfig(f"{field}.hash_function", f"{function} is not XX_HASH")
    minimum, maximum = DEFAULT_MINIMUM, LARGEST_RING
    if message.HasField("minimum_ring_size"):
        minimum = message.minimum_ring_size.value
    if message.HasField("maximum_ring_size"):
        maximum = message.maximum_ring_size.value
    return {"ring_hash_experimental": {"minRingSize": str(minimum), "maxRingSize": str(maximum)}}


def _convert_round_robin(_message: Any, _field: str, _depth: int, _rules: Rules) -> JsonConfig:
    return {"round_robin": {}}


def _convert_pick_first(message: Any, _field: str, _depth: int, _rules: Rules) -> JsonConfig:
    """A62, pick_first via xDS."""
    return {"pick_first": {"shuffleAddressList": message.shuffle_address_list}}


def _convert_wrr_locality(message: Any, field: str, depth: int, rules: Rules) -> JsonConfig:
    inner = f"{field}.endpoint_picking_policy"
    children = convert(message.endpoint_picking_policy, rules, inner, depth + 1)
    return {"xds_wrr_locality_experimental": {"childPolicy": children}}


def _convert_typed_struct(
    message: Any, _field: str, _depth: int, _rules: Rules
) -> JsonConfig | None:
    """A52: a policy by its name in the registry, the Struct as its config; skipped if not there."""
    name = message.type_url.rpartition("/")[2]
    if not registry.is_registered(name):
        return None
    return {name: MessageToDict(message.value)}


def _enum_name(message: Any, field: str) -> str:
    number = getattr(message, field)
    value = message.DESCRIPTOR.fields_by_name[field].enum_type.values_by_number.get(number)
    return str(number) if value is None else str(value.name)


_Converter = Callable[[Any, str, int, "Rules"], JsonConfig | None]

_CONVERTERS: Final[Mapping[str, tuple[Any, _Converter]]] = {
    kind.DESCRIPTOR.full_name: (kind, converter)
    for kind, converter in (
        (ring_hash_pb2.RingHash, _convert_ring_hash),
        (round_robin_pb2.RoundRobin, _convert_round_robin),
        (pick_first_pb2.PickFirst, _convert_pick_first),
        (wrr_locality_pb2.WrrLocality, _convert_wrr_locality),
        (typed_struct_pb2.TypedStruct, _convert_typed_struct),
        (udpa_typed_struct_pb2.TypedStruct, _convert_typed_struct),
    )
}
