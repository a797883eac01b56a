"""Mutants of the clauses in list.toml."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from envoy.config.cluster.v3.cluster_pb2 import LoadBalancingPolicy
from xds.type.v3.typed_struct_pb2 import TypedStruct

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.xds.policy_list_rules import PICK_FIRST, type_of
from conformance.mutation.mutants.findings import overlooking, refusing

EXTENSIONS = "type.googleapis.com/envoy.extensions.load_balancing_policies"
ROUND_ROBIN = f"{EXTENSIONS}.round_robin.v3.RoundRobin"
LEAST_REQUEST = f"{EXTENSIONS}.least_request.v3.LeastRequest"
RANDOM_SUBSETTING = f"{EXTENSIONS}.random_subsetting.v3.RandomSubsetting"
WEIGHTED = f"{EXTENSIONS}.client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin"
MANY = 50
OWN = ("", "round_robin", "ring_hash_experimental")
WRR_LOCALITY = f"{EXTENSIONS}.wrr_locality.v3.WrrLocality"


def known_or_turns(extension: Any) -> str:
    """What nobody knows is RoundRobin."""
    known = type_of(extension).startswith((EXTENSIONS, "type.googleapis.com/xds."))
    return type_of(extension) if known else ROUND_ROBIN


def by_the_end_of_a_type(extension: Any) -> str:
    """Whatever ends in the name of a policy of gRPC's is that policy."""
    type_url = type_of(extension)
    return ROUND_ROBIN if type_url.endswith("/round_robin") else type_url


def named_by(extension: Any) -> str:
    """The type that a TypedStruct names, and nothing where it is none."""
    config = extension.typed_config
    if not config.Is(TypedStruct.DESCRIPTOR):
        return ""
    struct = TypedStruct()
    config.Unpack(struct)
    return str(struct.type_url)


def as_the_message(extension: Any) -> str:
    """A TypedStruct that is called as a message of the xDS API is that."""
    named = named_by(extension)
    return named if named.startswith(EXTENSIONS) else type_of(extension)


def names_nobodys(message: Any) -> bool:
    """Whether a TypedStruct is of a policy that gRPC does not bring."""
    names = (
        named_by(policy.typed_extension_config) for policy in message.load_balancing_policy.policies
    )
    return any(name.rpartition("/")[2] not in OWN for name in names)


def turns_for(type_url: str, extension: Any) -> str:
    """That type is RoundRobin."""
    return ROUND_ROBIN if type_of(extension) == type_url else type_of(extension)


def by_name(extension: Any) -> str:
    """A name that is a policy's goes before the type."""
    return ROUND_ROBIN if extension.name.endswith("round_robin") else type_of(extension)


def with_turns_at_the_end(entries: Sequence[Any]) -> Sequence[Any]:
    """There is always one that is supported."""
    last = LoadBalancingPolicy.Policy()
    last.typed_extension_config.typed_config.type_url = ROUND_ROBIN
    return [*entries, last]


def must_have(path: str) -> Any:
    """Every entry of the Cluster's list must have this, whoever stands before it."""
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
    xds={"entries_tried": lambda entries: entries[::-1]},
)

unknown_is_an_error = Mutant(
    clause="A52-LIST-02",
    broken="only the first entry of a list is looked at",
    xds={"entries_tried": lambda entries: entries[:1]},
)

unknown_is_round_robin = Mutant(
    clause="A52-LIST-02",
    broken="a type that is not known is taken for RoundRobin",
    xds={"type_of_policy": known_or_turns},
)

any_of_that_name = Mutant(
    clause="A52-LIST-02",
    broken="what is no TypedStruct is looked up by its name as well",
    xds={"type_of_policy": by_the_end_of_a_type},
)

struct_as_the_message = Mutant(
    clause="A52-LIST-02",
    broken="a TypedStruct that is called as a message of the xDS API is that message",
    xds={"type_of_policy": as_the_message},
)

unknown_struct_is_an_error = Mutant(
    clause="A52-LIST-02",
    broken="a TypedStruct of a policy that is not known is an error",
    xds={"wrong_with_cluster": refusing(names_nobodys)},
)

nothing_known_is_round_robin = Mutant(
    clause="A52-LIST-03",
    broken="without a supported policy it is RoundRobin",
    xds={"entries_tried": with_turns_at_the_end},
)

