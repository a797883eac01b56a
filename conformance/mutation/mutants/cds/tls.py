"""Mutants of the clauses in tls.toml."""

from __future__ import annotations

from client_under_test.reference.editions.mutants import Mutant
from conformance.mutation.mutants.findings import overlooking, overlooking_below, refusing

no_validation_context = Mutant(
    clause="A29-CDS-01",
    broken="TLS without a validation context is accepted",
    xds={"wrong_with_cluster": overlooking("common_tls_context.validation_context", "is missing")},
)


no_ca = Mutant(
    clause="A29-CDS-02",
    broken="a validation context without a source of CA certificates is accepted",
    xds={
        "wrong_with_cluster": overlooking(
            "validation_context.ca_certificate_provider_instance", "is missing"
        )
    },
)


combined_unchecked = Mutant(
    clause="A29-CDS-02",
    broken="a combined_validation_context is not validated",
    xds={
        "wrong_with_cluster": overlooking(
            "default_validation_context.ca_certificate_provider_instance", "is missing"
        )
    },
)


any_ca_provider = Mutant(
    clause="A29-CDS-03",
    broken="a CA provider instance is not looked up in the bootstrap",
    xds={"wrong_with_cluster": overlooking("ca_certificate_provider_instance", "is no provider")},
)


any_combined_ca_provider = Mutant(
    clause="A29-CDS-03",
    broken="below combined_validation_context an instance is not looked up in the bootstrap",
    xds={
        "wrong_with_cluster": overlooking(
            "default_validation_context.ca_certificate_provider_instance", "is no provider"
        )
    },
)


any_identity_provider = Mutant(
    clause="A29-CDS-04",
    broken="an identity provider instance is not looked up in the bootstrap",
    xds={"wrong_with_cluster": overlooking("tls_certificate_provider_instance", "is no provider")},
)


own_certificates_ignored = Mutant(
    clause="A29-CDS-05",
    broken="tls_certificates are ignored",
    xds={"wrong_with_cluster": overlooking("tls_certificates")},
)


secrets_ignored = Mutant(
    clause="A29-CDS-05",
    broken="SDS secrets are ignored",
    xds={"wrong_with_cluster": overlooking("tls_certificate_sds_secret_configs")},
)


parameters_ignored = Mutant(
    clause="A29-CDS-06",
    broken="tls_params are ignored",
    xds={"wrong_with_cluster": overlooking("tls_params")},
)


handshaker_ignored = Mutant(
    clause="A29-CDS-06",
    broken="a custom_handshaker is ignored",
    xds={"wrong_with_cluster": overlooking("custom_handshaker")},
)


key_unchecked = Mutant(
    clause="A29-CDS-07",
    broken="verify_certificate_spki is ignored",
    xds={"wrong_with_cluster": overlooking("verify_certificate_spki")},
)


hash_unchecked = Mutant(
    clause="A29-CDS-07",
    broken="verify_certificate_hash is ignored",
    xds={"wrong_with_cluster": overlooking("verify_certificate_hash")},
)


timestamp_unchecked = Mutant(
    clause="A29-CDS-07",
    broken="require_signed_certificate_timestamp is ignored",
    xds={"wrong_with_cluster": overlooking("require_signed_certificate_timestamp")},
)


revocations_unchecked = Mutant(
    clause="A29-CDS-07",
    broken="a crl is ignored",
    xds={"wrong_with_cluster": overlooking("crl")},
)


validator_unchecked = Mutant(
    clause="A29-CDS-07",
    broken="a custom_validator_config is ignored",
    xds={"wrong_with_cluster": overlooking("custom_validator_config")},
)


combined_checks_ignored = Mutant(
    clause="A29-CDS-07",
    broken="below combined_validation_context all checks are ignored",
    xds={"wrong_with_cluster": overlooking_below("default_validation_context")},
)


other_sockets_ignored = Mutant(
    clause="A29-CDS-08",
    broken="an unknown transport_socket is ignored, and connections are not secured",
    xds={"wrong_with_cluster": overlooking("transport_socket.typed_config", "is not supported")},
)


bytes_that_are_none = Mutant(
    clause="A29-CDS-08",
    broken="an UpstreamTlsContext that cannot be parsed is ignored",
    xds={
        "wrong_with_cluster": overlooking(
            "transport_socket.typed_config", "is no UpstreamTlsContext"
        )
    },
)


sockets_refused = Mutant(
    clause="A29-CDS-09",
    broken="a channel without xDS credentials rejects TLS",
    xds={"wrong_with_cluster": refusing(lambda cluster: cluster.HasField("transport_socket"))},
)


matches_ignored = Mutant(
    clause="A29-CDS-10",
    broken="transport_socket_matches are ignored",
    xds={"wrong_with_cluster": overlooking("transport_socket_matches")},
    reports="accepted",
)


names_refused = Mutant(
    clause="A29-CDS-11",
    broken="sni is an error",
    xds={
        "wrong_with_cluster": refusing(
            lambda cluster: b"a.test" in cluster.transport_socket.typed_config.value
        )
    },
)


protocols_refused = Mutant(
    clause="A29-CDS-11",
    broken="alpn_protocols are an error",
    xds={
        "wrong_with_cluster": refusing(
            lambda cluster: b"\x02h2" in cluster.transport_socket.typed_config.value
        )
    },
)
