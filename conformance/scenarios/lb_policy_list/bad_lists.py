"""A52: malformed and very large lists, each followed by requests and a valid update."""

from collections.abc import Callable

import pytest

from conformance import timing
from conformance.judging.declaration import case, scenario
from conformance.scenarios.helpers.live_clusters import LiveCluster
from conformance.world import World
from conformance.xds_config.policy_bytes import (
    entry,
    nested,
    policies,
    round_robin,
    struct,
    text,
    unknown,
)
from conformance.xds_config.variants import TYPE, RawClusterVariant

NO_MESSAGE = b"\xff\xff"
"""Bytes that are no valid start of a message."""


NO_TEXT = f"{TYPE}/xdspec.".encode() + b"\xff\xfe\xc0"


THREE_MIB, FIVE_MIB = 3 * 1024 * 1024, 5 * 1024 * 1024


@scenario("A37-VALID-29", seconds=0.5)
@pytest.mark.parametrize(
    ("clause", "description", "body"),
    [
        case(
            "no-message",
            "A52-INPUT-01",
            "a RoundRobin whose bytes are no valid message",
            lambda: policies(round_robin(NO_MESSAGE)),
        ),
        case(
            "cut-off",
            "A52-INPUT-02",
            "a list that is cut off",
            lambda: policies(unknown(), round_robin())[:-20],
        ),
        case(
            "many",
            "A52-INPUT-03",
            "10,000 entries of an unknown type, then RoundRobin",
            lambda: policies(*[unknown()] * 10_000, round_robin()),
        ),
        case(
            "deep",
            "A52-INPUT-04",
            "a TypedStruct of round_robin with 10,000 nested lists",
            lambda: policies(struct("round_robin", nested(10_000))),
        ),
        case(
            "large",
            "A52-INPUT-05",
            "a TypedStruct of round_robin with a text of 3 MiB",
            lambda: policies(struct("round_robin", text(THREE_MIB))),
        ),
        case(
            "no-text",
            "A52-INPUT-06",
            "a type URL that is not UTF-8, then RoundRobin",
            lambda: policies(entry(NO_TEXT), round_robin()),
        ),
    ],
)
async def test_malformed(
    world: World, clause: str, description: str, body: Callable[[], bytes]
) -> None:
    """The client survives such a list, and uses the next valid update."""
    live = await LiveCluster.start(world, "EDS")
    variant = RawClusterVariant(clause, description, body())
    await live.report_choice(variant, used=False, within=timing.NO_SUCH_RESOURCE)


@scenario("A52-INPUT-07", "A37-VALID-29", seconds=3)
async def test_beyond_message_limit(world: World) -> None:
    """A Cluster is larger than the default limit of gRPC messages.

    Each new stream breaks at that message until an update replaces the Cluster.
    """
    live = await LiveCluster.start(world, "EDS")
    body = policies(struct("round_robin", text(FIVE_MIB)))
    description = "a TypedStruct of round_robin with a text of 5 MiB"
    await live.report_large_update(RawClusterVariant("A52-INPUT-07", description, body))
