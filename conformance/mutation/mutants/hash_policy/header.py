"""Mutants of the clauses in header.toml."""

import random
import re
from collections.abc import Callable, Sequence
from typing import Any

import re2

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.hash_policy import (
    BadHashPolicy,
    HashPolicy,
    HeaderPolicy,
    UnsupportedPolicy,
    expand,
    hash_value,
    header_value,
    joined_values,
    read_hash_policy,
    rewrite_header,
)
from client_under_test.reference.values import Metadata

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
    rules={"hash_value": lambda value: hash_value(value) & 0xFFFFFFFF},
)


hash_of_a_string_literal = Mutant(
    clause="A42-HDR-02",
    broken="the value is hashed with quotation marks around it",
    rules={"hash_value": lambda value: hash_value(f'"{value}"')},
)


def only_its_start(value: str | bytes) -> int:
    """Hash the first 32 bytes of a value."""
    return hash_value(value[:32])


def filled_up(value: str | bytes) -> int:
    """Hash a value with spaces behind it, up to 4 bytes."""
    return hash_value(value.ljust(4))


start_of_a_long_value = Mutant(
    clause="A42-HDR-02",
    broken="only the first 32 bytes of a value are hashed",
    rules={"hash_value": only_its_start},
)


short_value_filled_up = Mutant(
    clause="A42-HDR-02",
    broken="a value of less than 4 bytes is hashed with spaces behind it",
    rules={"hash_value": filled_up},
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
    rules={"rewrite_header": lambda _regex, _substitution, value: value},
)


empty_substitution_ignored = Mutant(
    clause="A42-HDR-12",
    broken="a rewrite with an empty substitution is ignored, as in grpc-node 1.14",
    rules={
        "rewrite_header": lambda regex, substitution, value: (
            (substitution and rewrite_header(regex, substitution, value)) or value
        )
    },
)


