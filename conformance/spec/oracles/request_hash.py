"""Compute the hash of a request from the hash policies of its route and its metadata.

A42, "Hash Policy", with the header rules of A28 that it refers to. What the text leaves free, the
way in which the hashes of several policies are combined, is here only as the one formula that is
known (Envoy's, which A42 quotes): compare with it, and demand no more than that it is
deterministic and that each policy of `contributing` counts.
"""

import functools
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import re2
import xxhash
from msgspec import Struct

TerminalReading = Literal["A42", "A42-2021"]
"""How `terminal` is read.

`A42-2021`: a terminal policy ends the evaluation when this policy itself gave a hash.
`A42`: a terminal policy ends it when there is a hash already, from this or an earlier policy.
"""

Metadata = Sequence[tuple[str, str | bytes]]
"""Key and value pairs in the order sent. Values are text, but for `-bin` keys."""

UnsupportedKind = Literal[
    "cookie", "connection_properties", "query_parameter", "filter_state", "unset"
]
"""Kinds that gRPC treats as giving no hash; `filter_state` means any key but the channel id's.

`unset` is a policy whose kind the client cannot know: none of the oneof is set.
"""

SeveralValues = Literal["joined", "first", "last", "sorted"]
"""What is hashed of a header that is there several times; the text leaves it open.

`joined`: all, joined by commas (A28's way for matching). `sorted`: Envoy's way, each by itself in
the order of their bytes, the hash of one as the seed for the next.
"""

_MASK = 2**64 - 1
_BINARY_SUFFIX = "-bin"
_CONTENT_TYPE = "application/grpc"


class HeaderPolicy(Struct, frozen=True, tag="header", kw_only=True):
    r"""Hashes a request header.

    Clauses: A42-HDR-01, A42-HDR-12.

    Attributes:
        name: the header's name; compared without regard to case.
        regex: RE2 pattern of `regex_rewrite`; None for no rewrite.
        substitution: RE2 rewrite string, `\1` to `\9` for groups and `\0` for the whole match.
        terminal: ends the evaluation, see `TerminalReading`.
        several: how several values are read.
    """

    name: str
    regex: str | None = None
    substitution: str = ""
    terminal: bool = False
    several: SeveralValues = "joined"


class ChannelIdPolicy(Struct, frozen=True, tag="channel_id"):
    """Hashes the channel's own random id: `filter_state` with key `io.grpc.channel_id`.

    Clauses: A42-CHAN-01.
    """

    terminal: bool = False


class UnsupportedPolicy(Struct, frozen=True, tag="unsupported"):
    """A policy that never gives a hash, and whose config is accepted all the same.

    Clauses: A42-KIND-01, A42-KIND-02, A42-KIND-03, A42-KIND-04, A42-KIND-05, A42-HASH-17.
    """

    kind: UnsupportedKind
    terminal: bool = False


HashPolicy = HeaderPolicy | ChannelIdPolicy | UnsupportedPolicy


def policies_in_use(route: Sequence[HashPolicy], header: str) -> tuple[HashPolicy, ...]:
    """What makes the hash: the header that the LB policy's config names, or the route's policies.

    A76, request_hash_header: where one is named, the route's policies count for nothing; its values
    are joined by commas and hashed.

    Clauses: A42-HASH-01, A42-HASH-18, A76-REQ-01, A76-REQ-02, A76-REQ-08, A76-REQ-09, A76-REQ-12.
    """
    return (HeaderPolicy(name=header),) if header else tuple(route)


def xxh64(value: str | bytes, seed: int = 0) -> int:
    """XXH64 of a value's bytes (text as UTF-8): 0 <= hash < 2^64.

    Clauses: A42-HDR-02.
    """
    return xxhash.xxh64_intdigest(value.encode() if isinstance(value, str) else value, seed)


def header_values(
    metadata: Metadata, name: str, several: SeveralValues = "joined"
) -> tuple[str, ...]:
    """What a header policy of this name sees; nothing when the header counts as absent.

    A28, header matching: a `-bin` header counts as absent; `content-type` is what gRPC itself
    sends, whatever the application put there. A header that is there with an empty value is
    present.

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
        ValueError: the pattern or the substitution is no RE2, or the pattern matches an empty
            string within this value: implementations replace such matches differently (RE2 skips
            the one that follows a match, Java and Python do not), so nothing can be expected.
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
    """Combine the policies' hashes by Envoy's formula; None when there is none.

    The hash so far is rotated left by one bit, then the next one is xored in.

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
    """Indices of the policies whose hash goes into the request's, in order.

    Empty means that the request's hash is random. The channel id always gives a hash.

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
    """Compute the request's hash, several policies combined by Envoy's formula.

    Clauses: A42-HASH-04, A42-HASH-21.

    Args:
        policies: the route's hash policies, in order.
        metadata: the request's metadata.
        terminal: the reading of `terminal`.
        channel_id_hash: what the channel id policy gives on this channel, if it is known.

    Returns:
        0 <= hash < 2^64, or None when no policy gives a hash and so a random one is used.

    Raises:
        ValueError: the channel id counts and its hash is not given; or a header's value or
            rewrite has no defined result.
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
            raise ValueError("The channel id counts here, so its hash must be given.")
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
    """Fill an RE2 rewrite string: a backslash goes before a digit or another backslash."""
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
