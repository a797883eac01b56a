"""Mutants of the clauses in drops.toml."""

from collections.abc import Callable, Sequence
from itertools import takewhile
from random import Random
from typing import Any

from msgspec.structs import replace

from client_under_test.reference.clusters.aggregates import cluster_impl
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.policies.configs import ClusterImplConfig, PickFirstConfig
from client_under_test.reference.policies.interface import Drop, Fail, PickArgs, PickResult, Queue
from client_under_test.reference.policies.rules.admission import (
    DropCategory,
    drop_category,
    status_of_drop,
)
from client_under_test.reference.values import Status
from client_under_test.reference.xds.rules import drop_share
from conformance.mutation.mutants.trees import has_localities, nothing_behind, of_leaves

MILLION = 1_000_000


NEARLY_ALL = 990_000


def by_the_sum(drops: Sequence[DropCategory], random: Random) -> str | None:
    """Make one random decision for all categories, with their shares added up."""
    drawn = random.randrange(MILLION)
    for drop in drops:
        if drawn < drop.per_million:
            return drop.category
        drawn -= drop.per_million
    return None


def kept_instead(drops: Sequence[DropCategory], random: Random) -> str | None:
    """Treat the share as the share of requests to keep."""
    return drop_category(
        [replace(drop, per_million=MILLION - drop.per_million) for drop in drops], random
    )


def before_a_zero(drops: Sequence[DropCategory], random: Random) -> str | None:
    """Apply the categories before the first with a share of zero."""
    return drop_category([*takewhile(lambda drop: drop.per_million, drops)], random)


def read_once() -> Any:
    """Keep the first drops of a cluster."""
    first: dict[str, Any] = {}

    def broken(*arguments: Any) -> ClusterImplConfig:
        config = cluster_impl(*arguments)
        return replace(config, drops=first.setdefault(config.cluster, config.drops))

    return broken


def known_to_new_pickers() -> Any:
    """Keep the first drops of a cluster with pick_first, whose picker stays."""
    keep = read_once()
    return lambda aggregate, leaf, *others: (
        keep if isinstance(leaf.policy, PickFirstConfig) else cluster_impl
    )(aggregate, leaf, *others)


def those_that_stay() -> Any:
    """Keep the drops of a cluster until an update has others."""
    known: dict[str, Any] = {}

    def broken(*arguments: Any) -> ClusterImplConfig:
        config = cluster_impl(*arguments)
        known[config.cluster] = config.drops or known.get(config.cluster, ())
        return replace(config, drops=known[config.cluster])

    return broken


def waits_for_drops(result: PickResult) -> PickResult:
    """Queue a wait_for_ready request instead of dropping it."""
    return Queue() if isinstance(result, Fail | Drop) else result


kept = Mutant(
    clause="A27-DROP-01",
    broken="the share is that of the requests that are kept",
    rules={"drop_category": kept_instead},
)


internal_error = Mutant(
    clause="A27-DROP-02",
    broken="a dropped request ends with INTERNAL",
    rules={
        "status_of_drop": lambda category: (
            Status("INTERNAL", "dropped") if category else status_of_drop(category)
        )
    },
)


all_is_nothing = Mutant(
    clause="A27-DROP-03",
    broken="a share of 100 percent is treated as zero",
    xds={"drop_share": lambda numerator, of: (drop_share(numerator, of) or 0) % MILLION},
)


one_in_a_hundred_served = Mutant(
    clause="A27-DROP-03",
    broken="no more than 99 percent of the requests are dropped",
    xds={"drop_share": lambda numerator, of: min(drop_share(numerator, of) or 0, NEARLY_ALL)},
)


two_categories_at_most = Mutant(
    clause="A27-DROP-08",
    broken="categories after the second drop nothing",
    rules={"drop_category": lambda drops, random: drop_category(drops[:2], random)},
)


zero_ends_the_list = Mutant(
    clause="A27-DROP-08",
    broken="categories after one with a share of zero drop nothing",
    rules={"drop_category": before_a_zero},
)


nothing_is_all = Mutant(
    clause="A27-DROP-04",
    broken="a share of zero is treated as unset, which means all",
    xds={"drop_share": lambda numerator, of: drop_share(numerator, of) or MILLION},
)


zero_of_others_is_all = Mutant(
    clause="A27-DROP-04",
    broken="a share of zero is treated as all, unless its denominator is HUNDRED",
    xds={
        "drop_share": lambda numerator, of: (
            drop_share(numerator, of) or (0 if of == 100 else MILLION)  # noqa: PLR2004
        )
    },
)


