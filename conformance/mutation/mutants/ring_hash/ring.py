"""Mutants of the clauses in ring.toml."""

import math
import time
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.configs import DEFAULT_MAXIMUM, DEFAULT_MINIMUM, RING_CAP
from client_under_test.reference.policies.rules.ring import (
    Sizes,
    Standing,
    capped_sizes,
    entries_for,
    entry_hash,
)
from client_under_test.reference.policies.rules.ring_config import LARGEST_RING
from client_under_test.reference.values import Endpoint

LOWER_32_BITS = 2**32 - 1


SIGN = 2**63


# The places of entries.

entries_not_sorted = Mutant(
    clause="A42-RING-01",
    broken="entries are not sorted by hash",
    rules={"sort_entries": list},
)


entries_of_32_bits = Mutant(
    clause="A42-RING-02",
    broken="entries are placed by the lower 32 bits of their hash",
    rules={"entry_hash": lambda key, number: entry_hash(key, number) & LOWER_32_BITS},
)


placed_as_in_java = Mutant(
    clause="A42-RING-03",
    broken="the key of an entry starts with a slash",
    rules={"entry_hash": lambda key, number: entry_hash(f"/{key}", number)},
    reports="/ip:port_i",
)


placed_as_nowhere = Mutant(
    clause="A42-RING-03",
    broken="the key of an entry ends with a number sign",
    rules={"entry_hash": lambda key, number: entry_hash(f"{key}#", number)},
    reports="none of the known",
)


numbered_from_one = Mutant(
    clause="A42-RING-03",
    broken="the entries of an endpoint are numbered from 1",
    rules={"entry_hash": lambda key, number: entry_hash(key, number + 1)},
    reports="none of the known",
)


one_place_for_each_endpoint = Mutant(
    clause="A42-RING-04",
    broken="all entries of an endpoint have the same hash",
    rules={"entry_hash": lambda key, _number: entry_hash(key, 0)},
    issue="https://github.com/grpc/grpc-go/issues/5452",
)


# The size.


def all_but_the_lightest(standing: tuple[Standing, ...]) -> tuple[Standing, ...]:
    """Return the endpoints that are heavier than the lightest."""
    least = min(endpoint.weight for endpoint in standing)
    return tuple(endpoint for endpoint in standing if endpoint.weight > least)


def key_of(standing: Standing) -> str:
    """Return the key that is hashed."""
    return standing.key


def lightest_has(
    entries: Callable[[float, Sizes], float],
) -> Callable[[Sequence[int], Sizes], float]:
    """Return a size rule, by the entries of the lightest endpoint."""

    def sized(weights: Sequence[int], sizes: Sizes) -> float:
        share = min(weights) / sum(weights)
        return min(max(1.0, entries(share, sizes)) / share, float(sizes.maximum))

    return sized


rounded_down = Mutant(
    clause="A42-RING-05",
    broken="the entries of the lightest endpoint are rounded down, below the minimum",
    rules={"entries_for": lightest_has(lambda share, sizes: math.floor(share * sizes.minimum))},
)


minimum_ignored = Mutant(
    clause="A42-RING-05",
    broken="the configured minimum is ignored: it is always 1,024",
    rules={
        "entries_for": lambda weights, sizes: entries_for(weights, replace(sizes, minimum=1024))
    },
)


exactly_the_minimum = Mutant(
    clause="A42-RING-06",
    broken="the ring has the minimum size, so the lightest endpoint has a fraction of an entry",
    rules={"entries_for": lightest_has(lambda share, sizes: max(1.0, share * sizes.minimum))},
)


lightest_without_entry = Mutant(
    clause="A42-RING-06",
    broken="the lightest endpoint has no entry if others are heavier",
    rules={"endpoints_with_entries": lambda standing: all_but_the_lightest(standing) or standing},
)