whole_value_rewritten = Mutant(
    clause="A42-HDR-12",
    broken="a value is rewritten only if all of it matches",
    rules={
        "rewrite_header": lambda regex, substitution, value: rewrite_header(
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
    rules={"rewrite_header": lambda *rewrite: rewrite_matches(*rewrite, at_most=1)},
)


rest_anchored_anew = Mutant(
    clause="A42-HDR-13",
    broken="after a match the rest is searched like a new value, so ^ matches again",
    rules={"rewrite_header": lambda *rewrite: rewrite_matches(*rewrite, at_most=1000)},
)


def written_otherwise(pattern: str, replacement: str) -> Any:
    """Return a rewrite that reads the substitution in another syntax."""
    return lambda regex, substitution, value: rewrite_header(
        regex, re.sub(pattern, lambda found: found.expand(replacement), substitution), value
    )


groups_with_dollars = Mutant(
    clause="A42-HDR-14",
    broken="backslashes are plain text, since groups are written $1, as in grpc-go 1.85",
    rules={"rewrite_header": written_otherwise(r"\\", r"\\\\")},
)


backslash_escapes = Mutant(
    clause="A42-HDR-14",
    broken="a backslash makes the next digit plain text, as in grpc-java",
    rules={"rewrite_header": written_otherwise(r"\\(\d)", r"\1")},
)


two_digits_make_a_group = Mutant(
    clause="A42-HDR-21",
    broken="two digits after a backslash name one group, as in Python's regular expressions",
    rules={"rewrite_header": re.sub},
)


value_without_a_match_is_empty = Mutant(
    clause="A42-HDR-15",
    broken="a value that the pattern does not match has no result",
    rules={
        "rewrite_header": lambda regex, substitution, value: (
            rewrite_header(regex, substitution, value) if re2.search(regex, value) else ""
        )
    },
)


nothing_left_is_absent = Mutant(
    clause="A42-HDR-16",
    broken="a value that the rewrite leaves empty counts as absent",
    rules={"rewrite_header": lambda *rewrite: rewrite_header(*rewrite) or None},
    reports="no result",
)


nothing_left_is_not_rewritten = Mutant(
    clause="A42-HDR-16",
    broken="a value that the rewrite would leave empty stays unchanged",
    rules={"rewrite_header": lambda *rewrite: rewrite_header(*rewrite) or rewrite[-1]},
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
    rules={"rewrite_header": written_otherwise(r"\\0", "")},
)


backslashes_stay_doubled = Mutant(
    clause="A42-HDR-20",
    broken="two backslashes stay two, as in grpc-node 1.14",
    rules={"rewrite_header": written_otherwise(r"\\\\", r"\\\\\\\\")},
)


backslash_of_a_backslash_escapes = Mutant(
    clause="A42-HDR-20",
    broken="two backslashes become one before groups are looked for",
    rules={"rewrite_header": written_otherwise(r"\\\\", r"\\")},
)


dollar_names_a_group = Mutant(
    clause="A42-HDR-21",
    broken="a dollar sign and a digit also mean a group, as in most libraries",
    rules={"rewrite_header": written_otherwise(r"\$(\d)", r"\\\1")},
)


two_dollars_are_one = Mutant(
    clause="A42-HDR-21",
    broken="two dollar signs mean one, as in Go and JavaScript",
    rules={"rewrite_header": written_otherwise(r"\$\$", "$")},
)


ampersand_is_the_match = Mutant(
    clause="A42-HDR-21",
    broken="an ampersand means the whole match, as in sed",
    rules={"rewrite_header": written_otherwise("&", r"\\0")},
)


braces_hold_a_group = Mutant(
    clause="A42-HDR-21",
    broken="a digit in braces means a group",
    rules={"rewrite_header": written_otherwise(r"\{(\d)\}", r"\\\1")},
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


def hashes_other_pseudo_headers(name: str, metadata: Metadata) -> str | bytes | None:
    """Return a value for all pseudo-headers but the path."""
    return "xdspec" if name in {":authority", ":method"} else header_value(name, metadata)


authority_and_method = Mutant(
    clause="A42-HDR-11",
    broken=":authority and :method are hashed, :path is not",
    rules={"header_value": hashes_other_pseudo_headers},
)


names_of_one_word = Mutant(
    clause="A42-HDR-01",
    broken="headers with a hyphen in their names are not found",
    rules={
        "header_value": lambda name, metadata: None if "-" in name else header_value(name, metadata)
    },
)


all_of_bin = Mutant(
    clause="A42-HDR-01",
    broken="a header is ignored if its name ends in bin, with a hyphen before it or not",
    rules={
        "header_value": lambda name, metadata: (
            None if name.endswith("bin") else header_value(name, metadata)
        )
    },
)


first_255_bytes = Mutant(
    clause="A42-HDR-02",
    broken="only the first 255 bytes of a value are hashed",
    rules={"hash_value": lambda value: hash_value(value[:255])},
)


up_to_the_first_comma = Mutant(
    clause="A42-HDR-02",
    broken="only the part of a value before its first comma is hashed",
    rules={
        "header_value": lambda name, metadata: (
            str(header_value(name, metadata) or "").partition(",")[0] or None
        )
    },
)


def binary_names_spoil_the_list(
    policies: Sequence[Sequence[HashPolicy]], matched: int
) -> Sequence[HashPolicy]:
    """Return no policies if one of them names a -bin header."""
    listed = policies[matched]
    names = [policy.name for policy in listed if isinstance(policy, HeaderPolicy)]
    return () if any(name.endswith("-bin") for name in names) else listed


binary_header_spoils_the_list = Mutant(
    clause="A42-HDR-07",
    broken="a policy on a -bin header disables the others",
    rules={"hash_policies_of_route": binary_names_spoil_the_list},
)


three_groups_at_most = Mutant(
    clause="A42-HDR-14",
    broken="only three groups can be substituted",
    rules={"rewrite_header": written_otherwise(r"\\[4-9]", "")},
)


def the_first_rewrite() -> Callable[[str, str, str], str | None]:
    """Rewrite every value by the first regex and substitution."""
    first: list[tuple[str, str]] = []

    def rewritten(regex: str, substitution: str, value: str) -> str | None:
        first.append((regex, substitution))
        return rewrite_header(*first[0], value)

    return rewritten


first_rewrite_for_good = Mutant(
    clause="A42-HDR-12",
    broken="all values are rewritten by the first regex_rewrite of the process",
    rules={"rewrite_header": the_first_rewrite()},
)
