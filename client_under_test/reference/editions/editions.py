"""Which rules a client follows: the seed texts, and each amendment as a change of a few rules.

`Rules` are all rules that an amendment rewords or that someone may want to see broken, as callables
by name. Each part of the client declares its own, beside the functions that they are by default
(`HashPolicyRules`, `RingRules`, `PriorityRules`, ...), and knows no editions; here they are put
together. An `Edition` is a name and its rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from client_under_test.reference import hash_policy, session_affinity
from client_under_test.reference.clusters import aggregates, discovery, weights
from client_under_test.reference.policies.rules import (
    backend_metrics,
    failover,
    override_host,
    ring,
    ring_config,
    ring_picks,
    ring_states,
    shuffling,
)
from client_under_test.reference.policies.rules.policy_rules import PolicyRules
from client_under_test.reference.policies.rules.ring_config import RingConfigRules
from client_under_test.reference.resolving import dependency_rules
from client_under_test.reference.resolving.context import ResolverRules
from client_under_test.reference.transport.backoff import BackoffRules
from client_under_test.reference.xds import data_rules, policy_list_rules, session_rules
from client_under_test.reference.xds.data_rules import DataErrorRules
from client_under_test.reference.xds.policy_list_rules import SupportedPolicyRules
from client_under_test.reference.xds.rules import endpoint_is_used
from client_under_test.reference.xds.session_rules import SessionConfigRules


@dataclass(frozen=True, kw_only=True)
class Rules(
    ResolverRules,
    PolicyRules,
    RingConfigRules,
    DataErrorRules,
    SupportedPolicyRules,
    SessionConfigRules,
    BackoffRules,
):
    """One way of reading the specifications. The defaults are the seed texts as they are now.

    Those that xDS is read by as well have the same names there.
    """

    endpoint_is_used: Callable[[int], bool] = endpoint_is_used


def with_a42_2021(rules: Rules) -> Rules:
    """Apply A42's first wording: `terminal` tests the policy's own result; any header is hashed."""
    return replace(
        rules,
        ends_hash_policies=hash_policy.ends_hash_policies_2021,
        header_value=hash_policy.header_value_2021,
    )


def with_a48(rules: Rules) -> Rules:
    """Let a Cluster request least_request, by its old field or its new field."""
    return replace(rules, supports_policy=policy_list_rules.supports_policy_a48)


def with_a50(rules: Rules) -> Rules:
    """Eject endpoints whose calls fail more than others'."""
    return replace(rules, above_cluster=aggregates.above_cluster_a50)


def with_a55(rules: Rules) -> Rules:
    """Send requests with a cookie of a session to its host; set such a cookie in responses."""
    return replace(
        rules,
        has_session_affinity=True,
        endpoint_is_used=session_rules.endpoint_is_used_a55,
        cluster_impl=aggregates.cluster_impl_a55,
    )


def with_a60(rules: Rules) -> Rules:
    """Add the name of the cluster to the cookie of a session."""
    return replace(
        rules,
        cookie_content=session_affinity.cookie_content_a60,
        session_cluster=session_affinity.session_cluster_a60,
    )


def with_a61_session(rules: Rules) -> Rules:
    """List all addresses of an endpoint in the cookie of a session."""
    return replace(rules, cookie_addresses=override_host.cookie_addresses_a61)


def with_a75_session(rules: Rules) -> Rules:
    """Connect the host of a cookie in any priority, and keep its connection."""
    return replace(
        rules,
        choose_host=override_host.choose_host_a75,
        keeps_connection=override_host.keeps_connection_a75,
    )


def with_a58(rules: Rules) -> Rules:
    """Let a Cluster request weighted_round_robin, by the load that backends report with calls."""
    return replace(rules, supports_policy=policy_list_rules.supports_policy_a58)


def with_a53(rules: Rules) -> Rules:
    """Keep deleted resources, if a server feature says so."""
    return replace(rules, deletion_removes=data_rules.deletion_removes_a53)


