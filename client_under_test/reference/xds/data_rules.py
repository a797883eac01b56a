"""How the client treats resources that are deleted, rejected or never received.

A53 and A88 change these rules by server features, which the bootstrap configuration lists.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

IGNORES_DELETION: Final = "ignore_resource_deletion"  # A53
FAILS_ON_DATA_ERRORS: Final = "fail_on_data_errors"  # A88
TIMER_IS_TRANSIENT: Final = "resource_timer_is_transient_error"  # A88

DOES_NOT_EXIST_SECONDS: Final = 15.0
TRANSIENT_SECONDS: Final = 30.0


def those_with_a_name(features: Sequence[Any]) -> frozenset[str]:
    """A30: ignore any entry that is not understood, regardless of type.

    Clauses: A53-DEL-05, A88-DATA-04.
    """
    return frozenset(feature for feature in features if isinstance(feature, str))


def deletion_counts(_features: Collection[str]) -> bool:
    """A27, A37: what is deleted does not exist any more."""
    return True


def deletion_counts_unless_ignored(features: Collection[str]) -> bool:
    """A53: with the server feature, what is deleted stays in use.

    Clauses: A53-DEL-01.
    """
    return IGNORES_DELETION not in features


def refusal_leaves_what_was(_noun: str, _features: Collection[str]) -> bool:
    """Keep the last valid resource when an invalid one arrives.

    Clauses: A27-LDS-09, A27-RDS-04, A37-TROUBLE-13, A37-TROUBLE-26, A37-VALID-28, A42-CDS-19,
    A42-RING-20, A46-NACK-03, A52-CUSTOM-09.
    """
    return False


def nothing_of_it(_message: Any) -> Any:
    """Use no part of an invalid resource.

    Clauses: A27-RDS-04, A37-TROUBLE-13, A37-TROUBLE-26, A52-CUSTOM-14.
    """
    return None


def deletion_counts_as_a_data_error(features: Collection[str]) -> bool:
    """A88: by another feature only, and whatever A53's says, what is deleted is used no more.

    Clauses: A27-LDS-06, A88-DATA-01, A88-DATA-04.
    """
    return FAILS_ON_DATA_ERRORS in features


def refusal_counts_as_a_data_error(_noun: str, features: Collection[str]) -> bool:
    """A88: by that feature only, what is refused is used no more.

    Clauses: A88-DATA-02, A88-DATA-03.
    """
    return FAILS_ON_DATA_ERRORS in features


def time_to_come(_features: Collection[str]) -> tuple[float, bool]:
    """A27, A57: fifteen seconds, after which a resource does not exist.

    Until then what was in use stays so: A37-TREE-32.

    Clauses: A37-TROUBLE-04, A37-TROUBLE-05, A37-TROUBLE-06, A37-TROUBLE-28, A53-DEL-03,
    A57-TIMER-01.
    """
    return DOES_NOT_EXIST_SECONDS, True


def time_to_come_by_feature(features: Collection[str]) -> tuple[float, bool]:
    """A88: with the server feature thirty seconds, and then only an error.

    Clauses: A88-TIMER-01.
    """
    if TIMER_IS_TRANSIENT in features:
        return TRANSIENT_SECONDS, False
    return time_to_come(features)


@dataclass(frozen=True, kw_only=True)
class DataErrorRules:
    """How long resources are waited for, and how long they stay."""

    features_read: Callable[[Sequence[Any]], frozenset[str]] = those_with_a_name
    """Takes server_features of the bootstrap configuration."""
    deletion_counts: Callable[[Collection[str]], bool] = deletion_counts
    refusal_counts: Callable[[str, Collection[str]], bool] = refusal_leaves_what_was
    """Takes the short name of a message, such as Cluster, and the server's features."""
    used_of_rejected: Callable[[Any], Any] = nothing_of_it
    """Takes the message of an invalid resource, and returns a valid message to use, or None."""
    time_to_come: Callable[[Collection[str]], tuple[float, bool]] = time_to_come
    """Returns the seconds to wait, and whether the resource then counts as nonexistent."""
