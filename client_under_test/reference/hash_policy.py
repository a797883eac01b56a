"""The hash of a request, as the config selector makes it (A42, Hash Policy).

`request_hash` goes through the policies of the matched route (A42-HASH-01); all that the text says
about a single policy or about the list is a function of its own.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import re2
import xxhash

from client_under_test.reference.values import Metadata

CHANNEL_ID_KEY: Final = "io.grpc.channel_id"
ASSUMED_CONTENT_TYPE: Final = "application/grpc"
_ALL_BITS: Final = (1 << 64) - 1


class HeaderPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Hash a request header, rewritten if there is a regex."""

    name: str
    regex: str | None = None
    substitution: str = ""
    terminal: bool = False


class ChannelIdPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Hash the random number of the channel."""

    terminal: bool = False


class UnsupportedPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """A policy of a kind that gRPC does not support. A42's struct has no room for its terminal."""

    kind: str


# A42-HASH-20: what a route holds a list of.
HashPolicy = HeaderPolicy | ChannelIdPolicy | UnsupportedPolicy


class BadHashPolicy(Exception):
    """A hash policy cannot be used; the message names field and reason."""


def read_hash_policy(message: Any) -> HashPolicy:
    """Read one of the `hash_policy` of an xDS RouteAction.

    Raises:
        BadHashPolicy: a regex that RE2 does not take (A42-HDR-17, our choice).

    Clauses: A42-HASH-13, A42-HDR-22, A42-KIND-01, A42-KIND-02, A42-KIND-03, A42-KIND-04,
    A42-KIND-05.
    """
    kind = message.WhichOneof("policy_specifier")
    if kind == "filter_state" and message.filter_state.key == CHANNEL_ID_KEY:
        return ChannelIdPolicy(terminal=message.terminal)
    if kind != "header":
        # Every other kind is accepted:
        # A42-KIND-01, A42-KIND-02, A42-KIND-03, A42-KIND-04, A42-KIND-05.
        return UnsupportedPolicy(kind=kind or "unset")
    header = message.header
    if not header.HasField("regex_rewrite"):
        return HeaderPolicy(name=header.header_name, terminal=message.terminal)
    regex = header.regex_rewrite.pattern.regex
    try:
        _compiled(regex)
    except re2.error as error:
        raise BadHashPolicy(f"header.regex_rewrite.pattern.regex: {_text(error)}") from error
    return HeaderPolicy(
        name=header.header_name,
        regex=regex,
        substitution=header.regex_rewrite.substitution,
        terminal=message.terminal,
    )


def _text(error: Exception) -> str:
    reason = error.args[0] if error.args else "not a regular expression"
    return reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)


# The list.


def hash_policies_of_route(
    policies: Sequence[Sequence[HashPolicy]], matched: int
) -> Sequence[HashPolicy]:
    """Take those of the matched route, of the lists of all routes; they may be none.

    Clauses: A42-CHAN-04, A42-CHAN-05, A42-HASH-01, A42-HASH-02, A42-HASH-04, A42-HASH-11,
    A42-HASH-13, A42-HASH-14, A42-HASH-18, A42-HDR-07, A42-KIND-01, A42-KIND-03.
    """
    return policies[matched]


def request_hash(
    policies: Sequence[HashPolicy],
    metadata: Metadata,
    *,
    channel_id: int,
    random: random.Random,
    rules: HashPolicyRules,
) -> int:
    """Make the hash of one request: 64 bits, once, however often it is picked.

    By the policies as they are now and nothing else but the request and the channel.

    Clauses: A42-HASH-04, A42-HASH-18, A42-HASH-21, A42-CHAN-05.
    """
    gathered: int | None = None
    for policy in policies:  # A42-HASH-02: in the order of the list.
        result = policy_hash(policy, metadata, channel_id=channel_id, rules=rules)
        if result is None:
            gathered = rules.hash_without_result(gathered)
        else:
            gathered = result if gathered is None else rules.combine_hashes(gathered, result)
        if rules.ends_hash_policies(policy, result, gathered):
            break
    # A42-HASH-09, A42-HASH-11: random only if no policy gave a result.
    return rules.random_hash(random) if gathered is None else gathered


