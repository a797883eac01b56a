"""Find what the wrong calls of a ring have in common. Pure."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from conformance.judging.observations import Call
from conformance.spec.oracles.request_hash import (
    HashPolicy,
    HeaderPolicy,
    Metadata,
    TerminalReading,
    contributing,
    header_values,
    request_hash,
    rewrite,
)
from conformance.spec.oracles.ring.search import SPACE, Ring

FEWEST: Final = 4
"""Wrong calls of which a common trait is reported: of fewer, chance explains most traits."""

MOST_BY_CHANCE: Final = 1e-3
"""Greatest probability of a wrong claim: that a rule or a trait fits all calls by chance."""


class MappedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call, where the ring maps it, and where it went."""

    call: Call
    hash: int
    expected: str
    observed: str

    @property
    def is_right(self) -> bool:
        """Return whether the call reached the expected endpoint."""
        return self.expected == self.observed


class Hashing(msgspec.Struct, frozen=True, kw_only=True):
    """How requests are hashed."""

    policies: tuple[HashPolicy, ...]
    terminal: TerminalReading


class Rule(msgspec.Struct, frozen=True):
    """A way of picking endpoints that differs from the text."""

    text: str
    pick: Callable[[Ring, MappedCall], str | None]


def rule_of(calls: Sequence[MappedCall], ring: Ring, hashing: Hashing, *, rings: int = 1) -> str:
    """Return the first known wrong rule that explains every call; empty if none does.

    Chance fits one of many rules to a few wrong calls, so then the result is empty.

    Args:
        calls: the calls; all endpoints of the ring were READY.
        ring: where they are mapped.
        hashing: how their hashes are computed.
        rings: the number of rings that the caller tries.
    """
    rules = (*_other_searches(), *_other_hashes(hashing))
    wrong = [call for call in calls if not call.is_right]
    at_random = len(ring.addresses) ** -len(wrong)
    if wrong and all(_position(ring, call) in ring.positions for call in wrong):
        at_random = 0.0  # no hash is that of an entry by chance
    if not wrong or at_random * len(rules) * rings > MOST_BY_CHANCE:
        return ""
    for rule in rules:
        if all(rule.pick(ring, call) == call.observed for call in calls):
            return f"all {len(calls)} calls reached {rule.text}"
    return _past_the_end(calls, ring)


def trait_of(
    calls: Sequence[MappedCall], ring: Ring, hashing: Hashing, failed: Sequence[str] = ()
) -> str:
    """Return what all wrong calls have in common; empty if nothing known, or if they are few."""
    wrong = [call for call in calls if not call.is_right]
    if len(wrong) < FEWEST:
        return ""
    every = f"all {len(wrong)} wrong calls"
    for text, has in _traits(ring, hashing, failed):
        having = [call for call in calls if has(call)]
        if all(map(has, wrong)) and _chance(len(calls), len(having), len(wrong)) < MOST_BY_CHANCE:
            return f"{every} have {text}{_together(having, wrong)}"
    if places := _common_places(calls, wrong):
        return f"{every} {places}"
    if not failed:
        for rule in _other_searches():
            if all(rule.pick(ring, call) == call.observed for call in wrong):
                return f"{every} reached {rule.text}"
    return ""


def _common_places(calls: Sequence[MappedCall], wrong: Sequence[MappedCall]) -> str:
    """Return the one endpoint at which all wrong calls were expected, or that all reached."""
    if len({call.expected for call in calls}) == 1:
        return ""
    missed = {call.expected for call in wrong}
    reached = {call.observed for call in wrong}
    said = [f"were expected at {address}" for address in missed if len(missed) == 1]
    said += [f"reached {address}" for address in reached if len(reached) == 1]
    is_avoided = len(missed) == 1 and not missed & {call.observed for call in calls}
    return " and ".join(said) + (f"; no call reached {missed.pop()}" if is_avoided else "")


