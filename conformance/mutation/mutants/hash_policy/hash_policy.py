"""Mutants of the clauses in hash_policy.toml."""

import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from client_under_test.reference.editions.mutants import Mutant, for_good
from client_under_test.reference.hash_policy import (
    BadHashPolicy,
    ChannelIdPolicy,
    HashPolicy,
    HeaderPolicy,
    UnsupportedPolicy,
    combine_hashes,
    ends_hash_policies,
    ends_hash_policies_2021,
    hash_policies_of_route,
    hash_value,
    header_value,
    is_terminal,
    joined_values,
    random_hash,
    read_hash_policy,
)
from client_under_test.reference.values import Metadata
from client_under_test.reference.xds.rules import supported_policy

ALL_BITS = 2**64 - 1


# The list of policies.

first_route_counts = Mutant(
    clause="A42-HASH-01",
    broken="requests are hashed by the policies of the first route, whichever they match",
    rules={"hash_policies_of_route": lambda policies, _matched: policies[0]},
)


all_routes_count = Mutant(
    clause="A42-HASH-01",
    broken="requests are hashed by the policies of all routes",
    rules={
        "hash_policies_of_route": lambda policies, _matched: [
            policy for some in policies for policy in some
        ]
    },
)


those_of_another_route = Mutant(
    clause="A42-HASH-01",
    broken="requests of a route without policies are hashed by those of another route",
    rules={
        "hash_policies_of_route": lambda policies, matched: (
            policies[matched] or next(filter(None, policies), ())
        )
    },
)


last_policy_first = Mutant(
    clause="A42-HASH-02",
    broken="the policies are evaluated from the last to the first",
    rules={"hash_policies_of_route": lambda policies, matched: policies[matched][::-1]},
)


combined_in_any_order = Mutant(
    clause="A42-HASH-03",
    broken="results are combined in an order that changes from request to request",
    rules={
        "combine_hashes": lambda gathered, result: combine_hashes(
            *random.sample((gathered, result), 2)
        )
    },
)


hash_of_the_process = Mutant(
    clause="A42-HASH-04",
    broken="values are hashed by the language's function, with a random seed in each process",
    rules={"hash_value": lambda value: hash(value) & ALL_BITS},
)


channel_in_every_hash = Mutant(
    clause="A42-HASH-04",
    broken="the channel's id is part of every hash",
    rules={
        "hash_policies_of_route": lambda policies, matched: (ChannelIdPolicy(), *policies[matched])
    },
)


last_result_alone = Mutant(
    clause="A42-HASH-05",
    broken="a result replaces those before it",
    rules={"combine_hashes": lambda _gathered, result: result},
)


first_result_alone = Mutant(
    clause="A42-HASH-05",
    broken="the first result stays, later ones are left out",
    rules={"combine_hashes": lambda gathered, _result: gathered},
)


sum_beyond_64_bits = Mutant(
    clause="A42-HASH-05",
    broken="the shifted hash is not cut to 64 bits, as in grpc-node 1.14: larger than any entry",
    rules={"combine_hashes": lambda gathered, result: (gathered << 1 | gathered >> 63) ^ result},
)

two_results_at_most = Mutant(
    clause="A42-HASH-05",
    broken="the list ends after the second policy with a result",
    rules={
        "ends_hash_policies": lambda _policy, result, gathered: (
            result is not None and result != gathered
        )
    },
)

larger_result_alone = Mutant(
    clause="A42-HASH-05",
    broken="only the larger of two results counts",
    rules={"combine_hashes": max},
)


negative_result_left_out = Mutant(
    clause="A42-HASH-05",
    broken="a result that is negative as a signed number is left out if there are others",
    rules={
        "combine_hashes": lambda gathered, result: (
            gathered if result >> 63 else combine_hashes(gathered, result)
        )
    },
)


