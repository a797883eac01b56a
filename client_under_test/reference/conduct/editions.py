"""Which rules a client follows: the seed texts, and each amendment as a change of a few rules.

`Rules` are all rules that an amendment rewords or that someone may want to see broken, as callables
by name; the state machines call them and know no editions. An `Edition` is a name and its rules.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from client_under_test.reference import hashing
from client_under_test.reference.policies import (
    aggregates,
    backoff,
    failover,
    gatekeeping,
    ring,
    ring_config,
    ring_picks,
    ring_states,
    shuffling,
    turns,
    weights,
)
from client_under_test.reference.policies.interface import (
    Account,
    Endpoint,
    Metadata,
    PickArgs,
    PickResult,
    PolicyConfig,
    State,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """One way of reading the specifications. The defaults are the seed texts as they are now."""

    # The request's hash (A42, Hash Policy): hashing.py.
    route_policies: Callable[
        [Sequence[Sequence[hashing.HashPolicy]], int], Sequence[hashing.HashPolicy]
    ] = hashing.policies_of_the_route
    combine: Callable[[int, int], int] = hashing.rotate_and_xor
    without_result: Callable[[int | None], int | None] = hashing.leave_it_to_the_others
    ends_the_list: Callable[[hashing.HashPolicy, int | None, int | None], bool] = (
        hashing.ends_once_gathered
    )
    header_value: Callable[[str, Metadata], str | bytes | None] = hashing.header_value
    rewrite: Callable[[str, str, str], str | None] = hashing.rewrite_every_match
    hash_value: Callable[[str | bytes], int] = hashing.xxh64
    channel_id: Callable[[random.Random], int] = hashing.draw_channel_id
    channel_id_for_new_routes: Callable[[int, random.Random], int] = hashing.kept_for_life
    channel_hash: Callable[[int], int] = hashing.same_for_the_channel
    unsupported_hash: Callable[[hashing.UnsupportedPolicy, Metadata], int | None] = (
        hashing.no_result
    )
    random_hash: Callable[[random.Random], int] = hashing.random_for_each_request

    # What a ring_hash config may say: policies/ring_config.py.
    request_hash_header: Callable[[Any], str | None] = ring_config.field_unknown

    # ROUND_ROBIN: policies/turns.py.
    turns: Callable[[int, random.Random], Iterator[int]] = turns.one_after_the_other

    # The ring (A42, Ring Construction): policies/ring.py, policies/weights.py.
    ring_endpoints: Callable[[Sequence[Endpoint], Sequence[Endpoint]], Sequence[Endpoint]] = (
        ring.those_listed_now
    )
    endpoint_identity: Callable[[Endpoint], str] = ring.first_address_identity
    ring_key: Callable[[Endpoint], str] = ring.place_by_address
    repeated_weight: Callable[[int, int], int] = ring.sum_of_weights
    lined_up: Callable[[tuple[ring.Standing, ...]], tuple[ring.Standing, ...]] = ring.as_listed
    capped_sizes: Callable[[ring.Sizes, int], ring.Sizes] = ring.capped_sizes
    entries_for: Callable[[Sequence[int], ring.Sizes], float] = ring.entries_for
    entry_number: Callable[[int, int], int] = ring.number_of_its_own
    entry_hash: Callable[[str, int], int] = ring.entry_hash
    sort_entries: Callable[[Iterable[tuple[int, int]]], list[tuple[int, int]]] = ring.by_hash
    find_entry: Callable[[Sequence[int], int], int] = ring.first_at_or_after
    along_the_ring: Callable[[Sequence[int], int], Iterable[int]] = ring.each_endpoint_once
    endpoint_weights: Callable[[Sequence[weights.Weights]], tuple[tuple[int, ...], ...]] = (
        weights.products
    )

    # The states of ring_hash and its own attempts: policies/ring_states.py.
    counted_state: Callable[[State, State], State] = ring_states.counted_state
    aggregated_state: Callable[[Sequence[State]], State] = ring_states.aggregated_state
    unasked: Callable[[State, Sequence[ring_states.Prospect], str | None], str | None] = (
        ring_states.next_along_the_ring
    )
    # A42-SUB-07: whether a failed endpoint of the ring is tried again by itself.
    ring_endpoints_retry: bool = False

    # Picks: policies/ring_picks.py.
    hash_for_pick: Callable[[PickArgs, str, Rules], ring_picks.RequestHash | None] = (
        ring_picks.hash_of_the_route
    )
    join_hash_header: Callable[[str, PickArgs], str] = ring_picks.joined_by_commas
    pick: Callable[[Iterable[ring_picks.Candidate], PickArgs], PickResult] = ring_picks.pick_by_a42
    pick_at_random: ring_picks.PickAtRandom = ring_picks.pick_at_random
    wait_for_ready: Callable[[PickResult], PickResult] = ring_picks.wait_instead

    # Priorities: policies/failover.py.
    choose_priority: Callable[[Sequence[failover.ChildView | None]], failover.Choice] = (
        failover.choose_by_a42
    )
    timer_begins: Callable[[State, State, State], bool] = failover.timer_begins
    timer_ends: Callable[[State], bool] = failover.timer_ends
    settled_state: Callable[[State, State], State] = failover.settled_state
    failover_seconds: float = failover.FAILOVER_SECONDS
    retention_seconds: float = failover.RETENTION_SECONDS

    # Drops, circuit breaking and load: policies/gatekeeping.py.
    falls_to: Callable[[Sequence[gatekeeping.DropCategory], random.Random], str | None] = (
        gatekeeping.falls_to
    )
    circuit_is_open: Callable[[int, int], bool] = gatekeeping.circuit_is_open
    in_flight_key: Callable[[Account], tuple[str, str]] = gatekeeping.in_flight_key
    counted_for: Callable[[Account], gatekeeping.LoadKey | None] = gatekeeping.counted_for
    while_waiting: Callable[[gatekeeping.Counts], gatekeeping.Counts] = gatekeeping.while_waiting
    when_sent: Callable[[gatekeeping.Counts], gatekeeping.Counts] = gatekeeping.when_sent
    when_ended: Callable[[gatekeeping.Counts, bool], gatekeeping.Counts] = gatekeeping.when_ended
    when_dropped: Callable[[gatekeeping.Counts], gatekeeping.Counts] = gatekeeping.when_dropped
    told_category: Callable[[str | None], str | None] = gatekeeping.told_category
    once_reported: Callable[[gatekeeping.Counts], gatekeeping.Counts] = gatekeeping.once_reported

    # Clusters, their endpoints and the tree of policies (A37): policies/aggregates.py.
    leaves: aggregates.FindLeaves = aggregates.all_or_nothing
    policy_source: aggregates.PolicySource = aggregates.policy_of_the_aggregate
    tree: aggregates.MakeTree = aggregates.one_list_of_priorities
    dns_endpoints: Callable[[tuple[str, ...]], tuple[Endpoint, ...]] = (
        aggregates.an_endpoint_for_each_address
    )
    dns_policy: Callable[[PolicyConfig], PolicyConfig] = aggregates.always_pick_first
    used_addresses: Callable[[tuple[str, ...]], tuple[str, ...]] = aggregates.only_the_first
    locality_is_used: Callable[[aggregates.LocalityEndpoints], bool] = aggregates.locality_is_used

    # Connections: policies/shuffling.py, policies/backoff.py.
    shuffled: Callable[[Sequence[Endpoint], random.Random], list[Endpoint]] = shuffling.evenly
    # A62: whether pick_first stays in TRANSIENT_FAILURE and goes on trying until it is READY.
    pick_first_sticks: bool = False
    # A61: seconds until the next address is tried beside one that is slow; None: one by one.
    attempt_delay: float | None = None
    backoff_delay: Callable[[int, float], float] = backoff.backoff_delay


def with_a42_2021(rules: Rules) -> Rules:
    """A42's first wording: terminal goes by the policy's own result, headers know no exception."""
    return replace(
        rules,
        ends_the_list=hashing.ends_with_own_result,
        header_value=hashing.any_header_value,
    )


def with_a56(rules: Rules) -> Rules:
    """When all priorities are given up, the first that is CONNECTING is used."""
    return replace(rules, choose_priority=failover.choose_by_a56)


def with_a56_2022(rules: Rules) -> Rules:
    """When all priorities are given up, the last is used: A56 before August 2025."""
    return replace(rules, choose_priority=failover.choose_by_a42)


def with_a61(rules: Rules) -> Rules:
    """Endpoints of several addresses, each with a pick_first that goes on trying; the new picker.

    What its guard switches off (A61-GUARD-01) is an edition without it.

    What it says of the children of ring_hash rests on A62, so it holds here with or without that.
    """
    return replace(
        rules,
        endpoint_identity=ring.all_addresses_identity,
        ring_endpoints_retry=True,
        unasked=ring_states.first_idle,
        pick=ring_picks.pick_by_a61,
        dns_endpoints=aggregates.one_endpoint,
        dns_policy=aggregates.own_policy,
        used_addresses=aggregates.every_address,
        attempt_delay=0.25,
    )


def with_a61_2023(rules: Rules) -> Rules:
    """The lazy pick_firsts of A61, whose failures alone have others connected: before 2025."""
    return replace(with_a61(rules), unasked=ring_states.first_idle_after_failure)


def with_a62(rules: Rules) -> Rules:
    """pick_first stays in TRANSIENT_FAILURE until it is READY."""
    return replace(rules, pick_first_sticks=True)


def with_a74(rules: Rules) -> Rules:
    """An aggregate passes over clusters that do not exist."""
    return replace(rules, leaves=aggregates.those_that_exist)


def with_a75(rules: Rules) -> Rules:
    """Each leaf of an aggregate has its own policy, below a priority policy over the leaves."""
    return replace(
        rules,
        policy_source=aggregates.policy_of_the_leaf,
        tree=aggregates.a_policy_for_each_leaf,
    )


def with_a76(rules: Rules) -> Rules:
    """Keys of endpoints, and a request header in the config of ring_hash.

    What its guards switch off (A76-KEY-06, A76-KEY-07, A76-REQ-12) is an edition without it.
    """
    return replace(
        rules,
        ring_key=ring.place_by_hash_key,
        hash_for_pick=ring_picks.hash_of_the_header,
        request_hash_header=ring_config.text_header,
    )


def with_a113(rules: Rules) -> Rules:
    """Endpoints weigh by shares in fixed point; without it, as if by its guard (A113-WEIGHT-03)."""
    return replace(rules, endpoint_weights=weights.shares, shuffled=shuffling.by_weight)


AMENDMENTS: Final[Mapping[str, Callable[[Rules], Rules]]] = MappingProxyType(
    {
        "A56": with_a56,
        "A61": with_a61,
        "A62": with_a62,
        "A74": with_a74,
        "A75": with_a75,
        "A76": with_a76,
        "A113": with_a113,
    }
)


FORMER: Final[Mapping[str, Callable[[Rules], Rules]]] = MappingProxyType(
    {"A56-2022": with_a56_2022, "A61-2023": with_a61_2023}
)
"""Amendments as they were first written; `modern` has none of them."""


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


_BASES: Final[Mapping[str, Edition]] = MappingProxyType(
    {
        "seed": Edition("seed", ("A37", "A42", "A52"), Rules()),
        "seed-2021": Edition("seed-2021", ("A37", "A42-2021", "A52"), with_a42_2021(Rules())),
    }
)


def edition(name: str) -> Edition:
    """Find an edition: "seed", "seed-2021", "modern", or one of the first two with amendments.

    Amendments are written behind it with plus signs, as in "seed+A61+A62".

    Raises:
        NoSuchEdition: a part of the name is unknown.
    """
    if name == "modern":
        whole = edition("+".join(("seed", *AMENDMENTS)))
        return replace(whole, name="modern")
    base, *amendments = name.split("+")
    written = {**AMENDMENTS, **FORMER}
    if base not in _BASES or not written.keys() >= set(amendments):
        known = ", ".join((*_BASES, "modern"))
        raise NoSuchEdition(
            f"no edition {name!r}; there are {known}, and seed or seed-2021 followed by any of "
            + ", ".join(f"+{one}" for one in written)
        )
    found = _BASES[base]
    rules = found.rules
    for amendment in amendments:
        rules = written[amendment](rules)
    return Edition(name, (*found.stated, *amendments), rules)


SEED: Final = edition("seed")
SEED_2021: Final = edition("seed-2021")
MODERN: Final = edition("modern")