def with_a88(rules: Rules) -> Rules:
    """Keep deleted or rejected resources, unless a server feature differs; use a longer timer."""
    return replace(
        rules,
        deletion_removes=data_rules.deletion_removes_a88,
        rejection_removes=data_rules.rejection_removes_a88,
        resource_timeout=data_rules.resource_timeout_a88,
    )


def with_a56(rules: Rules) -> Rules:
    """When all priorities are given up, the first that is CONNECTING is used."""
    return replace(rules, choose_priority=failover.choose_priority_a56)


def with_a56_2022(rules: Rules) -> Rules:
    """When all priorities are given up, the last is used: A56 before August 2025."""
    return replace(rules, choose_priority=failover.choose_priority)


def with_a61(rules: Rules) -> Rules:
    """Endpoints of several addresses, each with a pick_first that goes on trying; the new picker.

    What its guard switches off (A61-GUARD-01) is an edition without it.

    Its rules for the children of ring_hash depend on A62, so they apply with or without its guard.
    """
    return replace(
        rules,
        endpoint_identity=ring.endpoint_identity_a61,
        ring_endpoints_retry=True,
        proactive_attempt=ring_states.proactive_attempt_a61,
        pick_from_ring=ring_picks.pick_from_ring_a61,
        used_addresses=aggregates.used_addresses_a61,
        attempt_delay=0.25,
    )


def with_a61_2023(rules: Rules) -> Rules:
    """Apply A61 before 2025: lazy pick_firsts; only their failures make others connect."""
    return replace(with_a61(rules), proactive_attempt=ring_states.proactive_attempt_a61_2023)


def with_a61_dns(rules: Rules) -> Rules:
    """Apply A61's change of March 2025: a LOGICAL_DNS cluster is an endpoint with a policy."""
    return replace(
        rules, dns_endpoints=aggregates.dns_endpoints_a61, dns_policy=aggregates.dns_policy_a61
    )


def with_a62(rules: Rules) -> Rules:
    """pick_first stays in TRANSIENT_FAILURE until it is READY, and a Cluster may ask for it."""
    return replace(
        rules, pick_first_sticks=True, supports_policy=policy_list_rules.supports_policy_a62
    )


def with_a74(rules: Rules) -> Rules:
    """One manager of all that routes lead to; an aggregate passes over clusters that are not there.

    There is no xds_cluster_resolver any more, whose list of leaves would be switched gracefully.
    """
    return replace(
        rules,
        usable_leaves=discovery.usable_leaves_a74,
        enclosing_policy=aggregates.enclosing_policy_a74,
        routes_are_usable=dependency_rules.routes_are_usable_a74,
    )


def with_a64(rules: Rules) -> Rules:
    """All named metrics of backends are in the load report."""
    return replace(rules, reported_metrics=backend_metrics.reported_metrics_a64)


def with_a85(rules: Rules) -> Rules:
    """A85: the load report contains the backend metrics that the Cluster lists."""
    return replace(rules, metrics_by_list=backend_metrics.metrics_by_list_a85)


def with_a75(rules: Rules) -> Rules:
    """Each leaf of an aggregate has its own policy, below a priority policy over the leaves."""
    return replace(
        rules,
        policy_of_aggregate_counts=False,
        policy_of_leaf=aggregates.policy_of_leaf_a75,
        policy_tree=aggregates.policy_tree_a75,
    )


def with_a76(rules: Rules) -> Rules:
    """Keys of endpoints, and a request header in the config of ring_hash.

    What its guards switch off (A76-KEY-06, A76-KEY-07, A76-REQ-12) is an edition without it.
    """
    return replace(
        rules,
        ring_key=ring.ring_key_a76,
        hash_for_pick=ring_picks.hash_for_pick_a76,
        request_hash_header=ring_config.request_hash_header_a76,
    )