hundred_as_ten_thousand = Mutant(
    clause="A27-DROP-05",
    broken="HUNDRED is read as TEN_THOUSAND",
    xds={"drop_share": lambda numerator, of: drop_share(numerator, max(of, 10_000))},
)


ten_thousand_as_hundred = Mutant(
    clause="A27-DROP-06",
    broken="TEN_THOUSAND is read as HUNDRED",
    xds={"drop_share": lambda numerator, of: drop_share(numerator, 100 if of < MILLION else of)},
)


million_as_ten_thousand = Mutant(
    clause="A27-DROP-07",
    broken="MILLION is read as TEN_THOUSAND",
    xds={"drop_share": lambda numerator, of: drop_share(numerator, min(of, 10_000))},
)


shares_added_up = Mutant(
    clause="A27-DROP-08",
    broken="the shares of all categories are added up, with one random decision",
    rules={"drop_category": by_the_sum},
)


first_category_alone = Mutant(
    clause="A27-DROP-08",
    broken="only the first category drops requests",
    rules={"drop_category": lambda drops, random: drop_category(drops[:1], random)},
)


last_category_first = Mutant(
    clause="A27-DROP-08",
    broken="categories apply from the last to the first",
    rules={"drop_category": lambda drops, random: drop_category(drops[::-1], random)},
)


drops_read_once = Mutant(
    clause="A27-DROP-09",
    broken="the drops of a cluster are read once",
    rules={"cluster_impl": read_once()},
)


drops_of_new_pickers = Mutant(
    clause="A27-DROP-09",
    broken="new drops apply to requests once the policy has a new picker, as pick_first has not",
    rules={"cluster_impl": known_to_new_pickers()},
)


drops_never_taken_away = Mutant(
    clause="A27-DROP-09",
    broken="a cluster without drops keeps those that it had",
    rules={"cluster_impl": those_that_stay()},
)


more_than_all_refused = Mutant(
    clause="A27-DROP-10",
    broken="a share above 100 percent is rejected",
    xds={"drop_share": lambda numerator, of: None if numerator > of else drop_share(numerator, of)},
    reports="refused",
)


nothing_behind_drops = Mutant(
    clause="A27-DROP-11",
    broken="a cluster that drops everything is in use, though it has no localities",
    rules={
        "policy_tree": of_leaves(
            nothing_behind(
                lambda assignment: bool(assignment.drops) and not has_localities(assignment)
            )
        )
    },
    reports="fails",
)


def at_the_first_pick() -> Callable[[PickArgs], bool]:
    """Decide about dropping each request once."""
    drawn: list[PickArgs] = []

    def is_drawn_for(args: PickArgs) -> bool:
        is_new = all(earlier is not args for earlier in drawn)
        drawn.append(args)
        return is_new

    return is_drawn_for


drawn_once = Mutant(
    clause="A27-DROP-12",
    broken="a drop decision for a waiting request is made once",
    rules={"draws_drop": at_the_first_pick()},
    reports="once",
)


may_wait_for_drops = Mutant(
    clause="A27-DROP-13",
    broken="a wait_for_ready request is not dropped",
    rules={"queue_wait_for_ready": waits_for_drops},
    reports="waits",
)


without_a_category = Mutant(
    clause="A27-DROP-14",
    broken="an entry of drop_overloads may have no category",
    xds={"drop_field_may_be_missing": lambda field: field == "category"},
    reports="everything dropped",
)


without_a_share = Mutant(
    clause="A27-DROP-14",
    broken="an entry of drop_overloads without a share drops nothing",
    xds={"drop_field_may_be_missing": lambda field: field == "drop_percentage"},
    reports="served",
)


without_a_denominator = Mutant(
    clause="A27-DROP-14",
    broken="an unknown denominator means 100",
    xds={
        "drop_field_may_be_missing": lambda field: field == "denominator",
        "drop_share": lambda numerator, _of: drop_share(numerator, 100),
    },
    reports="everything dropped",
)


def rounded(denominator: int) -> Callable[[int, int], int | None]:
    """Round shares of this denominator down to a half."""
    return lambda numerator, of: (
        drop_share(2 * numerator // of, 2) if of == denominator else drop_share(numerator, of)
    )


halves_of_ten_thousand = Mutant(
    clause="A27-DROP-06",
    broken="a share of TEN_THOUSAND is rounded down to a half",
    xds={"drop_share": rounded(10_000)},
)


halves_of_a_million = Mutant(
    clause="A27-DROP-07",
    broken="a share of MILLION is rounded down to a half",
    xds={"drop_share": rounded(MILLION)},
)
