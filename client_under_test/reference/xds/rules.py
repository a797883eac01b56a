"""The rules of the xDS client that a mutant can replace, as callables by name.

What they do not cover is protocol that no clause of the catalogue is about. Editions reword none of
these: they are the same in all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from envoy.config.cluster.v3 import cluster_pb2
from envoy.service.discovery.v3 import discovery_pb2

from client_under_test.reference.hash_policy import HashPolicy, read_hash_policy
from client_under_test.reference.policies.configs import DEFAULT_MAXIMUM, DEFAULT_MINIMUM
from client_under_test.reference.policies.rules.ring_config import (
    LARGEST_RING,
    request_hash_header_a76,
    ring_size_is_accepted,
    ring_sizes_fit,
)
from client_under_test.reference.values import HEALTHY, UNKNOWN
from client_under_test.reference.xds.cluster_rules import ClusterReadingRules
from client_under_test.reference.xds.custom_rules import CustomPolicyRules
from client_under_test.reference.xds.data_rules import DataErrorRules
from client_under_test.reference.xds.load_rules import LoadStreamRules
from client_under_test.reference.xds.policy_list_rules import PolicyListRules
from client_under_test.reference.xds.route_rules import RouteReadingRules
from client_under_test.reference.xds.session_rules import SessionConfigRules
from client_under_test.reference.xds.stream_rules import AdsStreamRules

_POLICIES: Final = {
    cluster_pb2.Cluster.ROUND_ROBIN: "ROUND_ROBIN",
    cluster_pb2.Cluster.RING_HASH: "RING_HASH",
    cluster_pb2.Cluster.LEAST_REQUEST: "LEAST_REQUEST",
}
Watcher = TypeVar("Watcher")

_WRAPPER: Final = f"type.googleapis.com/{discovery_pb2.Resource.DESCRIPTOR.full_name}"
_MILLION: Final = 1_000_000


# RING_HASH in the Cluster resource. What sizes may be is the policy's own: ring_config.py.


def function_is_accepted(function: int) -> bool:
    """Accept XX_HASH, which is also what a field that is not written means.

    Clauses: A42-CDS-12, A42-CDS-13, A42-CDS-14, A42-CDS-15.
    """
    return function == int(cluster_pb2.Cluster.RingHashLbConfig.XX_HASH)


def ring_sizes(config: Any) -> tuple[int, int]:
    """Take 1,024 and 8M where nothing is set: the cap is not the Cluster's business.

    Clauses: A42-CDS-03, A42-CDS-04, A42-CDS-05, A42-CDS-06, A42-CDS-07, A42-CDS-08, A42-CDS-09,
    A42-CDS-10, A42-CDS-16, A42-CDS-17, A42-CDS-18, A42-CONF-04, A52-RING-01, A52-RING-02,
    A52-RING-03, A52-RING-09.
    """
    minimum, maximum = config.minimum_ring_size, config.maximum_ring_size
    return (
        minimum.value if config.HasField("minimum_ring_size") else DEFAULT_MINIMUM,
        maximum.value if config.HasField("maximum_ring_size") else LARGEST_RING,
    )


def acks_after_nack(_noun: str) -> bool:
    """A46: no ACK of the same response follows a NACK.

    Clauses: A46-NACK-04, A46-NACK-08.
    """
    return False


def weight_is_used(weight: int) -> bool:
    """A28: a route uses a cluster only if its weight is above 0.

    Our choice: a cluster of weight 0 gets no request, so the client does not subscribe to it.

    Clauses: A28-SPLIT-02.
    """
    return weight > 0


def supported_policy(lb_policy: int) -> str | None:
    """Name the policy of an enum's value; None for one that a Cluster may not ask for.

    Clauses: A42-CDS-01, A42-CDS-02, A42-CDS-21, A42-CDS-22,
    A42-CDS-23, A42-CDS-26, A42-HASH-19, A52-FIELD-06, A52-FIELD-07 (our choice: only
    with A48), A48-LEAST-01.
    """
    return _POLICIES.get(lb_policy)


# Endpoints.


def endpoint_weight(written: int | None) -> int | None:
    """Take one if it is not written; None, that is an error, for a written zero.

    Clauses: A42-LOC-08, A42-LOC-09.
    """
    return 1 if written is None else written or None


def locality_weight(written: int | None) -> int | None:
    """Zero, which leaves the locality out, if it is not written; None would be an error.

    Clauses: A42-LOC-10, A42-LOC-11 (our choice: a written zero is no error).
    """
    return written or 0


def overweight_priorities(weights: Mapping[int, int]) -> tuple[int, ...]:
    """A27: the priorities whose localities weigh more together than a number of 32 bits can say.

    Clause: A27-WEIGHT-01.
    """
    return tuple(priority for priority, weight in weights.items() if weight >= 1 << 32)


def endpoint_errors(_message: Any, found: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
    """Reject a ClusterLoadAssignment for every error that was found, and for nothing else.

    The functions that find the errors name the clauses, in `resources/endpoints.py`.
    """
    return found


def endpoint_is_used(health: int) -> bool:
    """A27: only endpoints whose health is good or unknown are used.

    Clauses: A37-TROUBLE-23, A27-HEALTH-01, A27-PRIO-06.
    """
    return health in {UNKNOWN, HEALTHY}


def usable_in_locality(good: Sequence[bool]) -> Sequence[bool]:
    """Judge each endpoint of a locality separately.

    Clauses: A27-HEALTH-01, A27-PRIO-06.
    """
    return good


# The protocol.


def decode(message: Any, body: bytes) -> Any:
    """Parse bytes as a message of this class; raises DecodeError.

    Clauses: A52-INPUT-02, A52-INPUT-06.
    """
    return message.FromString(body)


def keeps_nonce(_is_wanted: bool) -> bool:  # noqa: FBT001 - a state
    """Keep the nonce of a type while the stream lasts, even if nothing of it is subscribed to.

    Clauses: A27-ADS-02.
    """
    return True


def is_wrapper(type_url: str) -> bool:
    """Return whether a message is a Resource wrapper, which the node's features allow.

    Clauses: A27-ADS-01.
    """
    return type_url == _WRAPPER


def version_of_nack(accepted: str, _rejected: str) -> str:
    """Return the last accepted version, for a NACK.

    Clauses: A42-CDS-19, A42-CDS-30, A46-NACK-07 (our choice).
    """
    return accepted


def version_of_subscription(accepted: str, _rejected: str) -> str:
    """Return the last accepted version, for a new subscription after a NACK.

    Clauses: A46-NACK-04.
    """
    return accepted


def reason_of_nack(found: Sequence[str]) -> str:
    """List each bad resource and its errors, for a NACK.

    Clauses: A42-CDS-31, A46-NACK-05 (our choice).
    """
    return "; ".join(found)


def drop_share(numerator: int, of: int) -> int | None:
    """A27: the share of requests to drop, per million; more than all of them are all of them.

    None would refuse the endpoints.

    Clauses: A27-DROP-03, A27-DROP-04, A27-DROP-05, A27-DROP-06, A27-DROP-07, A27-DROP-10 (our
    choice).
    """
    return min(numerator * (_MILLION // of), _MILLION)


def drop_field_may_be_missing(_field: str) -> bool:
    """Refuse an entry of drop_overloads without a name, a share or a known denominator.

    Our choice: A27 does not say (A27-DROP-14).
    """
    return False


def names_to_request(_noun: str, names: Sequence[str]) -> Sequence[str]:
    """A37: subscribe once to each resource, however many watchers it has, until none is left.

    Clauses: A27-ADS-03, A27-LDS-04, A37-TREE-07, A37-TREE-08, A37-TREE-09, A37-TREE-10,
    A37-TREE-34, A37-TREE-38.
    """
    return names


def requested_name(_noun: str, name: str, wanted: Sequence[str]) -> str | None:
    """A27: use a resource only under exactly the requested name.

    Clauses: A27-CDS-08, A27-CDS-09, A27-LDS-05, A27-RDS-01.
    """
    return name if name in wanted else None


def omission_deletes(noun: str) -> bool:
    """A27: a response has all Listeners and Clusters; one that it omits no longer exists.

    A resource that the server sends again is used again, even if A53 ignored its deletion.

    Clauses: A27-LDS-06, A37-TROUBLE-08, A53-DEL-02.
    """
    return noun in {"Listener", "Cluster"}


def reports_lost_stream(_noun: str, is_there: bool) -> bool:  # noqa: FBT001 - a state
    """A57: report a lost control plane only to watchers of resources that are not cached.

    Clauses: A37-TROUBLE-15, A37-TROUBLE-16, A37-TROUBLE-29, A57-STREAM-06.
    """
    return not is_there


def stream_end_is_error(has_answered: bool) -> bool:  # noqa: FBT001 - a state
    """A57: the end of a stream is an error only if no response came on it.

    Clauses: A57-STREAM-01, A57-STREAM-02.
    """
    return not has_answered


def resource_timer_runs(stream_is_up: bool) -> bool:  # noqa: FBT001 - a state
    """A57: start no timer before a connected stream has requested the resource.

    Clauses: A57-TIMER-02.
    """
    return stream_is_up


def resource_is_timed(is_there: bool, _was_timed: bool) -> bool:  # noqa: FBT001 - states
    """A57: a timer runs for each missing resource, from the request on, on each stream again.

    Clauses: A57-TIMER-03, A57-TIMER-04.
    """
    return not is_there


def timer_is_cancelled(timer_runs: bool) -> bool:  # noqa: FBT001 - a state
    """A57: cancel the timer of a resource that the client unsubscribes from.

    A later subscription starts another one.

    Clauses: A57-TIMER-05, A57-TIMER-06.
    """
    return timer_runs


def watchers_to_notify(watchers: Sequence[Watcher]) -> Sequence[Watcher]:
    """A37: all watchers of a resource receive its updates."""
    return watchers


@dataclass(frozen=True, kw_only=True)
class XdsRules(
    ClusterReadingRules,
    PolicyListRules,
    CustomPolicyRules,
    DataErrorRules,
    LoadStreamRules,
    RouteReadingRules,
    SessionConfigRules,
    AdsStreamRules,
):
    """One way of reading xDS."""

    read_hash_policy: Callable[[Any], HashPolicy] = read_hash_policy
    """Raises BadHashPolicy for a policy that cannot be used: hash_policy.py."""
    ring_size_is_accepted: Callable[[int], bool] = ring_size_is_accepted
    ring_sizes_fit: Callable[[int, int], bool] = ring_sizes_fit
    checks_unused_config: bool = False
    """A42-CDS-20: whether ring_hash_lb_config is checked with ROUND_ROBIN, too."""
    function_is_accepted: Callable[[int], bool] = function_is_accepted
    ring_sizes: Callable[[Any], tuple[int, int]] = ring_sizes
    ring_defaults: tuple[int, int] = (DEFAULT_MINIMUM, DEFAULT_MAXIMUM)
    """A42-CONF-06, A42-CONF-07: defaults of gRPC's own ring_hash config, as in a TypedStruct."""
    weight_is_used: Callable[[int], bool] = weight_is_used
    """Takes the weight of a cluster in weighted_clusters."""
    supported_policy: Callable[[int], str | None] = supported_policy
    request_hash_header: Callable[[Any], str | None] = request_hash_header_a76
    """A76: reads the field of this name; earlier editions ignore it."""
    endpoint_weight: Callable[[int | None], int | None] = endpoint_weight
    locality_weight: Callable[[int | None], int | None] = locality_weight
    overweight_priorities: Callable[[Mapping[int, int]], tuple[int, ...]] = overweight_priorities
    endpoint_is_used: Callable[[int], bool] = endpoint_is_used
    usable_in_locality: Callable[[Sequence[bool]], Sequence[bool]] = usable_in_locality
    """Takes whether each endpoint of a locality is healthy enough to be used."""
    endpoint_errors: Callable[[Any, Sequence[tuple[str, str]]], Sequence[tuple[str, str]]] = (
        endpoint_errors
    )
    """Like `cluster_errors`, for a ClusterLoadAssignment."""
    address_may_repeat: bool = False
    """A42-RING-20 accepts a repeated address; A27 rejects it."""
    decode: Callable[[Any, bytes], Any] = decode
    """Takes the class of a resource, and its bytes."""
    is_wrapper: Callable[[str], bool] = is_wrapper
    """Takes the type of the message in the place of a resource."""
    keeps_nonce: Callable[[bool], bool] = keeps_nonce
    """Takes whether resources of the type are still subscribed to."""
    version_of_nack: Callable[[str, str], str] = version_of_nack
    version_of_subscription: Callable[[str, str], str] = version_of_subscription
    """Takes the last accepted version, and that of the last response if the client rejected it."""
    acks_after_nack: Callable[[str], bool] = acks_after_nack
    """Takes the message of the resources in the response that the client NACKs."""
    reason_of_nack: Callable[[Sequence[str]], str] = reason_of_nack
    drop_field_may_be_missing: Callable[[str], bool] = drop_field_may_be_missing
    """Takes the field whose value is missing or unknown."""
    drop_share: Callable[[int, int], int | None] = drop_share
    """Takes the numerator and the denominator as a number."""
    names_to_request: Callable[[str, Sequence[str]], Sequence[str]] = names_to_request
    """Takes the short name of a message, such as Cluster, and the watched names."""
    requested_name: Callable[[str, str, Sequence[str]], str | None] = requested_name
    """Takes the short name of a message, the name of a received resource, and the requested names;
    returns the requested name that it is used for, or None."""
    omission_deletes: Callable[[str], bool] = omission_deletes
    watchers_to_notify: Callable[[Sequence[Any]], Sequence[Any]] = watchers_to_notify
    reports_lost_stream: Callable[[str, bool], bool] = reports_lost_stream
    """Takes the short name of a message, and whether the resource is cached."""
    stream_end_is_error: Callable[[bool], bool] = stream_end_is_error
    resource_is_timed: Callable[[bool, bool], bool] = resource_is_timed
    timer_is_cancelled: Callable[[bool], bool] = timer_is_cancelled
    """Takes whether the timer of a resource runs to which the client subscribes no more."""
    """Takes whether the resource is cached, and whether a timer ran for it on an earlier stream."""
    resource_timer_runs: Callable[[bool], bool] = resource_timer_runs
    """Takes whether the stream is up."""
    uses_valid_resources: bool = True
    """A46-NACK-01, A46-NACK-02, A46-NACK-03: use the valid resources of a response that also has
    invalid resources."""
    certificate_providers: frozenset[str] = frozenset()
    """A29: no rule, but the names of the providers in the bootstrap configuration."""
    server_features: frozenset[str] = frozenset()
    """A53, A88: no rule, but the server features of the bootstrap configuration."""