one_more_for_the_lightest = Mutant(
    clause="A42-RING-07",
    broken="the ring has the next size: the lightest endpoint has one entry more than it needs",
    rules={"entries_for": lightest_has(lambda share, sizes: math.ceil(share * sizes.minimum) + 1)},
)


power_of_two = Mutant(
    clause="A42-RING-07",
    broken="the size is rounded up to a power of two",
    rules={
        "entries_for": lambda weights, sizes: min(
            2.0 ** math.ceil(math.log2(entries_for(weights, sizes))), sizes.maximum
        )
    },
)


no_maximum = Mutant(
    clause="A42-RING-08",
    broken="the maximum does not limit the ring",
    rules={
        "entries_for": lambda weights, sizes: entries_for(weights, replace(sizes, maximum=2**23))
    },
)


weights_ignored = Mutant(
    clause="A42-RING-09",
    broken="all endpoints have the same number of entries",
    rules={
        "endpoints_with_entries": lambda standing: tuple(
            replace(endpoint, weight=1) for endpoint in standing
        )
    },
    issue="https://github.com/grpc/grpc-rust/pull/2695",
)


by_key = Mutant(
    clause="A42-RING-10",
    broken="entries are allotted in the order of the keys",
    rules={"endpoints_with_entries": lambda standing: tuple(sorted(standing, key=key_of))},
    reports="by key",
)


heaviest_first = Mutant(
    clause="A42-RING-10",
    broken="entries are allotted from the heaviest endpoint to the lightest",
    rules={
        "endpoints_with_entries": lambda standing: tuple(
            sorted(standing, key=lambda endpoint: (endpoint.weight, endpoint.key), reverse=True)
        )
    },
    reports="none of the known",
)


few_entries_by_key = Mutant(
    clause="A42-RING-11",
    broken="entries for too many endpoints are allotted in the order of the keys",
    rules={"endpoints_with_entries": lambda standing: tuple(sorted(standing, key=key_of))},
    reports="every other one by key",
)


an_entry_for_each = Mutant(
    clause="A42-RING-11",
    broken="each endpoint has an entry, even beyond the maximum",
    rules={"entries_for": lambda weights, sizes: max(len(weights), entries_for(weights, sizes))},
    reports="each has one, beyond the maximum",
)


# The entry of a hash.


def in_signed_order(hashes: Sequence[int], request_hash: int) -> int:
    """Find an entry in signed order; past the last entry it is the last."""
    below = bisect_left(hashes, SIGN)
    order: list[int] = [*range(below, len(hashes)), *range(below)]
    found = bisect_left([hashes[index] ^ SIGN for index in order], request_hash ^ SIGN)
    return order[min(found, len(order) - 1)]


hash_modulo_size = Mutant(
    clause="A42-RING-12",
    broken="the hash modulo the number of entries is the index of the entry",
    rules={"find_entry": lambda hashes, request_hash: request_hash % len(hashes)},
)


greater_is_looked_for = Mutant(
    clause="A42-RING-12",
    broken="a hash belongs to the first entry greater than it, even if one is equal",
    rules={
        "find_entry": lambda hashes, request_hash: bisect_right(hashes, request_hash) % len(hashes)
    },
)


one_entry_further = Mutant(
    clause="A42-RING-12",
    broken="a hash belongs to the second entry at or after it",
    rules={
        "find_entry": lambda hashes, request_hash: (
            (bisect_left(hashes, request_hash) + 1) % len(hashes)
        )
    },
)


last_before = Mutant(
    clause="A42-RING-13",
    broken="a hash belongs to the last entry before it",
    rules={"find_entry": lambda hashes, request_hash: bisect_right(hashes, request_hash) - 1},
)


def whichever_is_nearer(hashes: Sequence[int], request_hash: int) -> int:
    """Find the entry at the least distance, before or after the hash."""
    behind = bisect_left(hashes, request_hash)
    return min(
        (behind % len(hashes), behind - 1),
        key=lambda index: min(
            (hashes[index] - request_hash) % 2**64, (request_hash - hashes[index]) % 2**64
        ),
    )


