"""A29, CDS for Client Side Security: which transport_socket a client accepts in a Cluster."""

from conformance.judging.declaration import scenario
from conformance.scenarios.helpers.live_clusters import (
    LiveCluster,
    clauses_of,
)
from conformance.world import World
from conformance.xds_config.bootstrap import PROVIDER, WITH_CERTIFICATES
from conformance.xds_config.variants import TYPE, ResourceVariant, given_bytes, packed

NO_MESSAGE = r"\377\377"
"""Bytes that are no valid start of a message."""


def instance(field: str, name: str = PROVIDER) -> str:
    """Return a certificate provider instance in text format."""
    return f"{field} {{ instance_name: '{name}' }}"


ROOT = instance("ca_certificate_provider_instance")


UNKNOWN_ROOTS = tuple(
    instance("ca_certificate_provider_instance", name) for name in ("other", "", f"{PROVIDER}-2")
)


TLS = "envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext"


def tls(context: str, fields: str = "") -> str:
    """Return TLS in text format, with this common_tls_context and other fields."""
    config = packed(TLS, f"common_tls_context {{ {context} }} {fields}")
    return f"name: 'envoy.transport_sockets.tls' {config}"


def validated(checks: str = "") -> str:
    """Return a validation context that is valid except for these checks."""
    return f"validation_context {{ {ROOT} {checks} }}"


def combined(context: str) -> str:
    """Return a combined_validation_context with this context as its default."""
    return f"combined_validation_context {{ default_{context} }}"


def socket(clause: str, said: str, *otherwise: str) -> ResourceVariant:
    """Return a Cluster with this transport_socket."""
    return ResourceVariant(clause, f"transport_socket {{ {said} }}", otherwise=otherwise)


CHECKS = (
    "verify_certificate_spki: 'NvqYIYSbgK2vCJpQhObf77vv+bQWtc5ek5RIOwPiC9A='",
    f"verify_certificate_hash: '{'ab' * 32}'",
    "require_signed_certificate_timestamp { value: true }",
    "crl { inline_string: 'a list' }",
    "custom_validator_config { name: 'a-validator' }",
)


SNI = "sni: 'a.test'"


UNVALIDATED = (
    tls(""),
    tls(instance("tls_certificate_provider_instance")),
    tls("alpn_protocols: 'h2'"),
    f"name: 'envoy.transport_sockets.tls' {packed(TLS)}",
    f"name: 'envoy.transport_sockets.tls' {packed(TLS, SNI)}",
)
"""An UpstreamTlsContext without a validation context, with other fields and without any."""


NO_DEFAULT = (
    "combined_validation_context {}",
    "combined_validation_context { validation_context_sds_secret_config { name: 'one' } }",
    "validation_context_sds_secret_config { name: 'one' }",
)
"""Forms of the oneof without a validation context of their own; Envoy rejects them as well."""


NO_CA = ("", "trusted_ca { filename: '/dev/null' }", "match_subject_alt_names { exact: 'a.test' }")
"""Fields of a validation context without a CA provider."""


SECURITY = (
    *(socket("A29-CDS-01", context, "envoy") for context in UNVALIDATED),
    *(socket("A29-CDS-01", tls(context)) for context in NO_DEFAULT),
    *(socket("A29-CDS-02", tls(f"validation_context {{ {fields} }}")) for fields in NO_CA),
    *(
        socket("A29-CDS-02", tls(combined(f"validation_context {{ {fields} }}")))
        for fields in NO_CA
    ),
    *(socket("A29-CDS-03", tls(f"validation_context {{ {root} }}")) for root in UNKNOWN_ROOTS),
    *(
        socket("A29-CDS-04", tls(context + instance("tls_certificate_provider_instance", "other")))
        for context in (validated(), combined(validated()))
    ),
    socket(
        "A29-CDS-05",
        tls(validated() + "tls_certificates { certificate_chain { filename: '/dev/null' } }"),
    ),
    socket("A29-CDS-05", tls(validated() + "tls_certificate_sds_secret_configs { name: 'one' }")),
    socket("A29-CDS-06", tls(validated() + "tls_params {}")),
    socket("A29-CDS-06", tls(validated() + "custom_handshaker { name: 'a-handshaker' }")),
    socket("A29-CDS-03", tls(combined(f"validation_context {{ {UNKNOWN_ROOTS[0]} }}"))),
    *(socket("A29-CDS-07", tls(validated(check))) for check in CHECKS),
    *(socket("A29-CDS-07", tls(combined(validated(check)))) for check in CHECKS),
    socket("A29-CDS-08", f"name: 'other' {given_bytes(f'{TYPE}/a.Socket')}"),
    socket("A29-CDS-08", f"{tls(validated())} typed_config {{ type_url: '{TYPE}/a.Socket' }}"),
    socket(
        "A29-CDS-08",
        f"name: 'envoy.transport_sockets.tls' {given_bytes(f'{TYPE}/{TLS}', NO_MESSAGE)}",
    ),
    socket("A29-CDS-08", "name: 'envoy.transport_sockets.tls'"),
)