def _together(having: Sequence[MappedCall], wrong: Sequence[MappedCall]) -> str:
    """Describe the calls with a trait: how many are right, and whether all reached one place."""
    reached = {call.observed for call in having}
    if len(reached) == 1 and len({call.expected for call in having}) > 1:
        return f"; all {len(having)} calls with it reached {reached.pop()}"
    right = len(having) - len(wrong)
    return f"; {right} right calls have it, too" if right else "; no right call has it"


def _chance(calls: int, having: int, wrong: int) -> float:
    """Return the probability that wrong calls drawn at random all have the trait."""
    return math.comb(having, wrong) / math.comb(calls, wrong)


def _other_searches() -> Iterator[Rule]:
    yield Rule(
        "the endpoint of the first entry whose hash is greater than the request's, not equal to it",
        _greater,
    )
    yield Rule("the endpoint of the entry before the expected entry", _before)
    yield Rule("the endpoint of the entry after the expected entry", _after)
    yield Rule("the endpoint of the entry nearest to the hash", _nearest)


def _before(ring: Ring, call: MappedCall) -> str:
    return _owner(ring, ring.index(call.hash) - 1)


def _after(ring: Ring, call: MappedCall) -> str:
    return _owner(ring, ring.index(call.hash) + 1)


def _nearest(ring: Ring, call: MappedCall) -> str:
    here = _position(ring, call)
    after = bisect_left(ring.positions, here)
    return _owner(
        ring,
        min(
            (after, after - 1),
            key=lambda index: min(
                (ring.positions[index % len(ring)] - here) % SPACE,
                (here - ring.positions[index % len(ring)]) % SPACE,
            ),
        ),
    )


def _greater(ring: Ring, call: MappedCall) -> str:
    index = bisect_right(ring.positions, _position(ring, call))
    return _owner(ring, index if ring.wraps else min(index, len(ring) - 1))


def _past_the_end(calls: Sequence[MappedCall], ring: Ring) -> str:
    """Return where calls went whose hash is greater than every entry's, if only they are wrong."""
    beyond = [call for call in calls if _is_beyond(ring, call)]
    if not beyond or any(not call.is_right for call in calls if not _is_beyond(ring, call)):
        return ""
    expected = "the first entry" if ring.wraps else "the last entry"
    places = {"second": 1, "last": -1, "second to last": -2, "first": 0}
    for name, index in places.items():
        where = _owner(ring, index)
        if all(call.observed == where for call in beyond):
            rest = len(calls) - len(beyond)
            others = f"; the other {rest} calls are right" if rest else ""
            return (
                f"all {len(beyond)} calls whose hash lies beyond the last entry reached the "
                f"endpoint of the {name} entry instead of {expected}{others}"
            )
    return ""


def _is_beyond(ring: Ring, call: MappedCall) -> bool:
    return _position(ring, call) > ring.positions[-1]


def _position(ring: Ring, call: MappedCall) -> int:
    return (call.hash + ring.shift) % SPACE


def _owner(ring: Ring, index: int) -> str:
    return ring.addresses[ring.owners[index % len(ring)]]


def _other_hashes(hashing: Hashing) -> Iterator[Rule]:
    """Yield ways of computing the request hash that differ from the text."""
    policies = hashing.policies
    headers = [policy for policy in policies if isinstance(policy, HeaderPolicy)]
    if len(headers) < len(policies):
        return  # the hash of a channel id is not known here
    rewriting = [policy for policy in headers if policy.regex is not None]
    if rewriting:
        plain = tuple(msgspec.structs.replace(each, regex=None) for each in headers)
        yield _by(hashing, "the header value as sent, without the rewrite", plain)
        literal = tuple(
            msgspec.structs.replace(each, substitution=each.substitution.replace("\\", "\\\\"))
            for each in headers
        )
        texts = " and ".join(f"'{policy.substitution}'" for policy in rewriting)
        yield _by(hashing, f"the value with {texts} inserted as literal text", literal)
        bare = tuple(
            msgspec.structs.replace(each, substitution=each.substitution.replace("\\", ""))
            for each in headers
        )
        texts = " and ".join(f"'{policy.substitution}'" for policy in bare if policy.regex)
        yield _by(hashing, f"the value with {texts} inserted, without backslashes", bare)
    for several, text in (
        ("first", "the first value of the header"),
        ("last", "the last value of the header"),
        ("sorted", "the sorted values, hashed one after the other"),
        ("joined", "the values joined by a comma"),
    ):
        changed = tuple(msgspec.structs.replace(each, several=several) for each in headers)
        yield _by(hashing, text, changed)
    if len(policies) > 1:
        yield Rule(_of("the first policy that has a result, alone"), _alone(hashing, 0))
        yield Rule(_of("the last policy that has a result, alone"), _alone(hashing, -1))
        yield _by(hashing, "all policies, combined in reverse order", policies[::-1])
        other: TerminalReading = "A42-2021" if hashing.terminal == "A42" else "A42"
        by_other = Hashing(policies=policies, terminal=other)
        yield _by(by_other, f"the policies, with `terminal` as {other} defines it", policies)