def policy_hash(
    policy: HashPolicy, metadata: Metadata, *, channel_id: int, rules: HashPolicyRules
) -> int | None:
    """Make the hash that one policy gives, or None if it gives no result."""
    match policy:
        case HeaderPolicy():
            return header_hash(policy, metadata, rules)
        case ChannelIdPolicy():
            return rules.channel_hash(channel_id)
        case UnsupportedPolicy():
            return rules.unsupported_hash(policy, metadata)


def hash_policies_over_clusters(
    policies: Sequence[HashPolicy], _clusters: int
) -> Sequence[HashPolicy]:
    """Use the route's hash policies, however many clusters it has (A42-HASH-21)."""
    return policies


def combine_hashes(gathered: int, result: int) -> int:
    """Combine as Envoy does, so that every policy and its place count.

    Clauses: A42-CHAN-05, A42-HASH-03, A42-HASH-04, A42-HASH-05, A42-HASH-06.
    """
    rotated = (gathered << 1 | gathered >> 63) & _ALL_BITS
    return rotated ^ result


def hash_without_result(gathered: int | None) -> int | None:
    """Go on with what others give: a policy without a result leaves no trace (our choice).

    Clauses: A42-HASH-07, A42-HASH-08.
    """
    return gathered


def is_terminal(policy: HashPolicy) -> bool:
    """A42-HASH-17, our choice: an unsupported kind is never terminal."""
    return not isinstance(policy, UnsupportedPolicy) and policy.terminal


def ends_hash_policies(policy: HashPolicy, result: int | None, gathered: int | None) -> bool:
    """Terminal ends the list as soon as any hash has been made.

    Clauses: A42-HASH-05, A42-HASH-13, A42-HASH-14, A42-HASH-15, A42-HASH-16, A42-HASH-17.
    """
    del result
    return is_terminal(policy) and gathered is not None


def ends_hash_policies_2021(policy: HashPolicy, result: int | None, gathered: int | None) -> bool:
    """Terminal ends the list if that very policy gave a result.

    Clauses: A42-HASH-15, A42-HASH-16 (2021).
    """
    del gathered
    return is_terminal(policy) and result is not None


def random_hash(random: random.Random) -> int:
    """Draw a random hash for a single request.

    Clauses: A42-HASH-09, A42-HASH-10, A42-HASH-12.
    """
    return random.getrandbits(64)


def unsupported_hash(_policy: UnsupportedPolicy, _metadata: Metadata) -> int | None:
    """Return no result for an unsupported kind.

    Clauses: A42-KIND-01, A42-KIND-02, A42-KIND-03, A42-KIND-04, A42-KIND-05, A42-HASH-17.
    """
    return None


def channel_hash(channel_id: int) -> int:
    """Return the channel's number, which was drawn when the channel was made.

    Clauses: A42-CHAN-01, A42-CHAN-04.
    """
    return channel_id


def channel_id_for_new_routes(channel_id: int, _random: random.Random) -> int:
    """Keep the channel's number when routes are updated.

    Clauses: A42-CHAN-04.
    """
    return channel_id


def draw_channel_id(random: random.Random) -> int:
    """Draw a uniformly distributed number, once for each channel.

    Clauses: A42-CHAN-02, A42-CHAN-03.
    """
    return random.getrandbits(64)


# Headers.


def header_hash(policy: HeaderPolicy, metadata: Metadata, rules: HashPolicyRules) -> int | None:
    """Hash the value, an empty one too; a header not sent gives nothing.

    Clauses: A42-HDR-01, A42-HDR-03, A42-HDR-04.
    """
    value = rules.header_value(policy.name, metadata)
    if policy.regex is not None and isinstance(value, str):
        value = rules.rewrite_header(policy.regex, policy.substitution, value)
    return None if value is None else rules.hash_value(value)


def header_value(name: str, metadata: Metadata) -> str | bytes | None:
    """Find what a policy hashes, as A28 matches headers; None if the header counts as not sent.

    Clauses: A42-HDR-01, A42-HDR-02, A42-HDR-03, A42-HDR-04, A42-HDR-05, A42-HDR-06, A42-HDR-07,
    A42-HDR-08, A42-HDR-09, A42-HDR-10, A42-HDR-11, A42-HDR-18.
    """
    name = name.lower()  # A42-HDR-18, our choice.
    if name.endswith("-bin"):
        return None  # A42-HDR-07
    if name == "content-type":
        return ASSUMED_CONTENT_TYPE  # A42-HDR-08, A42-HDR-09, A42-HDR-10
    # A42-HDR-11, A42-HDR-22: pseudo-headers are not among the metadata, nor one without a name.
    return joined_values(name, metadata)