def with_a113(rules: Rules) -> Rules:
    """Endpoints weigh by shares in fixed point; without it, as if by its guard (A113-WEIGHT-03)."""
    return replace(
        rules,
        endpoint_weights=weights.endpoint_weights_a113,
        shuffle_endpoints=shuffling.shuffle_endpoints_a113,
    )


AMENDMENTS: Final[Mapping[str, Callable[[Rules], Rules]]] = MappingProxyType(
    {
        "A53": with_a53,
        "A56": with_a56,
        "A61": with_a61,
        "A61-DNS": with_a61_dns,
        "A62": with_a62,
        "A64": with_a64,
        "A74": with_a74,
        "A75": with_a75,
        "A76": with_a76,
        "A85": with_a85,
        "A113": with_a113,
    }
)


OTHERS: Final[Mapping[str, Callable[[Rules], Rules]]] = MappingProxyType(
    {
        "A48": with_a48,
        "A50": with_a50,
        "A55": with_a55,
        "A56-2022": with_a56_2022,
        "A58": with_a58,
        "A60": with_a60,
        "A61-2023": with_a61_2023,
        "A61-SESSION": with_a61_session,
        "A75-SESSION": with_a75_session,
        "A88-XDS": with_a88,
    }
)
"""Policies that are left to a client, amendments as they were first written, and one that takes A53
back; `modern` has none of them."""

_WHOLE: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "modern": tuple(AMENDMENTS),
        "2023": ("A53", "A56-2022", "A61-2023", "A62", "A64", "A74", "A75"),
        "data-errors": (*AMENDMENTS, "A88-XDS"),
        "least-request": (*AMENDMENTS, "A48"),
        "outlier-detection": (*AMENDMENTS, "A50"),
        "session-affinity": (*AMENDMENTS, "A55", "A60", "A61-SESSION", "A75-SESSION"),
        "weighted-round-robin": (*AMENDMENTS, "A58"),
    }
)
"""Editions with a name of their own, with the amendments of the seed texts that they contain."""


@dataclass(frozen=True, slots=True)
class Edition:
    """A set of texts to follow, and the rules that come of them.

    `stated` are the editions of the catalogue that a client following it states.
    """

    name: str
    stated: tuple[str, ...]
    rules: Rules


class NoSuchEdition(Exception):
    """A name that is no edition; the message lists those that are."""


_BENEATH: Final = ("A27", "A28", "A29-CDS", "A32", "A46", "A47", "A50-CDS", "A57", "A63")
"""What all rest on."""

_BASES: Final[Mapping[str, Edition]] = MappingProxyType(
    {
        "seed": Edition("seed", (*_BENEATH, "A37", "A42", "A52"), Rules()),
        "seed-2021": Edition(
            "seed-2021", (*_BENEATH, "A37", "A42-2021", "A52"), with_a42_2021(Rules())
        ),
    }
)


def edition(name: str) -> Edition:
    """Find an edition: "seed" or "seed-2021", with amendments or without, or one of `_WHOLE`.

    Amendments are written behind it with plus signs, as in "seed+A61+A62".

    Raises:
        NoSuchEdition: a part of the name is unknown.
    """
    if name in _WHOLE:
        return replace(edition("+".join(("seed", *_WHOLE[name]))), name=name)
    base, *amendments = name.split("+")
    written = {**AMENDMENTS, **OTHERS}
    if base not in _BASES or not written.keys() >= set(amendments):
        known = ", ".join((*_BASES, *_WHOLE))
        raise NoSuchEdition(
            f"no edition {name!r}; there are {known}, and seed or seed-2021 followed by any of "
            + ", ".join(f"+{part}" for part in written)
        )
    found = _BASES[base]
    rules = found.rules
    for amendment in amendments:
        rules = written[amendment](rules)
    return Edition(name, (*found.stated, *amendments), rules)


SEED: Final = edition("seed")
SEED_2021: Final = edition("seed-2021")
MODERN: Final = edition("modern")
