"""Mutants of the clauses in channel_id.toml."""

import itertools
import random
from collections.abc import Sequence

from client_under_test.reference.editions.mutants import Mutant, for_good
from client_under_test.reference.hash_policy import (
    ChannelIdPolicy,
    HashPolicy,
    combine_hashes,
    draw_channel_id,
    hash_value,
)
from conformance.mutation.mutants.hash_policy.hash_policy import rotate_with_sign

ALL_BITS = 2**64 - 1


CHANNELS = itertools.count()


channel_id_of_the_request = Mutant(
    clause="A42-CHAN-01",
    broken="each request draws a new channel id",
    rules={"channel_hash": lambda _channel_id: random.getrandbits(64)},
)


channel_id_of_the_process = Mutant(
    clause="A42-CHAN-02",
    broken="all channels of a process have the same id",
    rules={"draw_channel_id": for_good(draw_channel_id)},
)


channels_counted = Mutant(
    clause="A42-CHAN-02",
    broken="channels are numbered from zero in every process",
    rules={"draw_channel_id": lambda _rng: hash_value(next(CHANNELS).to_bytes(8, "little"))},
    issue="https://github.com/grpc/grpc-java/pull/9453",
)


channel_id_is_an_address = Mutant(
    clause="A42-CHAN-02",
    broken="the channel's id is an address in memory, so it always finds the first entry",
    rules={"draw_channel_id": lambda _rng: id(object())},
)


channel_ids_uneven = Mutant(
    clause="A42-CHAN-03",
    broken="nine of ten channels have the same id",
    rules={"draw_channel_id": lambda rng: rng.choice([*9 * [0], rng.getrandbits(64)])},
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
        "hash_policies_of_route": lambda policies, matched: policies[matched] * (matched + 1),
    },
)


channel_id_gives_way = Mutant(
    clause="A42-CHAN-05",
    broken="the channel's id does not count if there are other policies",
    rules={
        "hash_policies_of_route": lambda policies, matched: (
            [policy for policy in policies[matched] if not isinstance(policy, ChannelIdPolicy)]
        )
    },
)


channel_id_alone = Mutant(
    clause="A42-CHAN-05",
    broken="other policies do not count if there is the channel's id",
    rules={
        "hash_policies_of_route": lambda policies, matched: (
            [policy for policy in policies[matched] if isinstance(policy, ChannelIdPolicy)]
        )
    },
)


rotation_loses_the_id = Mutant(
    clause="A42-CHAN-05",
    broken="the rotation extends the sign, as in grpc-java 1.85: half of all ids are lost",
    rules={"combine_hashes": rotate_with_sign},
)


header_left_out_if_negative = Mutant(
    clause="A42-CHAN-05",
    broken="a result that is negative as a signed number is left out next to the channel's id",
    rules={
        "combine_hashes": lambda gathered, result: (
            gathered if result >> 63 else combine_hashes(gathered, result)
        )
    },
)


negative_header_alone = Mutant(
    clause="A42-CHAN-05",
    broken="a result that is negative as a signed number replaces the channel's id",
    rules={
        "combine_hashes": lambda gathered, result: (
            result if result >> 63 else combine_hashes(gathered, result)
        )
    },
)


larger_of_header_and_id = Mutant(
    clause="A42-CHAN-05",
    broken="only the larger of the channel's id and another result counts",
    rules={"combine_hashes": max},
)


class DrawnByEachSecondUpdate:
    """The channel id changes with each second update of the routes."""

    def __init__(self) -> None:
        self._updates = 0

    def __call__(self, channel_id: int, rng: random.Random) -> int:
        """Return the channel id for the new routes."""
        self._updates += 1
        return channel_id if self._updates % 3 else rng.getrandbits(64)


channel_id_of_later_routes = Mutant(
    clause="A42-CHAN-04",
    broken="the second update of the routes draws a new channel id",
    rules={"channel_id_for_new_routes": DrawnByEachSecondUpdate()},
)


def from_the_channel_id(
    policies: Sequence[Sequence[HashPolicy]], matched: int
) -> Sequence[HashPolicy]:
    """Leave out the policies before the channel id."""
    listed = policies[matched]
    starts = [place for place, policy in enumerate(listed) if isinstance(policy, ChannelIdPolicy)]
    return listed[starts[-1] :] if starts else listed


channel_id_overwrites = Mutant(
    clause="A42-CHAN-05",
    broken="the channel's id replaces the results of earlier policies",
    rules={"hash_policies_of_route": from_the_channel_id},
)
