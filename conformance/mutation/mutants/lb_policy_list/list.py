"""Mutants of the clauses in list.toml."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from envoy.config.cluster.v3.cluster_pb2 import LoadBalancingPolicy
from envoy.extensions.load_balancing_policies.ring_hash.v3.ring_hash_pb2 import RingHash
from envoy.extensions.load_balancing_policies.wrr_locality.v3.wrr_locality_pb2 import WrrLocality
from google.protobuf.message import DecodeError
from xds.type.v3.typed_struct_pb2 import TypedStruct

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.xds.policy_list_rules import type_of_policy
from conformance.mutation.mutants.findings import Finding, overlooking, overlooking_in, refusing

EXTENSIONS = "type.googleapis.com/envoy.extensions.load_balancing_policies"


ROUND_ROBIN = f"{EXTENSIONS}.round_robin.v3.RoundRobin"


MANY = 50


OWN = ("", "round_robin", "ring_hash_experimental")


POLICY_NAMES = ("round_robin", "ring_hash", "ring_hash_experimental")


RING_HASH = f"{EXTENSIONS}.ring_hash.v3.RingHash"


WRR_LOCALITY = f"{EXTENSIONS}.wrr_locality.v3.WrrLocality"


def known_or_turns(extension: Any) -> str:
    """Treat unknown types as RoundRobin."""
    known = type_of_policy(extension).startswith((EXTENSIONS, "type.googleapis.com/xds."))
    return type_of_policy(extension) if known else ROUND_ROBIN


def by_the_end_of_a_type(extension: Any) -> str:
    """Treat any type that ends in the name of a gRPC policy as that policy."""
    type_url = type_of_policy(extension)
    return ROUND_ROBIN if type_url.endswith("/round_robin") else type_url


def by_the_name_of_a_message(extension: Any) -> str:
    """Ignore the package of a type, so that any RoundRobin is that of the xDS API."""
    type_url = type_of_policy(extension)
    return ROUND_ROBIN if type_url.endswith(".RoundRobin") else type_url


def named_by(extension: Any) -> str:
    """Return the type that a TypedStruct names; empty for other messages."""
    config = extension.typed_config
    if not config.Is(TypedStruct.DESCRIPTOR):
        return ""
    struct = TypedStruct()
    config.Unpack(struct)
    return str(struct.type_url)


def as_the_message(extension: Any) -> str:
    """Treat a TypedStruct with the name of an xDS API message as that message."""
    named = named_by(extension)
    return named if named.startswith(EXTENSIONS) else type_of_policy(extension)


def names_nobodys(message: Any) -> bool:
    """Return whether a TypedStruct names a policy that gRPC does not have."""
    names = (
        named_by(policy.typed_extension_config) for policy in message.load_balancing_policy.policies
    )
    return any(name.rpartition("/")[2] not in OWN for name in names)


def random_as_turns(extension: Any) -> str:
    """Treat Random of the xDS API as RoundRobin."""
    type_url = type_of_policy(extension)
    return ROUND_ROBIN if type_url.endswith(".random.v3.Random") else type_url


def nobodys_as_turns(entries: Sequence[Any]) -> Sequence[Any]:
    """Treat TypedStructs of unknown policies as RoundRobin."""
    names = [named_by(entry.typed_extension_config) for entry in entries]
    (turns,) = with_turns_at_the_end(())
    return [
        turns if name and name.rpartition("/")[2] not in OWN else entry
        for entry, name in zip(entries, names, strict=True)
    ]


def entries_below(cluster: Any) -> Iterator[Any]:
    """Return the entries of each WrrLocality in the list of a Cluster."""
    for policy in cluster.load_balancing_policy.policies:
        config = policy.typed_extension_config.typed_config
        if config.type_url == WRR_LOCALITY:
            yield from WrrLocality.FromString(config.value).endpoint_picking_policy.policies


def is_bad_ring(policy: Any) -> bool:
    """Return whether an entry is a RingHash that cannot be converted."""
    config = policy.typed_extension_config.typed_config
    if config.type_url != RING_HASH:
        return False
    try:
        return bool(RingHash.FromString(config.value).hash_function != RingHash.XX_HASH)
    except DecodeError:
        return True


def is_bad_struct(policy: Any) -> bool:
    """Return whether an entry is a TypedStruct of ring_hash with a size that is a string."""
    config = policy.typed_extension_config.typed_config
    struct = TypedStruct()
    return config.Unpack(struct) and any(
        value.WhichOneof("kind") == "string_value" for value in struct.value.fields.values()
    )


def later_ones(is_bad: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Match a Cluster with a bad entry after the first one of its list."""
    return lambda cluster: any(map(is_bad, cluster.load_balancing_policy.policies[1:]))


