"""Mutants of the clauses in hash_policy.toml."""

import itertools
import random
import re
from collections.abc import Sequence
from typing import Any

import re2

from client_under_test.reference.editions.mutants import Mutant, for_good
from client_under_test.reference.hash_policy import (
    BadHashPolicy,
    ChannelIdPolicy,
    HashPolicy,
    HeaderPolicy,
    UnsupportedPolicy,
    draw_channel_id,
    ends_once_gathered,
    ends_with_own_result,
    expand,
    header_value,
    is_terminal,
    joined_values,
    policies_of_the_route,
    random_for_each_request,
    read_hash_policy,
    rewrite_every_match,
    rotate_and_xor,
    xxh64,
)
from client_under_test.reference.values import Metadata
from client_under_test.reference.xds.rules import supported_policy

ALL_BITS = 2**64 - 1
CHANNELS = itertools.count()

# The list of policies.

first_route_counts = Mutant(
    clause="A42-HASH-01",
    broken="requests are hashed by the policies of the first route, whichever they match",
    rules={"route_policies": lambda policies, _matched: policies[0]},
)

all_routes_count = Mutant(
    clause="A42-HASH-01",
    broken="requests are hashed by the policies of all routes",
    rules={
        "route_policies": lambda policies, _matched: [
            policy for some in policies for policy in some
        ]
    },
)

last_policy_first = Mutant(
    clause="A42-HASH-02",
    broken="the policies are evaluated from the last to the first",
    rules={"route_policies": lambda policies, matched: policies[matched][::-1]},
)