nearer_of_the_two = Mutant(
    clause="A42-RING-13",
    broken="a hash belongs to the entry at the least distance, before or after it",
    rules={"find_entry": whichever_is_nearer},
)


signed_comparison = Mutant(
    clause="A42-RING-14",
    broken="hashes are compared as signed numbers, and wrap to the last entry",
    rules={"find_entry": in_signed_order},
    reports="the last entry, in signed order",
    issue="https://github.com/grpc/grpc-java/pull/13054",
)


no_wrap_around = Mutant(
    clause="A42-RING-14",
    broken="a hash above all entries belongs to the last of them",
    rules={
        "find_entry": lambda hashes, request_hash: min(
            bisect_left(hashes, request_hash), len(hashes) - 1
        )
    },
    reports="the last entry",
    issue="https://github.com/grpc/grpc-java/pull/13054",
)


# Changes of the list.


def named_by_index(standing: tuple[Standing, ...]) -> tuple[Standing, ...]:
    """Use the index in the list as the key."""
    return tuple(replace(endpoint, key=f"{index}") for index, endpoint in enumerate(standing))


order_matters = Mutant(
    clause="A42-RING-15",
    broken="keys of entries use the index of their endpoint in the list",
    rules={"endpoints_with_entries": named_by_index},
    issue="https://github.com/envoyproxy/envoy/pull/13656",
)


class LateDisorder:
    """Requests go one entry further from 0.1 s after a reordered list."""

    def __init__(self) -> None:
        self._order: tuple[str, ...] = ()
        self._changed = math.inf

    def endpoints_with_entries(self, standing: tuple[Standing, ...]) -> tuple[Standing, ...]:
        """Return the endpoints unchanged, and note when their order changes."""
        order = tuple(endpoint.identity for endpoint in standing)
        if self._order and order != self._order:
            self._changed = min(self._changed, time.monotonic())
        self._order = order
        return standing

    def find_entry(self, hashes: Sequence[int], request_hash: int) -> int:
        """Return the correct entry, and later the one after it."""
        late = time.monotonic() > self._changed + 0.1
        return (bisect_left(hashes, request_hash) + late) % len(hashes)


late = LateDisorder()


order_matters_late = Mutant(
    clause="A42-RING-15",
    broken="a while after the endpoints were reordered, requests go one entry further",
    rules={"endpoints_with_entries": late.endpoints_with_entries, "find_entry": late.find_entry},
)


def of_address(endpoints: Iterable[Endpoint]) -> dict[tuple[str, ...], Endpoint]:
    """Return the endpoints by their addresses."""
    return {endpoint.addresses: endpoint for endpoint in endpoints}


def without_those_added(before: Sequence[Endpoint], now: Sequence[Endpoint]) -> Sequence[Endpoint]:
    """Return the endpoints that were listed before, or all if there are none."""
    return [endpoint for endpoint in now if endpoint.addresses in of_address(before)] or now


def named_by_rank(standing: tuple[Standing, ...], *, descending: bool) -> tuple[Standing, ...]:
    """Use the index in the order of the keys as the key."""
    keys = sorted((endpoint.key for endpoint in standing), reverse=descending)
    return tuple(replace(endpoint, key=f"{keys.index(endpoint.key)}") for endpoint in standing)


removal_moves_those_that_sort_behind = Mutant(
    clause="A42-RING-16",
    broken="keys of entries use the index of their endpoint in the sorted addresses",
    rules={"endpoints_with_entries": lambda standing: named_by_rank(standing, descending=False)},
)


removal_moves_those_that_sort_before = Mutant(
    clause="A42-RING-16",
    broken="keys of entries use the index of their endpoint in the reversely sorted addresses",
    rules={"endpoints_with_entries": lambda standing: named_by_rank(standing, descending=True)},
)