def by_name(extension: Any) -> str:
    """Prefer the name of an entry over its type if it names a policy."""
    return ROUND_ROBIN if extension.name.endswith("round_robin") else type_of_policy(extension)


def policy_of_that_name(message: Any, found: Sequence[Finding]) -> Sequence[Finding]:
    """Overlook a missing config if the name of an entry of the list is that of a policy."""
    names = (each.typed_extension_config.name for each in message.load_balancing_policy.policies)
    is_known = any(name.endswith(POLICY_NAMES) for name in names)
    return overlooking("typed_config", "is missing")(message, found) if is_known else found


def with_turns_at_the_end(entries: Sequence[Any]) -> Sequence[Any]:
    """Append a RoundRobin to the list."""
    last = LoadBalancingPolicy.Policy()
    last.typed_extension_config.typed_config.type_url = ROUND_ROBIN
    return [*entries, last]


def must_have(path: str) -> Any:
    """Reject a list if any entry lacks this field."""
    whole = path == "typed_extension_config"

    def is_wrong(message: Any) -> bool:
        return any(
            not policy.HasField("typed_extension_config")
            if whole
            else not policy.typed_extension_config.HasField("typed_config")
            for policy in message.load_balancing_policy.policies
        )

    return refusing(is_wrong)


last_one_first = Mutant(
    clause="A52-LIST-01",
    broken="the last supported policy is used",
    xds={"entries_to_try": lambda entries: entries[::-1]},
)


unknown_is_an_error = Mutant(
    clause="A52-LIST-02",
    broken="only the first entry of a list is read",
    xds={"entries_to_try": lambda entries: entries[:1]},
)


unknown_is_round_robin = Mutant(
    clause="A52-LIST-02",
    broken="an unknown type is treated as RoundRobin",
    xds={"type_of_policy": known_or_turns},
)


any_of_that_name = Mutant(
    clause="A52-LIST-02",
    broken="the name of any type is looked up in the registry",
    xds={"type_of_policy": by_the_end_of_a_type},
)


any_of_that_message_name = Mutant(
    clause="A52-LIST-02",
    broken="any message named RoundRobin is treated as that of the xDS API",
    xds={"type_of_policy": by_the_name_of_a_message},
)


struct_as_the_message = Mutant(
    clause="A52-LIST-02",
    broken="a TypedStruct with the name of an xDS API message means that message",
    xds={"type_of_policy": as_the_message},
)


unknown_struct_is_an_error = Mutant(
    clause="A52-LIST-02",
    broken="a TypedStruct of an unknown policy is an error",
    xds={"cluster_errors": refusing(names_nobodys)},
)


nothing_known_is_round_robin = Mutant(
    clause="A52-LIST-03",
    broken="a list without a supported policy means RoundRobin",
    xds={"entries_to_try": with_turns_at_the_end},
)


random_is_round_robin = Mutant(
    clause="A52-LIST-02",
    broken="Random, which gRPC does not support, is treated as RoundRobin",
    xds={"type_of_policy": random_as_turns},
)


