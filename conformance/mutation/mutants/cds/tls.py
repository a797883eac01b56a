"""Mutants of the clauses in tls.toml."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from envoy.extensions.transport_sockets.tls.v3.tls_pb2 import CommonTlsContext, UpstreamTlsContext
from google.protobuf.message import DecodeError

from client_under_test.reference.editions.mutants import Mutant
from conformance.mutation.mutants.findings import Finding, overlooking, overlooking_below, refusing


def common_of(message: Any) -> CommonTlsContext:
    """Return the common_tls_context of a Cluster; an empty one if its bytes are not a message."""
    try:
        upstream = UpstreamTlsContext.FromString(message.transport_socket.typed_config.value)
    except DecodeError:
        return CommonTlsContext()
    return upstream.common_tls_context


def overlooking_missing_context(message: Any, found: Sequence[Finding]) -> Sequence[Finding]:
    """Accept a common_tls_context without a validation context, unless it is empty."""
    if not common_of(message).ByteSize():
        return found
    return overlooking("common_tls_context.validation_context", "is missing")(message, found)


def overlooking_missing_ca(message: Any, found: Sequence[Finding]) -> Sequence[Finding]:
    """Accept a validation context without a CA provider, unless it is empty."""
    common = common_of(message)
    combined = common.combined_validation_context.default_validation_context
    if not (common.validation_context.ByteSize() or combined.ByteSize()):
        return found
    return overlooking("ca_certificate_provider_instance", "is missing")(message, found)


no_validation_context = Mutant(
    clause="A29-CDS-01",
    broken="TLS without a validation context is accepted",
    xds={"cluster_errors": overlooking("common_tls_context.validation_context", "is missing")},
)


no_validation_context_beside_others = Mutant(
    clause="A29-CDS-01",
    broken="a common_tls_context without a validation context is accepted if it has other fields",
    xds={"cluster_errors": overlooking_missing_context},
)


no_ca = Mutant(
    clause="A29-CDS-02",
    broken="a validation context without a source of CA certificates is accepted",
    xds={
        "cluster_errors": overlooking(
            "validation_context.ca_certificate_provider_instance", "is missing"
        )
    },
)


no_ca_beside_others = Mutant(
    clause="A29-CDS-02",
    broken="a validation context without a CA provider is accepted if it has other fields",
    xds={"cluster_errors": overlooking_missing_ca},
)


combined_unchecked = Mutant(
    clause="A29-CDS-02",
    broken="a combined_validation_context is not validated",
    xds={
        "cluster_errors": overlooking(
            "default_validation_context.ca_certificate_provider_instance", "is missing"
        )
    },
)


any_ca_provider = Mutant(
    clause="A29-CDS-03",
    broken="a CA provider instance is not looked up in the bootstrap",
    xds={"cluster_errors": overlooking("ca_certificate_provider_instance", "is no provider")},
)


any_combined_ca_provider = Mutant(
    clause="A29-CDS-03",
    broken="below combined_validation_context an instance is not looked up in the bootstrap",
    xds={
        "cluster_errors": overlooking(
            "default_validation_context.ca_certificate_provider_instance", "is no provider"
        )
    },
)


unnamed_provider = Mutant(
    clause="A29-CDS-03",
    broken="a CA provider instance without a name is accepted",
    xds={"provider_is_accepted": lambda name, configured: not name or name in configured},
)


provider_by_its_beginning = Mutant(
    clause="A29-CDS-03",
    broken="a name that only starts with that of an instance is accepted",
    xds={
        "provider_is_accepted": lambda name, configured: name.startswith(
            tuple(map(str, configured))
        )
    },
)


any_identity_provider = Mutant(
    clause="A29-CDS-04",
    broken="an identity provider instance is not looked up in the bootstrap",
    xds={"cluster_errors": overlooking("tls_certificate_provider_instance", "is no provider")},
)


own_certificates_ignored = Mutant(
    clause="A29-CDS-05",
    broken="tls_certificates are ignored",
    xds={"cluster_errors": overlooking("tls_certificates")},
)


secrets_ignored = Mutant(
    clause="A29-CDS-05",
    broken="SDS secrets are ignored",
    xds={"cluster_errors": overlooking("tls_certificate_sds_secret_configs")},
)


parameters_ignored = Mutant(
    clause="A29-CDS-06",
    broken="tls_params are ignored",
    xds={"cluster_errors": overlooking("tls_params")},
)


handshaker_ignored = Mutant(
    clause="A29-CDS-06",
    broken="a custom_handshaker is ignored",
    xds={"cluster_errors": overlooking("custom_handshaker")},
)


key_unchecked = Mutant(
    clause="A29-CDS-07",
    broken="verify_certificate_spki is ignored",
    xds={"cluster_errors": overlooking("verify_certificate_spki")},
)


hash_unchecked = Mutant(
    clause="A29-CDS-07",
    broken="verify_certificate_hash is ignored",
    xds={"cluster_errors": overlooking("verify_certificate_hash")},
)


timestamp_unchecked = Mutant(
    clause="A29-CDS-07",
    broken="require_signed_certificate_timestamp is ignored",
    xds={"cluster_errors": overlooking("require_signed_certificate_timestamp")},
)


revocations_unchecked = Mutant(
    clause="A29-CDS-07",
    broken="a crl is ignored",
    xds={"cluster_errors": overlooking("crl")},
)


validator_unchecked = Mutant(
    clause="A29-CDS-07",
    broken="a custom_validator_config is ignored",
    xds={"cluster_errors": overlooking("custom_validator_config")},
)


combined_checks_ignored = Mutant(
    clause="A29-CDS-07",
    broken="below combined_validation_context all checks are ignored",
    xds={"cluster_errors": overlooking_below("default_validation_context")},
)


other_sockets_ignored = Mutant(
    clause="A29-CDS-08",
    broken="an unknown transport_socket is ignored, and connections are not secured",
    xds={"cluster_errors": overlooking("transport_socket.typed_config", "is not supported")},
)


def whatever_its_type(message: Any, found: Sequence[Finding]) -> Sequence[Finding]:
    """Accept a transport_socket of any type if its bytes are an UpstreamTlsContext with a CA."""
    if common_of(message).WhichOneof("validation_context_type") is None:
        return found
    return overlooking("transport_socket.typed_config", "is not supported")(message, found)


type_of_socket_ignored = Mutant(
    clause="A29-CDS-08",
    broken="the config of a transport_socket is read as UpstreamTlsContext, whatever its type is",
    xds={"cluster_errors": whatever_its_type},
)


bytes_that_are_none = Mutant(
    clause="A29-CDS-08",
    broken="an UpstreamTlsContext that cannot be parsed is ignored",
    xds={
        "cluster_errors": overlooking("transport_socket.typed_config", "is no UpstreamTlsContext")
    },
)


sockets_refused = Mutant(
    clause="A29-CDS-09",
    broken="a channel without xDS credentials rejects TLS",
    xds={"cluster_errors": refusing(lambda cluster: cluster.HasField("transport_socket"))},
)


identity_refused = Mutant(
    clause="A29-CDS-09",
    broken="an identity instance beside a validation_context is rejected",
    xds={
        "cluster_errors": refusing(
            lambda cluster: (
                common_of(cluster).HasField("validation_context")
                and common_of(cluster).HasField("tls_certificate_provider_instance")
            )
        )
    },
)


alternative_names_of_a_default_refused = Mutant(
    clause="A29-CDS-09",
    broken="a default_validation_context with match_subject_alt_names is rejected",
    xds={
        "cluster_errors": refusing(
            lambda cluster: bool(
                common_of(
                    cluster
                ).combined_validation_context.default_validation_context.match_subject_alt_names
            )
        )
    },
)


matchers_refused = Mutant(
    clause="A29-CDS-09",
    broken="match_subject_alt_names with another matcher than exact are rejected",
    xds={
        "cluster_errors": refusing(
            lambda cluster: any(
                name.WhichOneof("match_pattern") != "exact"
                for name in common_of(cluster).validation_context.match_subject_alt_names
            )
        )
    },
)


alternative_names_refused = Mutant(
    clause="A29-CDS-09",
    broken="a validation context with match_subject_alt_names is rejected",
    xds={
        "cluster_errors": refusing(
            lambda cluster: bool(common_of(cluster).validation_context.match_subject_alt_names)
        )
    },
)


matches_ignored = Mutant(
    clause="A29-CDS-10",
    broken="transport_socket_matches are ignored",
    xds={"cluster_errors": overlooking("transport_socket_matches")},
    reports="accepted",
)


names_refused = Mutant(
    clause="A29-CDS-11",
    broken="sni is an error",
    xds={
        "cluster_errors": refusing(
            lambda cluster: b"a.test" in cluster.transport_socket.typed_config.value
        )
    },
)


protocols_refused = Mutant(
    clause="A29-CDS-11",
    broken="alpn_protocols are an error",
    xds={
        "cluster_errors": refusing(
            lambda cluster: b"\x02h2" in cluster.transport_socket.typed_config.value
        )
    },
)


any_identity_provider_beside_a_combined_context = Mutant(
    clause="A29-CDS-04",
    broken="an identity provider is not looked up next to a combined_validation_context",
    xds={
        "cluster_errors": lambda message, found: (
            overlooking("tls_certificate_provider_instance", "is no provider")(message, found)
            if common_of(message).HasField("combined_validation_context")
            else found
        )
    },
)


def overlooking_missing_default(message: Any, found: Sequence[Finding]) -> Sequence[Finding]:
    """Accept a combined_validation_context without default_validation_context."""
    context = common_of(message)
    combined = context.combined_validation_context
    if not context.HasField("combined_validation_context") or combined.HasField(
        "default_validation_context"
    ):
        return found
    missing = "default_validation_context.ca_certificate_provider_instance"
    return overlooking(missing, "is missing")(message, found)


combined_without_default = Mutant(
    clause="A29-CDS-01",
    broken="a combined_validation_context without a default is accepted",
    xds={"cluster_errors": overlooking_missing_default},
)


def overlooking_below_dns(message: Any, found: Sequence[Finding]) -> Sequence[Finding]:
    """Accept TLS without a validation context in a Cluster that is not of type EDS."""
    if message.type == message.EDS:
        return found
    return overlooking("common_tls_context.validation_context", "is missing")(message, found)


unchecked_in_logical_dns = Mutant(
    clause="A29-CDS-01",
    broken="TLS without a validation context is accepted in a LOGICAL_DNS cluster",
    xds={"cluster_errors": overlooking_below_dns},
)
