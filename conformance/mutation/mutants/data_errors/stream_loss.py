"""Mutants of the clauses in stream_loss.toml."""

from collections.abc import Callable, Sequence

from client_under_test.reference.clusters.discovery import Leaf, Missing
from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.values import Status
from conformance.mutation.mutants.data_errors.rejected_resources import once_missing

any_end_is_an_error = Mutant(
    clause="A57-STREAM-01",
    broken="a stream that ends is an error even after a response",
    xds={"stream_end_is_error": lambda _has_answered: True},
)


no_end_is_an_error = Mutant(
    clause="A57-STREAM-02",
    broken="a stream that ends without a response is no error",
    xds={"stream_end_is_error": lambda _has_answered: False},
)


Choice = tuple[Leaf, ...] | Status | None


Choose = Callable[[str, Sequence[Leaf | Missing], bool], Choice]


loss_waited_out = Mutant(
    clause="A37-TROUBLE-15",
    broken="watchers are not notified when the ADS stream is lost",
    xds={"reports_lost_stream": lambda _noun, _is_there: False},
)


loss_takes_away = Mutant(
    clause="A37-TROUBLE-16",
    broken="clusters are dropped when the control plane is lost",
    xds={"reports_lost_stream": lambda noun, is_there: noun == "Cluster" or not is_there},
)


def fails_with_one(_root: str, found: Sequence[Leaf | Missing], _in_force: bool, /) -> Choice:  # noqa: FBT001
    """Fail the tree if a cluster is missing, in every edition."""
    lost = next((leaf for leaf in found if isinstance(leaf, Missing)), None)
    return lost.status if lost else tuple(leaf for leaf in found if isinstance(leaf, Leaf))


loss_ends_the_tree_before = Mutant(
    clause="A37-TROUBLE-17",
    broken="a tree fails when the control plane is lost and a new leaf of it has not come",
    rules={"usable_leaves": fails_with_one},
    variant="seed",
)


lost_for_good = Mutant(
    clause="A37-TROUBLE-18",
    broken="a cluster that was missing when the control plane was lost is never used",
    rules={"usable_leaves": once_missing(lambda leaf: not leaf.is_gone)},
)


lost_endpoints_waited_for = Mutant(
    clause="A37-TROUBLE-29",
    broken="requests wait for missing endpoints when the control plane is lost",
    xds={"reports_lost_stream": lambda noun, is_there: noun == "Cluster" and not is_there},
)