unknown_struct_is_round_robin = Mutant(
    clause="A52-LIST-02",
    broken="a TypedStruct of an unknown policy is treated as RoundRobin",
    xds={"entries_to_try": nobodys_as_turns},
)


only_struct_is_round_robin = Mutant(
    clause="A52-LIST-03",
    broken="a TypedStruct of an unknown policy is treated as RoundRobin",
    xds={"entries_to_try": nobodys_as_turns},
)


bytes_that_are_none = Mutant(
    clause="A52-LIST-04",
    broken="a RingHash whose bytes are not a message is accepted",
    xds={"cluster_errors": overlooking("typed_config", "is no RingHash")},
)


bad_below_localities = Mutant(
    clause="A52-LIST-04",
    broken="a RingHash below WrrLocality is not validated",
    xds={"cluster_errors": overlooking_in("endpoint_picking_policy.", "is no")},
)


bad_localities = Mutant(
    clause="A52-LIST-04",
    broken="a WrrLocality whose bytes are not a message is accepted",
    xds={"cluster_errors": overlooking("typed_config", "is no WrrLocality")},
)


bad_after_unknown = Mutant(
    clause="A52-LIST-04",
    broken="only the first entry of a list is validated",
    xds={"cluster_errors": overlooking_in("policies[1].", "is no")},
)


next_one_tried_below_localities = Mutant(
    clause="A52-LIST-05",
    broken="after a policy below WrrLocality that cannot be converted the next entry is tried",
    xds={"error_ends_list": lambda _type_url, level: level == 1},
)


next_one_tried = Mutant(
    clause="A52-LIST-05",
    broken="after a policy that cannot be converted the next entry is tried",
    xds={"error_ends_list": lambda _type_url, _level: False},
)


next_one_tried_after_localities = Mutant(
    clause="A52-LIST-06",
    broken="a WrrLocality without a supported policy is skipped",
    xds={"error_ends_list": lambda type_url, _level: type_url != WRR_LOCALITY},
)


all_entries_checked = Mutant(
    clause="A52-LIST-07",
    broken="every entry must have an extension",
    xds={"cluster_errors": must_have("typed_extension_config")},
)


all_configs_checked = Mutant(
    clause="A52-LIST-07",
    broken="every entry must have a config",
    xds={"cluster_errors": must_have("typed_config")},
)


long_lists_refused = Mutant(
    clause="A52-LIST-07",
    broken="a list of more than 50 entries is rejected",
    xds={
        "cluster_errors": refusing(
            lambda cluster: len(cluster.load_balancing_policy.policies) > MANY
        )
    },
)


next_one_tried_after_localities_below = Mutant(
    clause="A52-LIST-06",
    broken="a WrrLocality without a supported policy is skipped below another WrrLocality",
    xds={"error_ends_list": lambda type_url, level: level == 1 or type_url != WRR_LOCALITY},
)


all_below_localities_checked = Mutant(
    clause="A52-LIST-07",
    broken="below WrrLocality every RingHash must be valid",
    xds={"cluster_errors": refusing(lambda cluster: any(map(is_bad_ring, entries_below(cluster))))},
)


all_structs_checked = Mutant(
    clause="A52-LIST-07",
    broken="every TypedStruct of the list must be valid",
    xds={"cluster_errors": refusing(later_ones(is_bad_struct))},
)


no_config_below_is_round_robin = Mutant(
    clause="A52-LIST-09",
    broken="below WrrLocality a single entry without a config means RoundRobin",
    xds={"cluster_errors": overlooking_in("endpoint_picking_policy.policies", "is missing")},
)


localities_below_need_no_list = Mutant(
    clause="A52-LIST-12",
    broken="a WrrLocality below another one needs no list",
    xds={"cluster_errors": overlooking_in("endpoint_picking_policy.policies", "is missing")},
)


empty_list_is_round_robin = Mutant(
    clause="A52-LIST-08",
    broken="an empty list means RoundRobin",
    xds={"entries_to_try": lambda entries: entries or with_turns_at_the_end(entries)},
)


