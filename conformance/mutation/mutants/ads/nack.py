"""Mutants of the clauses in nack.toml."""

from __future__ import annotations

from client_under_test.reference.editions.mutants import Mutant
from conformance.mutation.mutants.findings import not_forgiving

bad_ones_are_gone = Mutant(
    clause="A46-NACK-03",
    broken="the last accepted versions of bad resources are dropped",
    xds={"rejection_removes": lambda _noun, _features: True},
)


all_or_nothing = Mutant(
    clause="A46-NACK-03",
    broken="no resource of a response with a bad resource is used",
    xds={"uses_valid_resources": False},
)


no_cluster_of_a_bad_response = Mutant(
    clause="A46-NACK-01",
    broken="no Cluster of a response with a bad Cluster is used",
    xds={"uses_valid_resources": False},
)


no_endpoints_of_a_bad_response = Mutant(
    clause="A46-NACK-02",
    broken="no endpoints of a response with a bad resource are used",
    xds={"uses_valid_resources": False},
)


version_of_the_bad_response = Mutant(
    clause="A46-NACK-07",
    broken="a NACK names the version that it rejects",
    xds={"version_of_nack": lambda _accepted, rejected: rejected},
    reports="version of the response",
)


ack_after_the_nack = Mutant(
    clause="A46-NACK-04",
    broken="a NACK is followed by an ACK of the same response",
    xds={"acks_after_nack": lambda _noun: True},
)


ack_by_a_subscription = Mutant(
    clause="A46-NACK-04",
    broken="a new subscription after a NACK names the rejected version",
    xds={"version_of_subscription": lambda accepted, rejected: rejected or accepted},
)


ack_after_the_nack_of_endpoints = Mutant(
    clause="A46-NACK-08",
    broken="a NACK of endpoints is followed by an ACK of the same response",
    xds={"acks_after_nack": lambda noun: noun == "ClusterLoadAssignment"},
)


first_complaint_alone = Mutant(
    clause="A46-NACK-05",
    broken="a NACK names the first bad resource only",
    xds={"reason_of_nack": lambda found: found[0]},
    reports="does not name each",
)


refused_for_good = Mutant(
    clause="A46-NACK-06",
    broken="after the first bad Cluster every Cluster is rejected",
    xds={"cluster_errors": not_forgiving()},
)


endpoints_refused_for_good = Mutant(
    clause="A46-NACK-06",
    broken="after the first bad endpoints every endpoints resource is rejected",
    xds={"endpoint_errors": not_forgiving()},
)


FEW = 50
"""Fewer responses than the control plane sends without a pause."""


few_alone = Mutant(
    clause="A46-NACK-06",
    broken="after 50 responses of a type on a stream, the client ignores further ones",
    xds={"reads_version": lambda _version, _accepted, number: number <= FEW},
)
