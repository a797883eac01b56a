"""A52, xDS LB Policy Registry: the policy of a list that a client uses, and invalid lists."""

from collections.abc import Sequence
from typing import Any

import pytest

from conformance.judging.declaration import scenario
from conformance.scenarios.helpers.live_clusters import LiveCluster
from conformance.scenarios.helpers.live_policies import LivePolicy
from conformance.world import World
from conformance.xds_config.policies import Policy, RingHash, RoundRobin
from conformance.xds_config.policy_lists import (
    NO_CONFIG,
    NO_EXTENSION,
    RING_HASH,
    ROUND_ROBIN,
    WRR_LOCALITY,
    entry,
    in_localities,
    policies,
    ring_hash,
    round_robin,
    struct,
    unknown,
)
from conformance.xds_config.variants import TYPE, ResourceVariant, given_bytes

NO_MESSAGE = r"\377\377"
"""Bytes that are no valid start of a message."""


MURMUR = ring_hash(function="hash_function: MURMUR_HASH_2")


GARBAGE = entry(given_bytes(f"{TYPE}/{RING_HASH}", NO_MESSAGE))


BAD = (MURMUR, GARBAGE)


NO_LOCALITIES = entry(given_bytes(f"{TYPE}/{WRR_LOCALITY}", NO_MESSAGE))


RING, TURNS = ring_hash(), round_robin()


UNKNOWN = unknown()


def below_two(*entries: str) -> str:
    """Return a WrrLocality within a WrrLocality, with these entries."""
    return in_localities(in_localities(*entries))


NOBODYS = struct("xdspec.NobodyHasThisPolicy", {})


NAMED_AS_A_MESSAGE = struct(RING_HASH, {})
"""A TypedStruct with a name that is no policy of the client's registry."""


NAMED_AS_IN_CONFIGS = entry(given_bytes(f"{TYPE}/round_robin"))
"""An entry whose type is neither TypedStruct nor any other message."""


NAMES_ALONE = tuple(
    entry(NO_CONFIG, name=name)
    for name in ("round_robin", "envoy.load_balancing_policies.ring_hash")
)
"""Entries that have the name of a policy, and no config."""


RANDOM, MAGLEV = (
    entry(given_bytes(f"{TYPE}/envoy.extensions.load_balancing_policies.{name}"))
    for name in ("random.v3.Random", "maglev.v3.Maglev")
)
"""Policies of the xDS API that gRPC does not support."""


BAD_STRUCT = struct("ring_hash_experimental", {"minRingSize": "many"})


NEARLY_TURNS = tuple(
    entry(given_bytes(f"{TYPE}/{name}"))
    for name in (
        f"{ROUND_ROBIN}2",
        ROUND_ROBIN.lower(),
        ROUND_ROBIN.removesuffix("n"),
        f"xdspec.{ROUND_ROBIN.rpartition('.')[2]}",
    )
)
"""Entries whose types have nearly the name of RoundRobin, or the end of its name."""


NOTHING_KNOWN = in_localities(UNKNOWN, UNKNOWN)


NO_LIST = (in_localities(given=False), in_localities())


AS_RING, IN_TURN = RingHash(), RoundRobin()


# The entries of a list, and the policy that they select: in each row another than before.
USED: Sequence[tuple[str, Policy, Sequence[str]]] = (
    ("A52-LIST-01", AS_RING, (RING, TURNS)),
    ("A52-LIST-01", IN_TURN, (TURNS, RING)),
    ("A52-LIST-02", AS_RING, (UNKNOWN, RING)),
    ("A52-LIST-02", IN_TURN, (UNKNOWN, UNKNOWN, UNKNOWN, TURNS, RING)),
    ("A52-LIST-07", AS_RING, (RING, MURMUR)),
    ("A52-LIST-02", IN_TURN, (in_localities(UNKNOWN, TURNS, RING), RING)),
    ("A52-LIST-02", AS_RING, (NAMED_AS_IN_CONFIGS, RING, TURNS)),
    ("A52-LIST-02", IN_TURN, (NOBODYS, NAMED_AS_A_MESSAGE, TURNS, RING)),
    ("A52-LIST-07", AS_RING, (RING, GARBAGE, NO_EXTENSION, entry(NO_CONFIG))),
    ("A52-LIST-07", IN_TURN, (TURNS, NOTHING_KNOWN, *NO_LIST)),
    ("A52-LIST-11", AS_RING, (ring_hash(name="round_robin"), TURNS)),
    ("A52-LIST-11", IN_TURN, (round_robin(name="envoy.load_balancing_policies.ring_hash"), RING)),
    ("A52-LIST-11", AS_RING, (ring_hash(name=""), TURNS)),
    ("A52-LIST-07", IN_TURN, (TURNS, *(MURMUR,) * 100)),
    ("A52-LIST-02", AS_RING, (*NEARLY_TURNS, RING, TURNS)),
    ("A52-LIST-07", IN_TURN, (in_localities(TURNS, MURMUR, GARBAGE), BAD_STRUCT)),
    ("A52-LIST-02", AS_RING, (RANDOM, NOBODYS, RING, TURNS)),
    ("A52-LIST-02", IN_TURN, (MAGLEV, TURNS, RING)),
)


