"""Compute the hash of a request from the hash policies of its route and its metadata.

A42, "Hash Policy", with the header rules of A28 that it refers to. The text leaves open how to
combine the hashes of several policies. This module has the one known formula (Envoy's, which A42
quotes) to compare with. A check must require only that the hash is deterministic and that each
policy of `contributing` counts.
"""

import functools
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import re2
import xxhash
from msgspec import Struct

TerminalReading = Literal["A42", "A42-2021"]
"""The reading of `terminal`.

`A42-2021`: a terminal policy ends the evaluation if this policy produced a hash.
`A42`: a terminal policy ends it if this or an earlier policy produced a hash.
"""

Metadata = Sequence[tuple[str, str | bytes]]
"""Pairs of key and value in the order sent. Values are text, except for `-bin` keys."""

UnsupportedKind = Literal[
    "cookie", "connection_properties", "query_parameter", "filter_state", "unset"
]
"""Kinds that produce no hash in gRPC; `filter_state` means any key but the channel id's.

`unset` is a policy with no field of the oneof set, so its kind is unknown to the client.
"""

SeveralValues = Literal["joined", "first", "last", "sorted"]
"""The hashed value of a header that a request has several times; the text leaves it open.

`joined`: all values, joined by commas (as A28 does for matching). `sorted`: as Envoy does, each
value by itself, in the order of their bytes, with the hash so far as the seed for the next.
"""

_MASK = 2**64 - 1
_BINARY_SUFFIX = "-bin"
_CONTENT_TYPE = "application/grpc"


class HeaderPolicy(Struct, frozen=True, tag="header", kw_only=True):
    r"""A policy that hashes a request header.

    Clauses: A42-HDR-01, A42-HDR-12.

    Attributes:
        name: the header's name, case-insensitive.
        regex: RE2 pattern of `regex_rewrite`; None for no rewrite.
        substitution: RE2 rewrite string, `\1` to `\9` for groups and `\0` for the whole match.
        terminal: ends the evaluation, see `TerminalReading`.
        several: how to hash several values.
    """

    name: str
    regex: str | None = None
    substitution: str = ""
    terminal: bool = False
    several: SeveralValues = "joined"


class ChannelIdPolicy(Struct, frozen=True, tag="channel_id"):
    """A policy that hashes the channel's random id: `filter_state`, key `io.grpc.channel_id`.

    Clauses: A42-CHAN-01.
    """

    terminal: bool = False


class UnsupportedPolicy(Struct, frozen=True, tag="unsupported"):
    """A policy that never produces a hash; a client still accepts its config.

    Clauses: A42-KIND-01, A42-KIND-02, A42-KIND-03, A42-KIND-04, A42-KIND-05, A42-HASH-17.
    """

    kind: UnsupportedKind
    terminal: bool = False


HashPolicy = HeaderPolicy | ChannelIdPolicy | UnsupportedPolicy


def policies_in_use(route: Sequence[HashPolicy], header: str) -> tuple[HashPolicy, ...]:
    """Return the policies in use: `header` if the LB policy's config names one, or the route's.

    A76, request_hash_header: if the config names a header, the client ignores the route's policies
    and hashes the header's values, joined by commas.

    Clauses: A42-HASH-01, A42-HASH-18, A76-REQ-01, A76-REQ-02, A76-REQ-08, A76-REQ-09, A76-REQ-12.
    """
    return (HeaderPolicy(name=header),) if header else tuple(route)


def xxh64(value: str | bytes, seed: int = 0) -> int:
    """Return the XXH64 of a value's bytes (text as UTF-8): 0 <= hash < 2^64.

    Clauses: A42-HDR-02.
    """
    return xxhash.xxh64_intdigest(value.encode() if isinstance(value, str) else value, seed)


def header_values(
    metadata: Metadata, name: str, several: SeveralValues = "joined"
) -> tuple[str, ...]:
    """Return the values that a header policy hashes; none if the header counts as absent.

    A28, header matching: a `-bin` header counts as absent. `content-type` has the value that gRPC
    itself sends, whatever the application set. A header with an empty value is present.

    Clauses: A42-HDR-01, A42-HDR-03, A42-HDR-04, A42-HDR-05, A42-HDR-06, A42-HDR-07, A42-HDR-08,
    A42-HDR-09, A42-HDR-10, A42-HDR-11, A42-HDR-18, A42-HDR-22.

    Raises:
        ValueError: a value is not ASCII text, which no gRPC client can send.
    """
    wanted = name.lower()
    if wanted.endswith(_BINARY_SUFFIX):
        return ()
    if wanted == "content-type":
        return (_CONTENT_TYPE,)
    values = tuple(_text(wanted, value) for key, value in metadata if key.lower() == wanted)
    match several:
        case "joined":
            return (",".join(values),) if values else ()
        case "first":
            return values[:1]
        case "last":
            return values[-1:]
        case "sorted":
            return values


