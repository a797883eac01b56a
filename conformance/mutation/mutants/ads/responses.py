"""Mutants of the clauses in responses.toml."""

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.xds.resources.kinds import Kind

unsubscribed_unanswered = Mutant(
    clause="A27-ADS-09",
    broken="a response of a type of which nothing is subscribed to has no answer",
    xds={"answers_response": lambda is_wanted: is_wanted},
)


lower_versions_ignored = Mutant(
    clause="A27-ADS-10",
    broken="a response whose version is not above the last one is ACKed and ignored",
    xds={"reads_version": lambda version, accepted, _number: version > accepted},
)


unknown_is_a_cluster = Mutant(
    clause="A27-ADS-11",
    broken="a response of an unknown type is read as one of Clusters",
    xds={
        "type_of_response": lambda type_url: (
            type_url if "xdspec.test" not in type_url else Kind.CLUSTER.type_url
        )
    },
)


last_of_a_name = Mutant(
    clause="A27-ADS-12",
    broken="of two resources of one name the client uses the last one",
    xds={"name_may_repeat": True},
)


FEW = 500
"""Fewer responses than the control plane sends without a pause."""


few_alone = Mutant(
    clause="A27-ADS-13",
    broken="after 500 responses of a type on a stream, the client ignores further ones",
    xds={"reads_version": lambda _version, _accepted, number: number <= FEW},
)


ONE_MIB = 1 << 20


large_ignored = Mutant(
    clause="A27-ADS-14",
    broken="responses beyond 1 MiB are ignored",
    xds={"accepts_size": lambda size: size <= ONE_MIB},
)