@scenario(*dict.fromkeys(clause for clause, *_ in USED), seconds=2)
async def test_used_policy(world: World) -> None:
    """The client uses the first supported policy of the list, and ignores the entries after it."""
    live = await LivePolicy.start(world)
    for clause, as_if, entries in USED:
        await live.check_accepted(ResourceVariant(clause, policies(*entries)), as_if)


SIZES = tuple(
    {field: value}
    for field in ("minRingSize", "maxRingSize")
    for value in ("many", {"a": 1}, [1], True, -1, 1500.5)
)
"""Configs of ring_hash_experimental whose size is no whole number, or is negative."""


REFUSED = (
    *(
        ResourceVariant("A52-LIST-03", policies(*several))
        for several in ((UNKNOWN,), (UNKNOWN,) * 5, (NOBODYS,))
    ),
    *(ResourceVariant("A52-LIST-04", policies(policy)) for policy in BAD),
    *(ResourceVariant("A52-LIST-05", policies(policy, TURNS)) for policy in BAD),
    *(
        ResourceVariant("A52-LIST-06", policies(*entries))
        for entries in (
            (NOTHING_KNOWN,),
            (NOTHING_KNOWN, TURNS),
            (in_localities(NOTHING_KNOWN, TURNS),),
        )
    ),
    ResourceVariant("A52-LIST-08", policies()),
    *(
        ResourceVariant("A52-LIST-09", policies(place))
        for policy in (NO_EXTENSION, entry(NO_CONFIG), *NAMES_ALONE)
        for place in (policy, in_localities(policy))
    ),
    *(
        ResourceVariant("A52-LIST-12", policies(*entries))
        for policy in NO_LIST
        for entries in (
            (policy,),
            (policy, TURNS),
            (in_localities(policy, TURNS),),
            (UNKNOWN, policy, TURNS),
        )
    ),
    *(
        ResourceVariant("A52-LIST-13", policies(struct("ring_hash_experimental", sizes)))
        for sizes in SIZES
    ),
    *(
        ResourceVariant(
            "A52-LIST-13", policies(in_localities(struct("ring_hash_experimental", sizes)), TURNS)
        )
        for sizes in SIZES[::4]
    ),
)


BELOW: Sequence[tuple[str, ...]] = (
    *((place,) for policy in BAD for place in (in_localities(policy), below_two(policy))),
    *((UNKNOWN, policy) for policy in BAD),
    *((in_localities(UNKNOWN, policy),) for policy in BAD),
    (NO_LOCALITIES,),
    (in_localities(NO_LOCALITIES),),
)
"""Lists in which the first supported policy cannot be converted: after unknown ones, and below."""


BELOW_AND_MORE: Sequence[tuple[str, ...]] = (
    *((in_localities(policy, TURNS),) for policy in BAD),
    *((in_localities(policy), TURNS) for policy in BAD),
    (UNKNOWN, MURMUR, TURNS),
    (below_two(MURMUR, TURNS),),
    (in_localities(in_localities(MURMUR), TURNS),),
    (NO_LOCALITIES, TURNS),
)
"""Lists as in BELOW, with a valid policy after the bad one: in its own list, or in an outer one."""


REFUSED_BELOW = (
    *(ResourceVariant("A52-LIST-04", policies(*entries)) for entries in BELOW),
    *(ResourceVariant("A52-LIST-05", policies(*entries)) for entries in BELOW_AND_MORE),
)


def claims(odds: Sequence[ResourceVariant]) -> Any:
    """Return the clauses of a table, each once."""
    return tuple(dict.fromkeys(variant.clause for variant in odds))


@scenario(*claims(REFUSED), "A37-VALID-29", "A46-NACK-03", seconds=2)
async def test_rejected_lists(world: World) -> None:
    """The client rejects a list without a supported policy, or with one that it cannot convert."""
    live = await LiveCluster.start(world, "EDS")
    await live.check_all_rejected(REFUSED)


@scenario(*claims(REFUSED_BELOW), "A37-VALID-29", "A46-NACK-03", seconds=2)
async def test_rejected_nested_lists(world: World) -> None:
    """The client rejects a policy that it cannot convert in any list, and after unknown entries."""
    live = await LiveCluster.start(world, "EDS")
    await live.check_all_rejected(REFUSED_BELOW)


@scenario("A52-LIST-10", "A37-VALID-29")
@pytest.mark.parametrize(
    "first",
    [
        pytest.param(NO_EXTENSION, id="no-extension"),
        pytest.param(entry(NO_CONFIG), id="no-config"),
    ],
)
async def test_entry_without_a_config(world: World, first: str) -> None:
    """An entry without typed_extension_config or typed_config is skipped, or is an error."""
    live = await LiveCluster.start(world, "EDS")
    await live.report_choice(
        ResourceVariant("A52-LIST-10", policies(first, TURNS)), "passed over", used=True
    )