def rewrite(value: str, regex: str, substitution: str) -> str:
    """Replace every match of an RE2 pattern, as RE2's GlobalReplace does.

    Clauses: A42-HDR-12, A42-HDR-13, A42-HDR-14, A42-HDR-15, A42-HDR-16, A42-HDR-17, A42-HDR-19,
    A42-HDR-20, A42-HDR-21.

    Raises:
        ValueError: the pattern or the substitution is not valid RE2; or the pattern matches an
            empty string in this value. Implementations replace empty matches differently (RE2 skips
            one after a match, Java and Python do not), so there is no expected result.
    """
    pattern = _compiled(regex)
    pieces: list[str] = []
    end = 0
    for match in pattern.finditer(value):
        start, stop = match.span()
        if start == stop:
            raise ValueError(
                f"The pattern {regex!r} matches an empty string in {value!r}, which "
                "implementations replace differently; choose a pattern that cannot be empty."
            )
        groups = (match.group(0), *(group or "" for group in match.groups()))
        pieces += (value[end:start], _expand(substitution, groups))
        end = stop
    return "".join((*pieces, value[end:]))


def combine(hashes: Iterable[int]) -> int | None:
    """Combine the policies' hashes by Envoy's formula; return None if there are none.

    The formula rotates the hash so far left by one bit and XORs the next hash.

    Clauses: A42-HASH-02, A42-HASH-03, A42-HASH-05, A42-HASH-06, A42-CHAN-05.
    """
    combined: int | None = None
    for value in hashes:
        rotated = 0 if combined is None else combined << 1 & _MASK | combined >> 63
        combined = rotated ^ value
    return combined


def contributing(
    policies: Sequence[HashPolicy], metadata: Metadata, reading: TerminalReading
) -> tuple[int, ...]:
    """Return the indices of the policies that contribute to the request's hash, in order.

    If there are none, the request's hash is random. The channel id always produces a hash.

    Clauses: A42-HASH-07, A42-HASH-08, A42-HASH-09, A42-HASH-11, A42-HASH-13, A42-HASH-14,
    A42-HASH-15, A42-HASH-16, A42-HASH-17.
    """
    counted: list[int] = []
    for index, policy in enumerate(policies):
        gives = _gives_hash(policy, metadata)
        if gives:
            counted.append(index)
        if policy.terminal and (gives if reading == "A42-2021" else counted):
            break
    return tuple(counted)


def request_hash(
    policies: Sequence[HashPolicy],
    metadata: Metadata,
    *,
    terminal: TerminalReading,
    channel_id_hash: int | None = None,
) -> int | None:
    """Compute the request's hash; combine several policies by Envoy's formula.

    Clauses: A42-HASH-04, A42-HASH-21.

    Args:
        policies: the route's hash policies, in order.
        metadata: the request's metadata.
        terminal: the reading of `terminal`.
        channel_id_hash: the hash of the channel id policy on this channel, if known.

    Returns:
        0 <= hash < 2^64, or None if no policy produces a hash; the client then uses a random one.

    Raises:
        ValueError: the channel id contributes but `channel_id_hash` is None; or a header's value
            or rewrite has no defined result.
    """
    counted = contributing(policies, metadata, terminal)
    return combine(_hash(policies[index], metadata, channel_id_hash) for index in counted)


def _gives_hash(policy: HashPolicy, metadata: Metadata) -> bool:
    match policy:
        case HeaderPolicy(name=name):
            return bool(header_values(metadata, name))
        case ChannelIdPolicy():
            return True
        case UnsupportedPolicy():
            return False


def _hash(policy: HashPolicy, metadata: Metadata, channel_id_hash: int | None) -> int:
    if not isinstance(policy, HeaderPolicy):
        if channel_id_hash is None:
            raise ValueError("The channel id contributes to this hash: pass channel_id_hash.")
        return channel_id_hash
    values = header_values(metadata, policy.name, policy.several)
    if policy.regex is not None:
        values = tuple(rewrite(value, policy.regex, policy.substitution) for value in values)
    first, *others = sorted(values)
    return functools.reduce(lambda seed, value: xxh64(value, seed), others, xxh64(first))


def _text(name: str, value: str | bytes) -> str:
    try:
        text = value.decode("ascii") if isinstance(value, bytes) else value
        text.encode("ascii")
    except UnicodeError:
        raise ValueError(f"The value of header {name!r} is not ASCII text: {value!r}.") from None
    return text


@functools.lru_cache(maxsize=64)
def _compiled(regex: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(regex, options)
    except re2.error as error:
        raise ValueError(f"{regex!r} is not an RE2 pattern: {error}.") from None


def _expand(substitution: str, groups: Sequence[str]) -> str:
    """Expand an RE2 rewrite string: a backslash precedes a digit or another backslash."""
    pieces: list[str] = []
    characters = iter(substitution)
    for character in characters:
        if character != "\\":
            pieces.append(character)
            continue
        escaped = next(characters, "")
        if escaped == "\\":
            pieces.append(escaped)
        elif escaped.isdecimal() and int(escaped) < len(groups):
            pieces.append(groups[int(escaped)])
        else:
            raise ValueError(
                f"The substitution {substitution!r} is not an RE2 rewrite for a pattern with "
                f"{len(groups) - 1} groups."
            )
    return "".join(pieces)