def header_value_2021(name: str, metadata: Metadata) -> str | bytes | None:
    """Return the value of any header of the request: A42's first wording excludes none.

    Clauses: A42-HDR-07, A42-HDR-08 (2021).
    """
    return joined_values(name.lower(), metadata)


def joined_values(name: str, metadata: Metadata) -> str | bytes | None:
    """Several values are joined with commas, in their order.

    Clauses: A42-HDR-05, A42-HDR-06.
    """
    values = [value for key, value in metadata if key == name]
    if len(values) <= 1:
        return values[0] if values else None
    if all(isinstance(value, str) for value in values):
        return ",".join(value for value in values if isinstance(value, str))
    return b",".join(value.encode() if isinstance(value, str) else value for value in values)


def hash_value(value: str | bytes) -> int:
    """XXH64 with seed 0, all 64 bits.

    Clauses: A42-HASH-04, A42-HDR-02.
    """
    encoded = value.encode() if isinstance(value, str) else value
    return xxhash.xxh64_intdigest(encoded, seed=0)


@functools.lru_cache(maxsize=256)
def _compiled(regex: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    return re2.compile(regex, options)


def rewrite_header(regex: str, substitution: str, value: str) -> str | None:
    """Replace every match, as RE2's GlobalReplace does.

    The module's own `sub` also replaces empty matches that touch the match before them, which
    GlobalReplace passes over. None would mean no result; a value of which nothing is left is a
    result like any other (A42-HDR-16, our choice).

    Clauses: A42-HDR-12, A42-HDR-13, A42-HDR-14, A42-HDR-15, A42-HDR-16, A42-HDR-19, A42-HDR-20,
    A42-HDR-21.
    """
    pattern = _compiled(regex)
    pieces: list[str] = []
    position = 0
    last_end = -1
    while position <= len(value):
        match = pattern.search(value, position)
        if match is None:
            break
        pieces.append(value[position : match.start()])
        if match.start() == match.end() == last_end:
            pieces.append(value[last_end : last_end + 1])
            position = last_end + 1
            last_end = -1
            continue
        pieces.append(expand(match, substitution))
        position = last_end = match.end()
    pieces.append(value[position:])
    return "".join(pieces)


def expand(match: Any, substitution: str) -> str:
    r"""Fill in: \1 is the text of the first group, \0 all that matched, \\ a backslash.

    Clauses: A42-HDR-14, A42-HDR-19, A42-HDR-20, A42-HDR-21.
    """
    pieces: list[str] = []
    characters = iter(substitution)
    for character in characters:
        if character != "\\":
            pieces.append(character)
            continue
        escaped = next(characters, "")
        if not escaped.isdecimal():
            pieces.append(escaped)
        elif int(escaped) <= match.re.groups:
            pieces.append(match.group(int(escaped)) or "")
    return "".join(pieces)


@dataclass(frozen=True, kw_only=True)
class HashPolicyRules:
    """How the hash of a request is made (A42, Hash Policy)."""

    hash_policies_of_route: Callable[
        [Sequence[Sequence[HashPolicy]], int], Sequence[HashPolicy]
    ] = hash_policies_of_route
    hash_policies_over_clusters: Callable[[Sequence[HashPolicy], int], Sequence[HashPolicy]] = (
        hash_policies_over_clusters
    )
    combine_hashes: Callable[[int, int], int] = combine_hashes
    hash_without_result: Callable[[int | None], int | None] = hash_without_result
    ends_hash_policies: Callable[[HashPolicy, int | None, int | None], bool] = ends_hash_policies
    header_value: Callable[[str, Metadata], str | bytes | None] = header_value
    rewrite_header: Callable[[str, str, str], str | None] = rewrite_header
    hash_value: Callable[[str | bytes], int] = hash_value
    draw_channel_id: Callable[[random.Random], int] = draw_channel_id
    channel_id_for_new_routes: Callable[[int, random.Random], int] = channel_id_for_new_routes
    channel_hash: Callable[[int], int] = channel_hash
    unsupported_hash: Callable[[UnsupportedPolicy, Metadata], int | None] = unsupported_hash
    random_hash: Callable[[random.Random], int] = random_hash
