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


def read_server_features(features: Sequence[Any]) -> frozenset[str]:
    """A30: ignore any entry that is not understood, regardless of type.

    Clauses: A53-DEL-05, A88-DATA-04.
    """
    return frozenset(feature for feature in features if isinstance(feature, str))


def deletion_removes(_features: Collection[str]) -> bool:
    """A27, A37: what is deleted does not exist any more."""
    return True


def deletion_removes_a53(features: Collection[str]) -> bool:
    """A53: with the server feature, what is deleted stays in use.

    Clauses: A53-DEL-01.
    """
    return IGNORES_DELETION not in features


def rejection_removes(_noun: str, _features: Collection[str]) -> bool:
    """Keep the last valid resource when an invalid one arrives.

    Clauses: A27-LDS-09, A27-RDS-04, A37-TROUBLE-13, A37-TROUBLE-26, A37-VALID-28, A42-CDS-19,
    A42-RING-20, A46-NACK-03, A52-CUSTOM-09.
    """
    return False


def usable_part_of_rejected(_message: Any) -> Any:
    """Use no part of an invalid resource.

    Clauses: A27-RDS-04, A37-TROUBLE-13, A37-TROUBLE-26, A52-CUSTOM-14.
    """
    return None


def deletion_removes_a88(features: Collection[str]) -> bool:
    """A88: by another feature only, and whatever A53's says, what is deleted is used no more.

    Clauses: A27-LDS-06, A88-DATA-01, A88-DATA-04.
    """
    return FAILS_ON_DATA_ERRORS in features


def rejection_removes_a88(_noun: str, features: Collection[str]) -> bool:
    """A88: by that feature only, what is refused is used no more.

    Clauses: A88-DATA-02, A88-DATA-03.
    """
    return FAILS_ON_DATA_ERRORS in features


def resource_timeout(_features: Collection[str]) -> tuple[float, bool]:
    """A27, A57: fifteen seconds, after which a resource does not exist.

    Until then what was in use stays so: A37-TREE-32.

    Clauses: A37-TROUBLE-04, A37-TROUBLE-05, A37-TROUBLE-06, A37-TROUBLE-28, A53-DEL-03,
    A57-TIMER-01.
    """
    return DOES_NOT_EXIST_SECONDS, True


def resource_timeout_a88(features: Collection[str]) -> tuple[float, bool]:
    """A88: with the server feature thirty seconds, and then only an error.

    Clauses: A88-TIMER-01.
    """
    if TIMER_IS_TRANSIENT in features:
        return TRANSIENT_SECONDS, False
    return resource_timeout(features)


@dataclass(frozen=True, kw_only=True)
class DataErrorRules:
    """How long resources are waited for, and how long they stay."""

    read_server_features: Callable[[Sequence[Any]], frozenset[str]] = read_server_features
    """Takes server_features of the bootstrap configuration."""
    deletion_removes: Callable[[Collection[str]], bool] = deletion_removes
    rejection_removes: Callable[[str, Collection[str]], bool] = rejection_removes
    """Takes the short name of a message, such as Cluster, and the server's features."""
    usable_part_of_rejected: Callable[[Any], Any] = usable_part_of_rejected
    """Takes the message of an invalid resource, and returns a valid message to use, or None."""
    resource_timeout: Callable[[Collection[str]], tuple[float, bool]] = resource_timeout
    """Returns the seconds to wait, and whether the resource then counts as nonexistent."""