xor_without_rotation = Mutant(
    clause="A42-HASH-06",
    broken="results are combined by XOR alone, so equal ones cancel each other out",
    rules={"combine_hashes": lambda gathered, result: gathered ^ result},
    reports="none of the known",
)


def rotate_with_sign(gathered: int, result: int) -> int:
    """Rotate with sign extension: the hash so far becomes all ones if its top bit is set."""
    return (ALL_BITS if gathered >> 63 else gathered << 1) ^ result


rotation_loses_the_first = Mutant(
    clause="A42-HASH-05",
    broken="the rotation extends the sign, as in grpc-java 1.85: half of all results are lost",
    rules={"combine_hashes": rotate_with_sign},
)


rotation_with_sign = Mutant(
    clause="A42-HASH-06",
    broken="the rotation extends the sign, as in grpc-java: the hash so far becomes all ones",
    rules={"combine_hashes": rotate_with_sign},
    reports="none of the known",
)


missing_result_is_random = Mutant(
    clause="A42-HASH-07",
    broken="one policy without a result makes the hash random",
    rules={"hash_without_result": lambda _gathered: random.getrandbits(64)},
)


missing_result_starts_anew = Mutant(
    clause="A42-HASH-07",
    broken="a policy without a result discards the hash so far",
    rules={"hash_without_result": lambda _gathered: None},
)


missing_result_rotates = Mutant(
    clause="A42-HASH-08",
    broken="the hash so far is also rotated for a policy without a result",
    rules={"hash_without_result": lambda gathered: gathered and combine_hashes(gathered, 0)},
    reports="none of the known",
)


fraction_as_random_hash = Mutant(
    clause="A42-HASH-09",
    broken="the random hash is a fraction below one, truncated to zero",
    rules={"random_hash": lambda rng: int(rng.random())},
    issue="https://github.com/grpc/grpc-go/pull/4525",
)


random_hash_of_the_process = Mutant(
    clause="A42-HASH-10",
    broken="the random hash is drawn once and then stays",
    rules={"random_hash": for_good(random_hash)},
)


random_hash_of_31_bits = Mutant(
    clause="A42-HASH-10",
    broken="the random hash has 31 bits, so it always finds the first entry",
    rules={"random_hash": lambda rng: rng.getrandbits(31)},
    issue="https://github.com/grpc/grpc/pull/25697",
)


no_policies_mean_the_channel = Mutant(
    clause="A42-HASH-11",
    broken="on a route without policies requests are hashed by the channel's id",
    rules={
        "hash_policies_of_route": lambda policies, matched: (
            policies[matched] or (ChannelIdPolicy(),)
        ),
    },
)


random_hash_uneven = Mutant(
    clause="A42-HASH-12",
    broken="every second random hash, about, is zero",
    rules={"random_hash": lambda rng: rng.getrandbits(64) * rng.getrandbits(1)},
    reports="none of the known",
)


# Terminal policies.

terminal_ignored = Mutant(
    clause="A42-HASH-13",
    broken="terminal never ends the list",
    rules={"ends_hash_policies": lambda _policy, _result, _gathered: False},
)


first_terminal_ignored = Mutant(
    clause="A42-HASH-13",
    broken="terminal does not end the list if there is no earlier result",
    rules={
        "ends_hash_policies": lambda policy, result, gathered: (
            result != gathered and ends_hash_policies(policy, result, gathered)
        )
    },
)


def from_terminal_on(
    policies: Sequence[Sequence[HashPolicy]], matched: int
) -> Sequence[HashPolicy]:
    """Return the matched route's policies from the first terminal one on."""
    chosen = policies[matched]
    return list(itertools.dropwhile(lambda policy: not is_terminal(policy), chosen)) or chosen


terminal_stands_alone = Mutant(
    clause="A42-HASH-14",
    broken="the results before a terminal policy are left out",
    rules={"hash_policies_of_route": from_terminal_on},
)


