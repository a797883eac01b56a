"""How the list of `load_balancing_policy` is read, as callables by name (A52)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from envoy.extensions.load_balancing_policies.client_side_weighted_round_robin.v3 import (
    client_side_weighted_round_robin_pb2,
)
from envoy.extensions.load_balancing_policies.least_request.v3 import least_request_pb2
from envoy.extensions.load_balancing_policies.pick_first.v3 import pick_first_pb2
from envoy.extensions.load_balancing_policies.ring_hash.v3 import ring_hash_pb2

from client_under_test.reference.policies.rules.least_request import choice_count

LEAST_REQUEST: Final = f"type.googleapis.com/{least_request_pb2.LeastRequest.DESCRIPTOR.full_name}"
WEIGHTED: Final[str] = (
    "type.googleapis.com/"
    + client_side_weighted_round_robin_pb2.ClientSideWeightedRoundRobin.DESCRIPTOR.full_name
)
PICK_FIRST: Final = f"type.googleapis.com/{pick_first_pb2.PickFirst.DESCRIPTOR.full_name}"

_DEEPEST: Final = 16
_LONGEST: Final = 315_576_000_000
_NANOS: Final = 1_000_000_000


def prefers_extension(cluster: Any) -> bool:
    """A52: load_balancing_policy, if it is there, is used instead of lb_policy.

    Clauses: A52-FIELD-01, A52-FIELD-02, A52-FIELD-03, A52-FIELD-04, A52-FIELD-05,
    A52-CHANGE-04.
    """
    return bool(cluster.HasField("load_balancing_policy"))


def entries_to_try(entries: Sequence[Any]) -> Sequence[Any]:
    """A52: all entries may have their turn, the first one first.

    Clauses: A52-CHANGE-01, A52-LIST-01, A52-LIST-02, A52-LIST-03, A52-LIST-07, A52-LIST-08,
    A52-LIST-12, A52-RING-01.
    """
    return entries


def type_of_policy(extension: Any) -> str:
    """A52: the type of typed_config alone selects the policy and its config.

    Clauses: A52-LIST-02, A52-LIST-11, A52-LIST-15 (our choice), A52-LIST-16, A52-LIST-17.
    """
    return str(extension.typed_config.type_url)


def missing_field_is_error(_field: str) -> bool:
    """Refuse the list for an entry without its extension, or without its config, that is reached.

    Clauses: A52-LIST-09, A52-LIST-10 (our choice).
    """
    return True


def error_ends_list(_type_url: str, _level: int) -> bool:
    """A52: a policy that is supported and cannot be converted ends the list, as an error.

    Clauses: A52-LIST-04, A52-LIST-05, A52-LIST-06.
    """
    return True


def list_is_too_deep(level: int) -> bool:
    """A52: there are no more than 16 levels, of which the Cluster's own list is the first.

    Clauses: A52-DEPTH-01, A52-DEPTH-02, A52-DEPTH-03 (our choice).
    """
    return level > _DEEPEST


def extension_function_is_accepted(function: int) -> bool:
    """A52: any function besides XX_HASH fails the conversion, the one without a name included.

    Clauses: A52-RING-05, A52-RING-06, A52-RING-07 (our choice).
    """
    return function == int(ring_hash_pb2.RingHash.XX_HASH)


def round_robin_config(_config: Any) -> Any:
    """A52: whatever a RoundRobin says, it is turns for all endpoints.

    Clauses: A52-ROUND-01, A52-ROUND-02.
    """
    return {"round_robin": {}}


def supports_policy(type_url: str) -> bool:
    """A52: what can be converted is supported, but for what later texts have added.

    Clauses: A52-LIST-14.
    """
    return type_url not in {PICK_FIRST, LEAST_REQUEST, WEIGHTED}


def supports_policy_a62(type_url: str) -> bool:
    """A62: what can be converted is supported, PickFirst too.

    Clauses: A52-LIST-14.
    """
    return type_url not in {LEAST_REQUEST, WEIGHTED}


def supports_policy_a48(type_url: str) -> bool:
    """A48 and A62: LeastRequest is supported, too, and LEAST_REQUEST as lb_policy.

    Clauses: A48-LEAST-01, A48-LEAST-02.
    """
    return type_url != WEIGHTED


def supports_policy_a58(type_url: str) -> bool:
    """A58 and A62: ClientSideWeightedRoundRobin is supported, too.

    Clauses: A58-WRR-05.
    """
    return type_url != LEAST_REQUEST


def penalty_is_accepted(penalty: float) -> bool:
    """A58: error_utilization_penalty is not below zero.

    Clauses: A58-WRR-01.
    """
    return penalty >= 0


def is_set(_number: float) -> bool:
    """A58: a field that is present counts, also if it is zero.

    Clauses: A58-LOAD-06.
    """
    return True


def time_is_accepted(field: str, nanoseconds: int) -> bool:
    """A58: any length will do for weight_update_period, as what is too short counts as 100 ms.

    Clauses: A58-WRR-02, A58-WRR-03 (our choice: the others are not below zero).
    """
    return nanoseconds >= 0 or field == "weight_update_period"


def is_duration(seconds: int, nanoseconds: int) -> bool:
    """Tell whether these are the parts of a Duration: neither too long nor of two signs.

    Clauses: A58-WRR-04 (our choice).
    """
    return abs(seconds) <= _LONGEST and abs(nanoseconds) < _NANOS and seconds * nanoseconds >= 0


def chooses_locality_by_weight(_lb_policy: str) -> bool:
    """A48: below lb_policy LEAST_REQUEST a locality is chosen by its weight, as below ROUND_ROBIN.

    Clauses: A48-LEAST-06.
    """
    return True


@dataclass(frozen=True, kw_only=True)
class SupportedPolicyRules:
    """Which types of policies are supported: those that can be converted, or fewer."""

    supports_policy: Callable[[str], bool] = supports_policy


@dataclass(frozen=True, kw_only=True)
class PolicyListRules(SupportedPolicyRules):
    """How the list is read."""

    prefers_extension: Callable[[Any], bool] = prefers_extension
    entries_to_try: Callable[[Sequence[Any]], Sequence[Any]] = entries_to_try
    type_of_policy: Callable[[Any], str] = type_of_policy
    """Takes an entry's typed_extension_config."""
    missing_field_is_error: Callable[[str], bool] = missing_field_is_error
    """Takes the field that an entry lacks: typed_extension_config, or typed_config."""
    error_ends_list: Callable[[str, int], bool] = error_ends_list
    """Takes the type of the policy that could not be converted, and the level of its list."""
    list_is_too_deep: Callable[[int], bool] = list_is_too_deep
    """Takes the nesting level of a list; the Cluster's own list has level 1."""
    extension_function_is_accepted: Callable[[int], bool] = extension_function_is_accepted
    choice_count: Callable[[int | None], int | None] = choice_count
    """Takes the choice_count of a LeastRequest, if set; returns None for an error."""
    penalty_is_accepted: Callable[[float], bool] = penalty_is_accepted
    is_set: Callable[[float], bool] = is_set
    """Takes the value of a field of weighted_round_robin that is present."""
    time_is_accepted: Callable[[str, int], bool] = time_is_accepted
    """Takes the name of a duration of weighted_round_robin, and its nanoseconds."""
    is_duration: Callable[[int, int], bool] = is_duration
    """Takes the seconds and nanoseconds of such a duration."""
    chooses_locality_by_weight: Callable[[str], bool] = chooses_locality_by_weight
    """Takes the name of the policy that picks endpoints in a locality."""
    round_robin_config: Callable[[Any], Any] = round_robin_config
    """Takes a RoundRobin message; returns the policy in gRPC's JSON."""