combined_in_any_order = Mutant(
    clause="A42-HASH-03",
    broken="results are combined in an order that changes from request to request",
    rules={
        "combine": lambda gathered, result: rotate_and_xor(*random.sample((gathered, result), 2))
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
    rules={"route_policies": lambda policies, matched: (ChannelIdPolicy(), *policies[matched])},
)

last_result_alone = Mutant(
    clause="A42-HASH-05",
    broken="a result replaces those before it",
    rules={"combine": lambda _gathered, result: result},
)

first_result_alone = Mutant(
    clause="A42-HASH-05",
    broken="the first result stays, later ones are left out",
    rules={"combine": lambda gathered, _result: gathered},
)

sum_beyond_64_bits = Mutant(
    clause="A42-HASH-05",
    broken="the shifted hash is not cut to 64 bits, as in grpc-node 1.14: larger than any entry",
    rules={"combine": lambda gathered, result: (gathered << 1 | gathered >> 63) ^ result},
)

larger_result_alone = Mutant(
    clause="A42-HASH-05",
    broken="only the larger of two results counts",
    rules={"combine": max},
)

negative_result_left_out = Mutant(
    clause="A42-HASH-05",
    broken="a result that is negative as a signed number is left out if there are others",
    rules={
        "combine": lambda gathered, result: (
            gathered if result >> 63 else rotate_and_xor(gathered, result)
        )
    },
)

xor_without_rotation = Mutant(
    clause="A42-HASH-06",
    broken="results are combined by XOR alone, so equal ones cancel each other out",
    rules={"combine": lambda gathered, result: gathered ^ result},
    reports="none of the known",
)


def rotate_with_sign(gathered: int, result: int) -> int:
    """Rotate with sign extension: the hash so far becomes all ones if its top bit is set."""
    return (ALL_BITS if gathered >> 63 else gathered << 1) ^ result


rotation_loses_the_first = Mutant(
    clause="A42-HASH-05",
    broken="the rotation extends the sign, as in grpc-java 1.85: half of all results are lost",
    rules={"combine": rotate_with_sign},
)

rotation_with_sign = Mutant(
    clause="A42-HASH-06",
    broken="the rotation extends the sign, as in grpc-java: the hash so far becomes all ones",
    rules={"combine": rotate_with_sign},
    reports="none of the known",
)

missing_result_is_random = Mutant(
    clause="A42-HASH-07",
    broken="one policy without a result makes the hash random",
    rules={"without_result": lambda _gathered: random.getrandbits(64)},
)

missing_result_starts_anew = Mutant(
    clause="A42-HASH-07",
    broken="a policy without a result discards the hash so far",
    rules={"without_result": lambda _gathered: None},
)

missing_result_rotates = Mutant(
    clause="A42-HASH-08",
    broken="the hash so far is also rotated for a policy without a result",
    rules={"without_result": lambda gathered: gathered and rotate_and_xor(gathered, 0)},
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
    rules={"random_hash": for_good(random_for_each_request)},
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
        "route_policies": lambda policies, matched: policies[matched] or (ChannelIdPolicy(),),
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
    rules={"ends_the_list": lambda _policy, _result, _gathered: False},
)

first_terminal_ignored = Mutant(
    clause="A42-HASH-13",
    broken="terminal does not end the list if there is no earlier result",
    rules={
        "ends_the_list": lambda policy, result, gathered: (
            result != gathered and ends_once_gathered(policy, result, gathered)
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
    rules={"route_policies": from_terminal_on},
)

terminal_always_ends = Mutant(
    clause="A42-HASH-15",
    broken="a terminal policy ends the list even without any result",
    rules={"ends_the_list": lambda policy, _result, _gathered: is_terminal(policy)},
)

terminal_by_own_result = Mutant(
    clause="A42-HASH-16",
    broken="terminal counts only after a result of its own policy, as in grpc-go 1.85",
    rules={"ends_the_list": ends_with_own_result},
)

terminal_by_what_was_gathered = Mutant(
    clause="A42-HASH-16",
    broken="a terminal policy ends the list if others gave a result before it",
    rules={"ends_the_list": ends_once_gathered},
    edition="seed-2021",
)

unsupported_is_terminal = Mutant(
    clause="A42-HASH-17",
    broken="terminal on an unsupported type also ends the list",
    rules={"ends_the_list": lambda _policy, _result, gathered: gathered is not None},
    reports="ends the list",
)

# Updates of a list.

first_policies_for_good = Mutant(
    clause="A42-HASH-18",
    broken="requests are hashed by the first list of policies forever",
    rules={"route_policies": for_good(policies_of_the_route)},
)

round_robin_hashes = Mutant(
    clause="A42-HASH-19",
    broken="a ROUND_ROBIN cluster is balanced by hash",
    xds={"supported_policy": lambda policy: supported_policy(policy) and "RING_HASH"},
)

# Header.

other_metadata = Mutant(
    clause="A42-HDR-01",
    broken="headers are looked up in the metadata of another call, which never has them",
    rules={"header_value": lambda _name, _metadata: None},
    issue="https://github.com/grpc/grpc-go/pull/4525",
)

name_hashed = Mutant(
    clause="A42-HDR-01",
    broken="the header's name is hashed, not its value",
    rules={"header_value": lambda name, metadata: header_value(name, metadata) and name},
)

hash_of_32_bits = Mutant(
    clause="A42-HDR-02",
    broken="the hash keeps its lower 32 bits only",
    rules={"hash_value": lambda value: xxh64(value) & 0xFFFFFFFF},
)

hash_of_a_string_literal = Mutant(
    clause="A42-HDR-02",
    broken="the value is hashed with quotation marks around it",
    rules={"hash_value": lambda value: xxh64(f'"{value}"')},
)

absent_is_empty = Mutant(
    clause="A42-HDR-03",
    broken="a header that was not sent is hashed as if it were empty",
    rules={"header_value": lambda name, metadata: header_value(name, metadata) or ""},
)

empty_is_absent = Mutant(
    clause="A42-HDR-04",
    broken="an empty value counts as absent",
    rules={"header_value": lambda name, metadata: header_value(name, metadata) or None},
    reports="no result",
)

first_value_alone = Mutant(
    clause="A42-HDR-05",
    broken="only the first of several values is hashed",
    rules={
        "header_value": lambda name, metadata: next((v for key, v in metadata if key == name), None)
    },
    reports="the first",
    issue="https://github.com/envoyproxy/envoy/issues/15182",
)

last_value_alone = Mutant(
    clause="A42-HDR-05",
    broken="only the last of several values is hashed",
    rules={"header_value": lambda name, metadata: dict(metadata).get(name)},
    reports="the last",
)

values_in_any_order = Mutant(
    clause="A42-HDR-06",
    broken="several values are joined in an order that changes from request to request",
    rules={
        "header_value": lambda name, metadata: header_value(
            name, tuple(random.sample(metadata, len(metadata)))
        )
    },
)

binary_header_hashed = Mutant(
    clause="A42-HDR-07",
    broken="-bin headers are hashed like others",
    rules={
        "header_value": lambda name, metadata: (
            joined_values(name, metadata) if name.endswith("-bin") else header_value(name, metadata)
        )
    },
    issue="https://github.com/grpc/grpc-go/pull/6609",
)

content_type_not_known_yet = Mutant(
    clause="A42-HDR-08",
    broken="content-type is missing when requests are hashed, as in grpc-go 1.85",
    rules={"header_value": joined_values},
    issue="https://github.com/grpc/grpc-go/pull/6609",
)

content_type_with_format = Mutant(
    clause="A42-HDR-09",
    broken="the value assumed for content-type names a message format that is not on the wire",
    rules={
        "header_value": lambda name, metadata: (
            "application/grpc+proto" if name == "content-type" else header_value(name, metadata)
        )
    },
)

content_type_of_the_application = Mutant(
    clause="A42-HDR-10",
    broken="a content-type in the metadata replaces the assumed one",
    rules={
        "header_value": lambda name, metadata: (
            (name == "content-type" and joined_values(name, metadata))
            or header_value(name, metadata)
        )
    },
    reports="its own is hashed",
)

pseudo_header_hashed = Mutant(
    clause="A42-HDR-11",
    broken="a pseudo-header produces a result",
    rules={
        "header_value": lambda name, metadata: (
            name if name.startswith(":") else header_value(name, metadata)
        )
    },
)

rewrite_ignored = Mutant(
    clause="A42-HDR-12",
    broken="values are hashed without the rewrite",
    rules={"rewrite": lambda _regex, _substitution, value: value},
)

empty_substitution_ignored = Mutant(
    clause="A42-HDR-12",
    broken="a rewrite with an empty substitution is ignored, as in grpc-node 1.14",
    rules={
        "rewrite": lambda regex, substitution, value: (
            (substitution and rewrite_every_match(regex, substitution, value)) or value
        )
    },
)

whole_value_rewritten = Mutant(
    clause="A42-HDR-12",
    broken="a value is rewritten only if all of it matches",
    rules={
        "rewrite": lambda regex, substitution, value: rewrite_every_match(
            rf"\A(?:{regex})\z", substitution, value
        )
    },
)


def rewrite_matches(regex: str, substitution: str, value: str, *, at_most: int) -> str:
    """Replace up to `at_most` matches; search the rest after each like a new value."""
    match = re2.search(regex, value)
    if match is None or not at_most:
        return value
    rest = rewrite_matches(regex, substitution, value[match.end() :], at_most=at_most - 1)
    return value[: match.start()] + expand(match, substitution) + rest


first_match_alone = Mutant(
    clause="A42-HDR-13",
    broken="only the first match is replaced",
    rules={"rewrite": lambda *rewrite: rewrite_matches(*rewrite, at_most=1)},
)

rest_anchored_anew = Mutant(
    clause="A42-HDR-13",
    broken="after a match the rest is searched like a new value, so ^ matches again",
    rules={"rewrite": lambda *rewrite: rewrite_matches(*rewrite, at_most=1000)},
)


def written_otherwise(pattern: str, replacement: str) -> Any:
    """Return a rewrite that reads the substitution in another syntax."""
    return lambda regex, substitution, value: rewrite_every_match(
        regex, re.sub(pattern, lambda found: found.expand(replacement), substitution), value
    )


groups_with_dollars = Mutant(
    clause="A42-HDR-14",
    broken="backslashes are plain text, since groups are written $1, as in grpc-go 1.85",
    rules={"rewrite": written_otherwise(r"\\", r"\\\\")},
)

backslash_escapes = Mutant(
    clause="A42-HDR-14",
    broken="a backslash makes the next digit plain text, as in grpc-java",
    rules={"rewrite": written_otherwise(r"\\(\d)", r"\1")},
)

two_digits_make_a_group = Mutant(
    clause="A42-HDR-21",
    broken="two digits after a backslash name one group, as in Python's regular expressions",
    rules={"rewrite": re.sub},
)

value_without_a_match_is_empty = Mutant(
    clause="A42-HDR-15",
    broken="a value that the pattern does not match has no result",
    rules={
        "rewrite": lambda regex, substitution, value: (
            rewrite_every_match(regex, substitution, value) if re2.search(regex, value) else ""
        )
    },
)

nothing_left_is_absent = Mutant(
    clause="A42-HDR-16",
    broken="a value that the rewrite leaves empty counts as absent",
    rules={"rewrite": lambda *rewrite: rewrite_every_match(*rewrite) or None},
    reports="no result",
)

nothing_left_is_not_rewritten = Mutant(
    clause="A42-HDR-16",
    broken="a value that the rewrite would leave empty stays unchanged",
    rules={"rewrite": lambda *rewrite: rewrite_every_match(*rewrite) or rewrite[-1]},
    reports="not rewritten",
)


def read_without_a_look_at_the_regex(message: Any) -> HashPolicy:
    """Treat a policy with an invalid regex as unsupported."""
    try:
        return read_hash_policy(message)
    except BadHashPolicy:
        return UnsupportedPolicy(kind="header")


invalid_regex_accepted = Mutant(
    clause="A42-HDR-17",
    broken="a policy with an invalid regex is accepted and has no result",
    xds={"read_hash_policy": read_without_a_look_at_the_regex},
    reports="ACK, and no result",
)

capitals_never_match = Mutant(
    clause="A42-HDR-18",
    broken="the header name in the policy is case-sensitive",
    rules={"header_value": joined_values},
    reports="no result",
)

whole_match_unknown = Mutant(
    clause="A42-HDR-19",
    broken="\\0 means the empty string, as groups count from one",
    rules={"rewrite": written_otherwise(r"\\0", "")},
)

backslashes_stay_doubled = Mutant(
    clause="A42-HDR-20",
    broken="two backslashes stay two, as in grpc-node 1.14",
    rules={"rewrite": written_otherwise(r"\\\\", r"\\\\\\\\")},
)

backslash_of_a_backslash_escapes = Mutant(
    clause="A42-HDR-20",
    broken="two backslashes become one before groups are looked for",
    rules={"rewrite": written_otherwise(r"\\\\", r"\\")},
)

dollar_names_a_group = Mutant(
    clause="A42-HDR-21",
    broken="a dollar sign and a digit also mean a group, as in most libraries",
    rules={"rewrite": written_otherwise(r"\$(\d)", r"\\\1")},
)

two_dollars_are_one = Mutant(
    clause="A42-HDR-21",
    broken="two dollar signs mean one, as in Go and JavaScript",
    rules={"rewrite": written_otherwise(r"\$\$", "$")},
)

ampersand_is_the_match = Mutant(
    clause="A42-HDR-21",
    broken="an ampersand means the whole match, as in sed",
    rules={"rewrite": written_otherwise("&", r"\\0")},
)

braces_hold_a_group = Mutant(
    clause="A42-HDR-21",
    broken="a digit in braces means a group",
    rules={"rewrite": written_otherwise(r"\{(\d)\}", r"\\\1")},
)


def read_with_a_name(message: Any) -> HashPolicy:
    """Reject a header policy without a header name."""
    if message.HasField("header") and not message.header.header_name:
        raise BadHashPolicy("header.header_name: must not be empty")
    return read_hash_policy(message)


nameless_header_refused = Mutant(
    clause="A42-HDR-22",
    broken="a header policy without a name is an error",
    xds={"read_hash_policy": read_with_a_name},
    reports="NACK",
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
    return lambda policy, _metadata: xxh64(kind) if policy.kind == kind else None


def cookie(policy: UnsupportedPolicy, metadata: Metadata) -> int | None:
    """Return the hash of the cookies, if there are any."""
    value = joined_values("cookie", metadata)
    return None if policy.kind != "cookie" or value is None else xxh64(value)


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
        "route_policies": lambda policies, matched: (
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

# The channel id.

channel_id_of_the_request = Mutant(
    clause="A42-CHAN-01",
    broken="each request draws a new channel id",
    rules={"channel_hash": lambda _channel_id: random.getrandbits(64)},
)

channel_id_of_the_process = Mutant(
    clause="A42-CHAN-02",
    broken="all channels of a process have the same id",
    rules={"channel_id": for_good(draw_channel_id)},
)

channels_counted = Mutant(
    clause="A42-CHAN-02",
    broken="channels are numbered from zero in every process",
    rules={"channel_id": lambda _rng: xxh64(next(CHANNELS).to_bytes(8, "little"))},
    issue="https://github.com/grpc/grpc-java/pull/9453",
)

channel_id_is_an_address = Mutant(
    clause="A42-CHAN-02",
    broken="the channel's id is an address in memory, so it always finds the first entry",
    rules={"channel_id": lambda _rng: id(object())},
)

channel_ids_uneven = Mutant(
    clause="A42-CHAN-03",
    broken="nine of ten channels have the same id",
    rules={"channel_id": lambda rng: rng.choice([*9 * [0], rng.getrandbits(64)])},
)

channel_id_of_the_routes = Mutant(
    clause="A42-CHAN-04",
    broken="an update of the routes draws a new channel id",
    rules={"channel_id_for_new_routes": lambda _channel_id, rng: rng.getrandbits(64)},
)

channel_id_of_the_route = Mutant(
    clause="A42-CHAN-04",
    broken="the index of the route is mixed into the channel's id",
    rules={
        "route_policies": lambda policies, matched: policies[matched] * (matched + 1),
    },
)

channel_id_gives_way = Mutant(
    clause="A42-CHAN-05",
    broken="the channel's id does not count if there are other policies",
    rules={
        "route_policies": lambda policies, matched: (
            [policy for policy in policies[matched] if not isinstance(policy, ChannelIdPolicy)]
        )
    },
)

channel_id_alone = Mutant(
    clause="A42-CHAN-05",
    broken="other policies do not count if there is the channel's id",
    rules={
        "route_policies": lambda policies, matched: (
            [policy for policy in policies[matched] if isinstance(policy, ChannelIdPolicy)]
        )
    },
)

rotation_loses_the_id = Mutant(
    clause="A42-CHAN-05",
    broken="the rotation extends the sign, as in grpc-java 1.85: half of all ids are lost",
    rules={"combine": rotate_with_sign},
)

header_left_out_if_negative = Mutant(
    clause="A42-CHAN-05",
    broken="a result that is negative as a signed number is left out next to the channel's id",
    rules={
        "combine": lambda gathered, result: (
            gathered if result >> 63 else rotate_and_xor(gathered, result)
        )
    },
)

negative_header_alone = Mutant(
    clause="A42-CHAN-05",
    broken="a result that is negative as a signed number replaces the channel's id",
    rules={
        "combine": lambda gathered, result: (
            result if result >> 63 else rotate_and_xor(gathered, result)
        )
    },
)

larger_of_header_and_id = Mutant(
    clause="A42-CHAN-05",
    broken="only the larger of the channel's id and another result counts",
    rules={"combine": max},
)

# Inside the client.

hash_lost_before_weighted_clusters = Mutant(
    clause="A42-HASH-21",
    broken="hash policies of a route to several clusters are ignored",
    rules={"over_clusters": lambda policies, clusters: policies if clusters == 1 else ()},
)


def hashes_other_pseudo_headers(name: str, metadata: Metadata) -> str | bytes | None:
    """Return a value for all pseudo-headers but the path."""
    return "xdspec" if name in {":authority", ":method"} else header_value(name, metadata)


authority_and_method = Mutant(
    clause="A42-HDR-11",
    broken=":authority and :method are hashed, :path is not",
    rules={"header_value": hashes_other_pseudo_headers},
)


def ends_at_a_header(policy: HashPolicy, result: int | None, gathered: int | None) -> bool:
    """Apply terminal on header policies only."""
    return isinstance(policy, HeaderPolicy) and ends_once_gathered(policy, result, gathered)


terminal_on_headers_alone = Mutant(
    clause="A42-HASH-13",
    broken="terminal does not count on the channel id",
    rules={"ends_the_list": ends_at_a_header},
)

terminal_on_headers_alone_after_others = Mutant(
    clause="A42-HASH-14",
    broken="terminal does not count on the channel id, after others",
    rules={"ends_the_list": ends_at_a_header},
)
