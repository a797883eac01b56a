"""The rules of ADS streams: requests on a new stream, backoff, and which responses are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


def sends_node(is_first: bool, _streams: int) -> bool:  # noqa: FBT001 - a state
    """A27: send the node in the first request of each stream.

    Clauses: A27-ADS-04, A27-ADS-05 (our choice: in no later one).
    """
    return is_first


def nonce_on_new_stream(_nonce: str) -> str:
    """Forget the nonces of a stream when it ends.

    Clauses: A27-ADS-06.
    """
    return ""


def version_on_new_stream(accepted: str) -> str:
    """Send the last accepted version of each type on a new stream.

    Clauses: A27-ADS-07.
    """
    return accepted


def requests_on_new_stream(_noun: str, names: Sequence[str]) -> bool:
    """A57: subscribe to everything in use on a new stream, and send no request without names.

    Clauses: A27-ADS-08, A57-STREAM-03.
    """
    return bool(names)


def answers_response(_is_wanted: bool) -> bool:  # noqa: FBT001 - a state
    """Answer each response, whether the client subscribes to any resource of its type or not.

    Clauses: A27-ADS-09.
    """
    return True


def accepts_size(_size: int) -> bool:
    """Read a response of any size.

    Clauses: A27-ADS-14.
    """
    return True


def type_of_response(type_url: str) -> str:
    """Ignore a response of an unknown type.

    Clauses: A27-ADS-11.
    """
    return type_url


def reads_version(_version: str, _accepted: str, _number: int) -> bool:
    """Read each response: versions have no order, and the number of responses has no limit.

    Clauses: A27-ADS-10, A27-ADS-13, A46-NACK-06.
    """
    return True


def ads_backoff_failures(failures: int) -> int:
    """A57: back off by the number of streams in a row that had no response.

    Clauses: A57-STREAM-04.
    """
    return failures


@dataclass(frozen=True, kw_only=True)
class AdsStreamRules:
    """One way of using ADS streams."""

    sends_node: Callable[[bool, int], bool] = sends_node
    """Takes whether a request is the first of its stream, and the number of the stream."""
    nonce_on_new_stream: Callable[[str], str] = nonce_on_new_stream
    """Takes the last nonce of the type on the stream before."""
    version_on_new_stream: Callable[[str], str] = version_on_new_stream
    """Takes the last accepted version of the type."""
    requests_on_new_stream: Callable[[str, Sequence[str]], bool] = requests_on_new_stream
    """Takes the short name of a message, and the names that the client subscribes to."""
    answers_response: Callable[[bool], bool] = answers_response
    """Takes whether the client subscribes to any resource of the type."""
    accepts_size: Callable[[int], bool] = accepts_size
    """Takes the bytes of a response. The client ignores a response of another size."""
    type_of_response: Callable[[str], str] = type_of_response
    """Takes the type of a response, and returns the type that the client reads it as."""
    name_may_repeat: bool = False
    """A27-ADS-12: reject a response that has two resources of one name."""
    reads_version: Callable[[str, str, int], bool] = reads_version
    """Takes the version of a response, the last accepted one, and how many responses of the type
    came on the stream. The client ACKs a response that it does not read."""
    ads_backoff_failures: Callable[[int], int] = ads_backoff_failures
    """Takes the number of ADS streams in a row without a response."""
    ads_response_ends_backoff: bool = True
    """A57-STREAM-05: a response on a stream resets the backoff."""