terminal_always_ends = Mutant(
    clause="A42-HASH-15",
    broken="a terminal policy ends the list even without any result",
    rules={"ends_hash_policies": lambda policy, _result, _gathered: is_terminal(policy)},
)


terminal_by_own_result = Mutant(
    clause="A42-HASH-16",
    broken="terminal counts only after a result of its own policy, as in grpc-go 1.85",
    rules={"ends_hash_policies": ends_hash_policies_2021},
)


terminal_by_what_was_gathered = Mutant(
    clause="A42-HASH-16",
    broken="a terminal policy ends the list if others gave a result before it",
    rules={"ends_hash_policies": ends_hash_policies},
    variant="seed-2021",
)


unsupported_is_terminal = Mutant(
    clause="A42-HASH-17",
    broken="terminal on an unsupported type also ends the list",
    rules={"ends_hash_policies": lambda _policy, _result, gathered: gathered is not None},
    reports="ends the list",
)


# Updates of a list.

first_policies_for_good = Mutant(
    clause="A42-HASH-18",
    broken="requests are hashed by the first list of policies forever",
    rules={"hash_policies_of_route": for_good(hash_policies_of_route)},
)


round_robin_hashes = Mutant(
    clause="A42-HASH-19",
    broken="a ROUND_ROBIN cluster is balanced by hash",
    xds={"supported_policy": lambda policy: supported_policy(policy) and "RING_HASH"},
)


absent_is_empty = Mutant(
    clause="A42-HDR-03",
    broken="a header that was not sent is hashed as if it were empty",
    rules={"header_value": lambda name, metadata: header_value(name, metadata) or ""},
)


# Types that gRPC does not support.


def refused(kind: str | None) -> Any:
    """Read policies, but reject those of this kind."""

    def read(message: Any) -> HashPolicy:
        if message.WhichOneof("policy_specifier") == kind:
            raise BadHashPolicy(f"policy_specifier: {kind} is not supported")
        return read_hash_policy(message)

    return read


def the_same_for(kind: str) -> Any:
    """Return one hash for all requests with a policy of this kind."""
    return lambda policy, _metadata: hash_value(kind) if policy.kind == kind else None


def cookie(policy: UnsupportedPolicy, metadata: Metadata) -> int | None:
    """Return the hash of the cookies, if there are any."""
    value = joined_values("cookie", metadata)
    return None if policy.kind != "cookie" or value is None else hash_value(value)


unknown_kind_refused = Mutant(
    clause="A42-KIND-01",
    broken="a policy of an unknown type is an error",
    xds={"read_hash_policy": refused(None)},
)


unknown_kind_gives_a_result = Mutant(
    clause="A42-KIND-01",
    broken="a policy of an unknown type has a result, the same for all requests",
    rules={"unsupported_hash": the_same_for("unset")},
)


unknown_kind_spoils_the_list = Mutant(
    clause="A42-KIND-01",
    broken="an unsupported policy in the list disables the others",
    rules={
        "hash_policies_of_route": lambda policies, matched: (
            ()
            if any(isinstance(policy, UnsupportedPolicy) for policy in policies[matched])
            else policies[matched]
        )
    },
)


cookie_refused = Mutant(
    clause="A42-KIND-02",
    broken="a cookie policy is an error",
    xds={"read_hash_policy": refused("cookie")},
)


cookie_hashed = Mutant(
    clause="A42-KIND-02",
    broken="a cookie policy hashes the cookie",
    rules={"unsupported_hash": cookie},
)


connection_refused = Mutant(
    clause="A42-KIND-03",
    broken="a connection_properties policy is an error",
    xds={"read_hash_policy": refused("connection_properties")},
)


source_address_hashed = Mutant(
    clause="A42-KIND-03",
    broken="a connection_properties policy hashes the client's own address",
    rules={"unsupported_hash": the_same_for("connection_properties")},
)