removal_moves_those_behind = Mutant(
    clause="A42-RING-16",
    broken="keys of entries use the index of their endpoint in the list",
    rules={"endpoints_with_entries": named_by_index},
    issue="https://github.com/envoyproxy/envoy/pull/13656",
)


numbered_over_the_ring = Mutant(
    clause="A42-RING-16",
    broken="entries are numbered over the whole ring, not for each endpoint",
    rules={"entry_number": lambda _own, on_the_ring: on_the_ring},
    issue="https://github.com/grpc/grpc-go/pull/6066",
)


removal_moves_nothing = Mutant(
    clause="A42-RING-16",
    broken="an endpoint that is no longer listed keeps its entries, and so its requests",
    rules={"ring_endpoints": lambda before, now: (*of_address((*before, *now)).values(),)},
)


addition_moves_nothing = Mutant(
    clause="A42-RING-17",
    broken="an endpoint that joins a list has no entries, and so no requests",
    rules={"ring_endpoints": without_those_added},
)


addition_moves_those_behind = Mutant(
    clause="A42-RING-17",
    broken="entries are numbered over the whole ring, not for each endpoint",
    rules={"entry_number": lambda _own, on_the_ring: on_the_ring},
    issue="https://github.com/grpc/grpc-go/pull/6066",
)


addition_moves_those_that_sort_behind = Mutant(
    clause="A42-RING-17",
    broken="keys of entries use the index of their endpoint in the sorted addresses",
    rules={"endpoints_with_entries": lambda standing: named_by_rank(standing, descending=False)},
)


addition_moves_those_that_sort_before = Mutant(
    clause="A42-RING-17",
    broken="keys of entries use the index of their endpoint in the reversely sorted addresses",
    rules={"endpoints_with_entries": lambda standing: named_by_rank(standing, descending=True)},
)


addition_moves_all = Mutant(
    clause="A42-RING-17",
    broken="the number of endpoints is part of the key of every entry",
    rules={
        "endpoints_with_entries": lambda standing: tuple(
            replace(endpoint, key=f"{endpoint.key}/{len(standing)}") for endpoint in standing
        )
    },
)


def all_ever_listed(since: int) -> Callable[[Sequence[Endpoint], Sequence[Endpoint]], object]:
    """Return all endpoints ever listed, from update number `since` on."""
    lists: list[Sequence[Endpoint]] = []

    def listed(_before: Sequence[Endpoint], now: Sequence[Endpoint]) -> Sequence[Endpoint]:
        lists.append(now)
        if len(lists) < since:
            return now
        return [*of_address(endpoint for endpoints in lists for endpoint in endpoints).values()]

    return listed


old_ring_kept = Mutant(
    clause="A42-RING-18",
    broken="the ring of the first list is used forever",
    rules={"ring_endpoints": lambda before, now: before or now},
    issue="https://github.com/envoyproxy/envoy/issues/45212",
)


added_endpoints_ignored = Mutant(
    clause="A42-RING-18",
    broken="an endpoint that joins a list has no entries",
    rules={"ring_endpoints": without_those_added},
    issue="https://github.com/envoyproxy/envoy/issues/45212",
)


removed_endpoints_stay = Mutant(
    clause="A42-RING-18",
    broken="an endpoint that is no longer listed keeps its entries",
    rules={
        "ring_endpoints": lambda before, now: (*of_address((*before, *now)).values(),),
    },
)


removed_endpoints_stay_in_the_end = Mutant(
    clause="A42-RING-18",
    broken="from the fourth update on an endpoint keeps its entries when it is no longer listed",
    rules={"ring_endpoints": all_ever_listed(since=4)},
)


def later_entry_hash(first: int) -> Callable[[str, int], int]:
    """Use other keys from ring number `first` of an endpoint on."""
    rings: dict[str, int] = {}

    def hashed(key: str, number: int) -> int:
        rings[key] = rings.get(key, 0) + (number == 0)
        return entry_hash(key if rings[key] < first else f"/{key}", number)

    return hashed