def _of(text: str) -> str:
    return f"the endpoint for the hash of {text}"


def _by(hashing: Hashing, text: str, policies: tuple[HashPolicy, ...]) -> Rule:
    def pick(ring: Ring, call: MappedCall) -> str | None:
        return _pick(ring, policies, call.call.metadata, hashing.terminal)

    return Rule(_of(text), pick)


def _alone(hashing: Hashing, index: int) -> Callable[[Ring, MappedCall], str | None]:
    def pick(ring: Ring, call: MappedCall) -> str | None:
        counted = contributing(hashing.policies, call.call.metadata, hashing.terminal)
        if not counted:
            return None
        policy = hashing.policies[counted[index]]
        return _pick(ring, (policy,), call.call.metadata, hashing.terminal)

    return pick


def _pick(
    ring: Ring, policies: tuple[HashPolicy, ...], metadata: Metadata, terminal: TerminalReading
) -> str | None:
    try:
        value = request_hash(policies, metadata, terminal=terminal)
    except ValueError:  # the changed rewrite is not defined for this value
        return None
    return None if value is None else ring.pick(value)


Trait = tuple[str, Callable[[MappedCall], bool]]


def _traits(ring: Ring, hashing: Hashing, failed: Sequence[str]) -> Iterator[Trait]:
    """Yield traits of calls, the most telling first."""
    if failed:
        yield (
            "a hash whose first endpoint on the ring has failed",
            lambda call: ring.pick(call.hash) in failed,
        )
    yield (
        "a hash beyond the last entry of the ring",
        lambda call: _is_beyond(ring, call),
    )
    headers = [policy for policy in hashing.policies if isinstance(policy, HeaderPolicy)]

    def values(call: MappedCall) -> tuple[str, ...]:
        return tuple(
            value for policy in headers for value in header_values(call.call.metadata, policy.name)
        )

    def is_rewritten(call: MappedCall) -> bool:
        return any(
            rewrite(value, policy.regex, policy.substitution) != value
            for policy in headers
            if policy.regex is not None
            for value in header_values(call.call.metadata, policy.name)
        )

    names = {policy.name.lower() for policy in headers}
    yield "a value that the rewrite changes", is_rewritten
    yield "a value that the rewrite does not change", lambda call: not is_rewritten(call)
    yield (
        "a hashed header with several values",
        lambda call: any(
            sum(key.lower() == name for key, _ in call.call.metadata) > 1 for name in names
        ),
    )
    yield "an empty value", lambda call: "" in values(call)
    yield (
        "a value with upper-case letters",
        lambda call: any(value != value.lower() for value in values(call)),
    )
    yield (
        "a value with a space at one end",
        lambda call: any(value != value.strip() for value in values(call)),
    )
    yield (
        "a value of 32 bytes or more",
        lambda call: any(len(value) >= _STRIPE for value in values(call)),
    )
    yield "a hash of 2^63 or more", lambda call: call.hash >= SPACE // 2
    yield "a hash below 2^63", lambda call: call.hash < SPACE // 2


_STRIPE: Final = 32
"""Bytes from which XXH64 takes its main loop: an error there spares shorter values."""