bytes_that_are_none = Mutant(
    clause="A52-LIST-04",
    broken="a RingHash whose bytes are no message is no error",
    xds={"wrong_with_cluster": overlooking("typed_config", "is no RingHash")},
)

next_one_tried = Mutant(
    clause="A52-LIST-05",
    broken="after a policy that cannot be converted the next one is tried",
    xds={"error_ends_the_list": lambda _type_url: False},
)

next_one_tried_after_localities = Mutant(
    clause="A52-LIST-06",
    broken="a WrrLocality of nothing that is supported is passed over",
    xds={"error_ends_the_list": lambda type_url: type_url != WRR_LOCALITY},
)

all_entries_checked = Mutant(
    clause="A52-LIST-07",
    broken="every entry must have an extension",
    xds={"wrong_with_cluster": must_have("typed_extension_config")},
)

all_configs_checked = Mutant(
    clause="A52-LIST-07",
    broken="every entry must have a config",
    xds={"wrong_with_cluster": must_have("typed_config")},
)

long_lists_refused = Mutant(
    clause="A52-LIST-07",
    broken="a list of more than 50 entries is refused",
    xds={
        "wrong_with_cluster": refusing(
            lambda cluster: len(cluster.load_balancing_policy.policies) > MANY
        )
    },
)

empty_list_is_round_robin = Mutant(
    clause="A52-LIST-08",
    broken="an empty list is one of RoundRobin",
    xds={"entries_tried": lambda entries: entries or with_turns_at_the_end(entries)},
)

no_extension_is_round_robin = Mutant(
    clause="A52-LIST-09",
    broken="a list without any extension is one of RoundRobin",
    xds={"wrong_with_cluster": overlooking("typed_extension_config", "is missing")},
)

no_config_is_round_robin = Mutant(
    clause="A52-LIST-09",
    broken="an only entry without a config is RoundRobin",
    xds={"wrong_with_cluster": overlooking("typed_config", "is missing")},
)

entry_passed_over = Mutant(
    clause="A52-LIST-10",
    broken="an entry without a config is passed over",
    xds={"lack_is_an_error": lambda _field: False},
    reports="passed over",
)

name_goes_first = Mutant(
    clause="A52-LIST-11",
    broken="the name of an entry, if it is a policy's, goes before its type",
    xds={"type_of_policy": by_name},
)

name_demanded = Mutant(
    clause="A52-LIST-11",
    broken="an entry must have a name",
    xds={
        "wrong_with_cluster": refusing(
            lambda message: any(
                policy.HasField("typed_extension_config") and not policy.typed_extension_config.name
                for policy in message.load_balancing_policy.policies
            )
        )
    },
)

localities_need_no_list = Mutant(
    clause="A52-LIST-12",
    broken="WrrLocality without a list is one of RoundRobin",
    xds={"wrong_with_cluster": overlooking("endpoint_picking_policy", "is missing")},
)

config_not_parsed = Mutant(
    clause="A52-LIST-13",
    broken="what a TypedStruct has for ring_hash is not looked at when the Cluster is read",
    xds={"wrong_with_cluster": overlooking("load_balancing_policy", "ring_hash_experimental")},
)

pick_first_passed_over = Mutant(
    clause="A52-LIST-14",
    broken="PickFirst is passed over, though A62 is stated",
    xds={"supports": lambda type_url: type_url != PICK_FIRST},
)

pick_first_taken = Mutant(
    clause="A52-LIST-14",
    broken="PickFirst is supported, though A62 is not stated",
    xds={"supports": lambda _type_url: True},
    edition="seed",
)

least_request_taken = Mutant(
    clause="A52-LIST-15",
    broken="LeastRequest is taken for RoundRobin",
    xds={"type_of_policy": lambda extension: turns_for(LEAST_REQUEST, extension)},
    reports="used",
)

weighted_round_robin_taken = Mutant(
    clause="A52-LIST-16",
    broken="ClientSideWeightedRoundRobin is supported, though A58 is not stated",
    xds={"type_of_policy": lambda extension: turns_for(WEIGHTED, extension)},
)

random_subsetting_taken = Mutant(
    clause="A52-LIST-17",
    broken="RandomSubsetting is supported, though A68 is not stated",
    xds={"type_of_policy": lambda extension: turns_for(RANDOM_SUBSETTING, extension)},
)