named_anew = Mutant(
    clause="A42-RING-18",
    broken="the entries of an endpoint have other keys on its second ring",
    rules={"entry_hash": later_entry_hash(first=2)},
)


old_weights_kept = Mutant(
    clause="A42-RING-19",
    broken="a list in which only weights changed does not build a new ring",
    rules={
        "ring_endpoints": lambda before, now: (
            before if of_address(before).keys() == of_address(now).keys() else now
        )
    },
)


rejected_list_takes_the_old_one_along = Mutant(
    clause="A42-RING-20",
    broken="a list that is rejected for a repeated address leaves the cluster without endpoints",
    xds={"rejection_removes": lambda _noun, _features: True},
)


last_weight_counts = Mutant(
    clause="A42-RING-20",
    broken="an address that is listed twice counts with its last weight only",
    rules={"repeated_weight": lambda _before, weight: weight},
    xds={"address_may_repeat": True},
)


no_cap = Mutant(
    clause="A42-CONF-01",
    broken="there is no local cap",
    rules={"capped_sizes": lambda sizes, _cap: sizes},
    issue="https://github.com/grpc/grpc-go/pull/5801",
)


minimum_above_the_cap = Mutant(
    clause="A42-CONF-01",
    broken="the cap applies to the maximum only, and a larger minimum overrides it",
    rules={
        "capped_sizes": lambda sizes, cap: Sizes(
            sizes.minimum, max(sizes.minimum, min(sizes.maximum, cap))
        )
    },
)


maximum_above_the_cap = Mutant(
    clause="A42-CONF-02",
    broken="the cap applies to the minimum only",
    rules={"capped_sizes": lambda sizes, cap: Sizes(min(sizes.minimum, cap), sizes.maximum)},
)


option_lifts_the_cap = Mutant(
    clause="A42-CONF-03",
    broken="with the option there is no cap, whatever its value",
    rules={
        "capped_sizes": lambda sizes, cap: sizes if cap > RING_CAP else capped_sizes(sizes, cap)
    },
)


no_option = Mutant(
    clause="A42-CONF-03",
    broken="the option is ignored: the cap is always 4,096",
    rules={"capped_sizes": lambda sizes, _cap: capped_sizes(sizes, RING_CAP)},
    issue="https://github.com/grpc/grpc-go/pull/5884",
)


maximum_filled_in_small = Mutant(
    clause="A42-CONF-04",
    broken="an unset maximum of a Cluster means 4,096, whatever the cap",
    xds={
        "ring_sizes": lambda config: (
            config.minimum_ring_size.value or DEFAULT_MINIMUM,
            config.maximum_ring_size.value or RING_CAP,
        )
    },
    issue="https://github.com/grpc/grpc-rust/pull/2701",
)


cap_of_16384 = Mutant(
    clause="A42-CONF-04",
    broken="the default cap is 16,384 if a Cluster sets no maximum",
    rules={
        "capped_sizes": lambda sizes, cap: capped_sizes(
            sizes, 16384 if sizes.maximum == LARGEST_RING else cap
        )
    },
)


config_without_minimum = Mutant(
    clause="A42-CONF-06",
    broken="an unset minimum of the policy's own config means one",
    xds={"ring_defaults": (1, DEFAULT_MAXIMUM)},
)


def default_of_an_empty_config(sizes: Sizes, cap: int) -> Sizes:
    """Take a minimum of 1,024 for 1, unless the maximum is a default, too."""
    given = sizes.maximum not in {DEFAULT_MAXIMUM, LARGEST_RING}
    unset = sizes.minimum == DEFAULT_MINIMUM and given
    return capped_sizes(Sizes(1, sizes.maximum) if unset else sizes, cap)