no_extension_is_round_robin = Mutant(
    clause="A52-LIST-09",
    broken="a list without any extension means RoundRobin",
    xds={"cluster_errors": overlooking("typed_extension_config", "is missing")},
)


no_config_is_round_robin = Mutant(
    clause="A52-LIST-09",
    broken="a single entry without a config means RoundRobin",
    xds={"cluster_errors": overlooking("typed_config", "is missing")},
)


no_config_means_its_name = Mutant(
    clause="A52-LIST-09",
    broken="a single entry without a config selects the policy of its name",
    xds={"cluster_errors": policy_of_that_name},
)


entry_passed_over = Mutant(
    clause="A52-LIST-10",
    broken="an entry without a config is skipped",
    xds={"missing_field_is_error": lambda _field: False},
    reports="passed over",
)


name_goes_first = Mutant(
    clause="A52-LIST-11",
    broken="the name of an entry takes precedence over its type if it names a policy",
    xds={"type_of_policy": by_name},
)


name_demanded = Mutant(
    clause="A52-LIST-11",
    broken="an entry must have a name",
    xds={
        "cluster_errors": refusing(
            lambda message: any(
                policy.HasField("typed_extension_config") and not policy.typed_extension_config.name
                for policy in message.load_balancing_policy.policies
            )
        )
    },
)


localities_need_no_list = Mutant(
    clause="A52-LIST-12",
    broken="WrrLocality without a list means RoundRobin",
    xds={"cluster_errors": overlooking("endpoint_picking_policy", "is missing")},
)


def without_later_ones(entries: Sequence[Any]) -> Sequence[Any]:
    """Leave out each WrrLocality without a list that is not the first entry."""
    return [entry for i, entry in enumerate(entries) if not (i and lacks_a_list(entry))]


def lacks_a_list(entry: Any) -> bool:
    """Return whether an entry is a WrrLocality without a list."""
    config = entry.typed_extension_config.typed_config
    if config.type_url != WRR_LOCALITY:
        return False
    return not WrrLocality.FromString(config.value).endpoint_picking_policy.policies


later_localities_without_a_list_skipped = Mutant(
    clause="A52-LIST-12",
    broken="after an unknown entry, a WrrLocality without a list is skipped",
    xds={"entries_to_try": without_later_ones},
)


def overlooking_fractions(_message: Any, found: Sequence[Finding]) -> Sequence[Finding]:
    """Ignore sizes that are fractions."""
    fraction = re.compile(r": \d+\.\d*[1-9]\d* is not a whole number")
    return [finding for finding in found if not fraction.search(finding[1])]


fractions_parsed = Mutant(
    clause="A52-LIST-13",
    broken="a fraction as the size of a ring is accepted",
    xds={"cluster_errors": overlooking_fractions},
)


def overlooking_maximum(_message: Any, found: Sequence[Finding]) -> Sequence[Finding]:
    """Ignore a maxRingSize that is no number."""
    return [
        finding
        for finding in found
        if not ("maxRingSize" in finding[1] and "is not a whole number" in finding[1])
    ]


maximum_not_parsed = Mutant(
    clause="A52-LIST-13",
    broken="a maxRingSize that is no number is ignored",
    xds={"cluster_errors": overlooking_maximum},
)


config_in_localities_not_parsed = Mutant(
    clause="A52-LIST-13",
    broken="below WrrLocality the config of ring_hash in a TypedStruct is not validated",
    xds={
        "cluster_errors": overlooking_in(
            "load_balancing_policy", "childPolicy[0].ring_hash_experimental"
        )
    },
)


config_not_parsed = Mutant(
    clause="A52-LIST-13",
    broken="the config of ring_hash in a TypedStruct is not validated",
    xds={"cluster_errors": overlooking("load_balancing_policy", "ring_hash_experimental")},
)