def those_behind(kind: str) -> Any:
    """Use only the policies after the last one of this kind."""

    def use(policies: Sequence[Sequence[HashPolicy]], matched: int) -> Sequence[HashPolicy]:
        listed = policies[matched]
        numbers = [
            number
            for number, policy in enumerate(listed, start=1)
            if isinstance(policy, UnsupportedPolicy) and policy.kind == kind
        ]
        return listed[max(numbers, default=0) :]

    return use


connection_clears_the_hash = Mutant(
    clause="A42-KIND-03",
    broken="a connection_properties policy discards the hash of the policies before it",
    rules={"hash_policies_of_route": those_behind("connection_properties")},
)


query_parameter_refused = Mutant(
    clause="A42-KIND-04",
    broken="a query_parameter policy is an error",
    xds={"read_hash_policy": refused("query_parameter")},
)


absent_parameter_hashed = Mutant(
    clause="A42-KIND-04",
    broken="a query_parameter policy hashes the parameter, or an empty value",
    rules={"unsupported_hash": the_same_for("query_parameter")},
)


any_filter_state_is_the_channel = Mutant(
    clause="A42-KIND-05",
    broken="filter_state means the channel's id, whatever its key",
    xds={
        "read_hash_policy": lambda message: (
            ChannelIdPolicy()
            if message.WhichOneof("policy_specifier") == "filter_state"
            else read_hash_policy(message)
        )
    },
)


other_filter_state_refused = Mutant(
    clause="A42-KIND-05",
    broken="a filter_state policy with another key is an error",
    xds={
        "read_hash_policy": lambda message: (
            read_hash_policy(message)
            if message.filter_state.key == "io.grpc.channel_id"
            else refused("filter_state")(message)
        )
    },
)


# Inside the client.

hash_lost_before_weighted_clusters = Mutant(
    clause="A42-HASH-21",
    broken="hash policies of a route to several clusters are ignored",
    rules={
        "hash_policies_over_clusters": lambda policies, clusters: policies if clusters == 1 else ()
    },
)


def ends_at_a_header(policy: HashPolicy, result: int | None, gathered: int | None) -> bool:
    """Apply terminal on header policies only."""
    return isinstance(policy, HeaderPolicy) and ends_hash_policies(policy, result, gathered)


terminal_on_headers_alone = Mutant(
    clause="A42-HASH-13",
    broken="terminal does not count on the channel id",
    rules={"ends_hash_policies": ends_at_a_header},
)


terminal_on_headers_alone_after_others = Mutant(
    clause="A42-HASH-14",
    broken="terminal does not count on the channel id, after others",
    rules={"ends_hash_policies": ends_at_a_header},
)


# What one point of a rule leaves open.


OF_THE_PROCESS = random.getrandbits(64)


combined_with_the_process = Mutant(
    clause="A42-HASH-04",
    broken="a random number of the process is part of the hash if several policies have a result",
    rules={
        "combine_hashes": lambda gathered, result: combine_hashes(gathered, result) ^ OF_THE_PROCESS
    },
)


def without_terminal_if_rewritten(message: Any) -> HashPolicy:
    """Read a policy, but not the terminal flag of one that rewrites the header."""
    policy = read_hash_policy(message)
    if isinstance(policy, HeaderPolicy) and policy.regex is not None:
        return replace(policy, terminal=False)
    return policy


terminal_lost_by_rewrite = Mutant(
    clause="A42-HASH-13",
    broken="terminal does not count on a header policy with a rewrite",
    xds={"read_hash_policy": without_terminal_if_rewritten},
)


def first_terminal_alone(
    policies: Sequence[Sequence[HashPolicy]], matched: int
) -> Sequence[HashPolicy]:
    """Return the policies of the route, where only the first terminal flag is kept."""
    flags = iter(filter(is_terminal, policies[matched]))
    first = next(flags, None)
    return [
        policy
        if policy is first or isinstance(policy, UnsupportedPolicy)
        else replace(policy, terminal=False)
        for policy in policies[matched]
    ]