config_with_a_maximum_alone = Mutant(
    clause="A42-CONF-06",
    broken="an unset minimum of the policy's own config means 1 if there is a maximum",
    rules={"capped_sizes": default_of_an_empty_config},
)


config_without_maximum = Mutant(
    clause="A42-CONF-07",
    broken="an unset maximum of the policy's own config means 8M, as in the xDS API",
    xds={"ring_defaults": (DEFAULT_MINIMUM, LARGEST_RING)},
)


config_without_maximum_ends_at_1024 = Mutant(
    clause="A42-CONF-07",
    broken="an unset maximum of the policy's own config means 1,024",
    xds={"ring_defaults": (DEFAULT_MINIMUM, DEFAULT_MINIMUM)},
)


cap_only_raised = Mutant(
    clause="A42-CONF-05",
    broken="the option can raise the cap but not lower it",
    rules={"capped_sizes": lambda sizes, cap: capped_sizes(sizes, max(cap, RING_CAP))},
)


lowered_below_the_minimum = Mutant(
    clause="A42-CONF-05",
    broken="a cap below the minimum does not lower the minimum",
    rules={
        "capped_sizes": lambda sizes, cap: Sizes(
            sizes.minimum, max(sizes.minimum, min(sizes.maximum, cap))
        )
    },
)


maximum_of_a_power_of_two = Mutant(
    clause="A42-RING-08",
    broken="a maximum is lowered to a power of two",
    rules={
        "entries_for": lambda weights, sizes: entries_for(
            weights, replace(sizes, maximum=1 << sizes.maximum.bit_length() - 1)
        )
    },
)


weights_of_a_million_at_most = Mutant(
    clause="A42-RING-09",
    broken="a weight beyond 1,000,000 counts as 1,000,000",
    rules={
        "endpoints_with_entries": lambda standing: tuple(
            replace(endpoint, weight=min(endpoint.weight, 1_000_000)) for endpoint in standing
        )
    },
    variant="seed",
)


def weights_by_index(before: Sequence[Endpoint], now: Sequence[Endpoint]) -> Sequence[Endpoint]:
    """Give each endpoint the weight that was listed at its index before, if none is new."""
    if of_address(before).keys() != of_address(now).keys():
        return now
    return [replace(each, weight=old.weight) for old, each in zip(before, now, strict=True)]


weights_stay_in_their_order = Mutant(
    clause="A42-RING-15",
    broken="when endpoints are reordered, their weights stay in the old order",
    rules={"ring_endpoints": weights_by_index},
)


def known_by(what: Callable[[Sequence[Endpoint]], object]) -> Any:
    """Keep the list before unless its endpoints or `what` change."""

    def listed(before: Sequence[Endpoint], now: Sequence[Endpoint]) -> Sequence[Endpoint]:
        same = of_address(before).keys() == of_address(now).keys() and what(before) == what(now)
        return before if same else now

    return listed


same_total_is_no_change = Mutant(
    clause="A42-RING-19",
    broken="a list in which only weights changed, but not their sum, does not build a new ring",
    rules={"ring_endpoints": known_by(lambda listed: sum(endpoint.weight for endpoint in listed))},
    variant="seed",
)


def shares_within_localities(listed: Sequence[Endpoint]) -> object:
    """Return the shares of endpoints within their localities, whatever those weigh."""
    totals: Counter[object] = Counter()
    for endpoint in listed:
        totals[endpoint.locality] += endpoint.weight
    return {each.addresses: round(each.weight / totals[each.locality], 6) for each in listed}


locality_weights_are_no_change = Mutant(
    clause="A42-RING-19",
    broken="a list in which only weights of localities changed does not build a new ring",
    rules={"ring_endpoints": known_by(shares_within_localities)},
)


lowered_for_the_minimum_alone = Mutant(
    clause="A42-CONF-05",
    broken="a lowered cap does not lower the maximum",
    rules={"capped_sizes": lambda sizes, cap: Sizes(min(sizes.minimum, cap), sizes.maximum)},
)
