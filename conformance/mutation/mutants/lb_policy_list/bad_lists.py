"""Mutants of the clauses in bad_lists.toml."""

from __future__ import annotations

from typing import Any

from google.protobuf.message import DecodeError

from client_under_test.reference.editions.mutants import Mutant
from conformance.mutation.mutants.findings import overlooking, refusing

BEGINNING = b"\xca\x02"
"""The tag of load_balancing_policy in the bytes of a Cluster."""


MANY, LARGE = 5_000, 2 * 1024 * 1024


def without_its_list(message: Any, body: bytes) -> Any:
    """Parse a Cluster without its list if it cannot be parsed."""
    try:
        return message.FromString(body)
    except DecodeError:
        return message.FromString(body[: body.rindex(BEGINNING)])


bytes_that_are_none = Mutant(
    clause="A52-INPUT-01",
    broken="a RoundRobin whose bytes are not a message is accepted",
    xds={"cluster_errors": overlooking("typed_config", "is no RoundRobin")},
    reports="accepted",
)


cut_off = Mutant(
    clause="A52-INPUT-02",
    broken="a list that cannot be parsed is ignored",
    xds={"decode": without_its_list},
    reports="accepted",
)


long_lists = Mutant(
    clause="A52-INPUT-03",
    broken="lists of too many entries are rejected",
    xds={
        "cluster_errors": refusing(
            lambda message: len(message.load_balancing_policy.policies) > MANY
        )
    },
    reports="refused",
)


deep_configs = Mutant(
    clause="A52-INPUT-04",
    broken="a TypedStruct that is nested too deep is accepted",
    xds={"cluster_errors": overlooking("typed_config", "is no TypedStruct")},
    reports="accepted",
)


large_configs = Mutant(
    clause="A52-INPUT-05",
    broken="lists of several megabytes are rejected",
    xds={"cluster_errors": refusing(lambda message: message.ByteSize() > LARGE)},
    reports="refused",
)


no_text = Mutant(
    clause="A52-INPUT-06",
    broken="a list that cannot be parsed is ignored",
    xds={"decode": without_its_list},
    reports="accepted",
)


larger_than_a_message = Mutant(
    clause="A52-INPUT-07",
    broken="lists of several megabytes are rejected",
    xds={"cluster_errors": refusing(lambda message: message.ByteSize() > LARGE)},
    reports="refused",
)