later_terminal_ignored = Mutant(
    clause="A42-HASH-13",
    broken="terminal counts on the first terminal policy of a list only",
    rules={"hash_policies_of_route": first_terminal_alone},
)


def known_by_their_names() -> Any:
    """Keep the first of the lists that name the same headers in the same order."""
    known: dict[tuple[str, ...], Sequence[HashPolicy]] = {}

    def use(policies: Sequence[Sequence[HashPolicy]], matched: int) -> Sequence[HashPolicy]:
        listed = policies[matched]
        names = tuple(getattr(policy, "name", "") for policy in listed)
        return known.setdefault(names, listed)

    return use


changed_policy_of_a_name = Mutant(
    clause="A42-HASH-18",
    broken="an update that names the same headers in the same order changes nothing",
    rules={"hash_policies_of_route": known_by_their_names()},
)


def last_not_empty() -> Any:
    """Keep the last list of a route that was not empty."""
    known: dict[int, Sequence[HashPolicy]] = {}

    def use(policies: Sequence[Sequence[HashPolicy]], matched: int) -> Sequence[HashPolicy]:
        known[matched] = policies[matched] or known.get(matched, ())
        return known[matched]

    return use


emptied_list_kept = Mutant(
    clause="A42-HASH-18",
    broken="an update that removes all hash policies changes nothing",
    rules={"hash_policies_of_route": last_not_empty()},
)


def with_a_prefix(name: str, metadata: Metadata) -> str | bytes | None:
    """Find the first header whose name begins like this."""
    return next((value for key, value in metadata if key.startswith(name)), None)


prefix_of_a_name = Mutant(
    clause="A42-HDR-03",
    broken="without the header, one whose name begins with it is hashed",
    rules={"header_value": with_a_prefix},
)


def grpc_filter_state(message: Any) -> HashPolicy:
    """Take each filter_state whose key begins like the channel id's for the channel id."""
    if message.filter_state.key.startswith("io.grpc."):
        return ChannelIdPolicy(terminal=message.terminal)
    return read_hash_policy(message)


filter_state_of_grpc_is_the_channel = Mutant(
    clause="A42-KIND-05",
    broken="filter_state means the channel's id, whatever follows io.grpc. in its key",
    xds={"read_hash_policy": grpc_filter_state},
)


def updated_on_the_first_route() -> Any:
    """Keep the first list of each route but the first."""
    known: dict[int, Sequence[HashPolicy]] = {}

    def use(policies: Sequence[Sequence[HashPolicy]], matched: int) -> Sequence[HashPolicy]:
        listed = policies[matched]
        return known.setdefault(matched, listed) if matched else listed

    return use


first_route_is_updated = Mutant(
    clause="A42-HASH-18",
    broken="only the first route follows an update of the hash policies",
    rules={"hash_policies_of_route": updated_on_the_first_route()},
)


def known_but_for(reduce: Callable[[Sequence[HashPolicy]], Any]) -> Any:
    """Keep the first of the lists that reduce to the same value."""
    known: dict[Any, Sequence[HashPolicy]] = {}

    def use(policies: Sequence[Sequence[HashPolicy]], matched: int) -> Sequence[HashPolicy]:
        return known.setdefault(reduce(policies[matched]), policies[matched])

    return use


def without_flags(policies: Sequence[HashPolicy]) -> tuple[HashPolicy, ...]:
    """Return the policies without their terminal flags."""
    return tuple(
        policy if isinstance(policy, UnsupportedPolicy) else replace(policy, terminal=False)
        for policy in policies
    )


changed_flag_ignored = Mutant(
    clause="A42-HASH-18",
    broken="an update that changes only a terminal flag changes nothing",
    rules={"hash_policies_of_route": known_but_for(without_flags)},
)


changed_order_ignored = Mutant(
    clause="A42-HASH-18",
    broken="an update that changes only the order of the hash policies changes nothing",
    rules={"hash_policies_of_route": known_but_for(frozenset)},
)