@scenario(
    *clauses_of(SECURITY), "A37-VALID-29", "A46-NACK-03", seconds=1, bootstrap=WITH_CERTIFICATES
)
async def test_rejected(world: World) -> None:
    """The client rejects each of these Clusters, and continues to use the last valid one."""
    live = await LiveCluster.start(world, "EDS")
    await live.check_all_rejected(SECURITY)


UNVALIDATED_DNS = (
    *(socket("A29-CDS-01", context, "envoy") for context in UNVALIDATED),
    *(socket("A29-CDS-01", tls(context)) for context in NO_DEFAULT),
)


@scenario("A29-CDS-01", "A37-VALID-29", "A46-NACK-03", bootstrap=WITH_CERTIFICATES)
async def test_rejected_in_logical_dns(world: World) -> None:
    """The client rejects TLS without a validation context in a LOGICAL_DNS cluster, too."""
    live = await LiveCluster.start(world, "LOGICAL_DNS")
    await live.check_all_rejected(UNVALIDATED_DNS)


FIELDS = (
    "sni: 'a.test' allow_renegotiation: true",
    "max_session_keys { value: 1 } enforce_rsa_key_usage { value: true }",
)


NAMES = tuple(
    f"match_subject_alt_names {{ {matcher} }} "
    for matcher in (
        "exact: 'a.test' ignore_case: true",
        "prefix: 'a.'",
        "suffix: '.test'",
        "contains: 'a'",
        "safe_regex { regex: 'a.*' }",
    )
)


SECURE = (
    socket("A29-CDS-09", tls(validated())),
    socket("A29-CDS-09", tls(validated("match_subject_alt_names { exact: 'a.test' }"))),
    socket(
        "A29-CDS-09",
        tls(combined(validated()) + instance("tls_certificate_provider_instance")),
    ),
    socket("A29-CDS-09", tls(validated() + instance("tls_certificate_provider_instance"))),
    *(socket("A29-CDS-09", tls(combined(validated(names)))) for names in NAMES),
    socket("A29-CDS-09", tls(validated("".join(NAMES)))),
    *(socket("A29-CDS-11", tls(validated() + "alpn_protocols: 'h2'", field)) for field in FIELDS),
)


@scenario(*clauses_of(SECURE), "A37-VALID-29", seconds=1, bootstrap=WITH_CERTIFICATES)
async def test_accepted(world: World) -> None:
    """The client accepts each of these Clusters and uses it, on a channel without TLS."""
    live = await LiveCluster.start(world, "EDS")
    for variant in SECURE:
        await live.check_accepted(variant)


ONE_MATCH = f"transport_socket_matches {{ transport_socket {{ {tls(validated())} }} match {{}} }}"


@scenario("A29-CDS-10", "A37-VALID-29", bootstrap=WITH_CERTIFICATES)
async def test_unspecified_matches(world: World) -> None:
    """The client accepts or rejects a Cluster with transport_socket_matches."""
    live = await LiveCluster.start(world, "EDS")
    await live.report_choice(ResourceVariant("A29-CDS-10", ONE_MATCH), used=True)
