"""What A29 has validated of a Cluster's transport_socket.

This client uses none of it: its channels have no XdsCredentials. A29 has it validated all the same.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from envoy.extensions.transport_sockets.tls.v3 import tls_pb2
from google.protobuf.message import DecodeError

from client_under_test.reference.xds.resources.findings import Findings
from client_under_test.reference.xds.resources.kinds import PREFIX
from client_under_test.reference.xds.rules import XdsRules

_TLS_URL: Final = PREFIX + tls_pb2.UpstreamTlsContext.DESCRIPTOR.full_name

_NO_CUSTOM: Final = ("tls_params", "custom_handshaker")
_NO_CHECKS: Final = (
    "verify_certificate_spki",
    "verify_certificate_hash",
    "require_signed_certificate_timestamp",
    "crl",
    "custom_validator_config",
)
_ROOT: Final = "ca_certificate_provider_instance"
_IDENTITY: Final = "tls_certificate_provider_instance"
_OTHER_IDENTITIES: Final = ("tls_certificates", "tls_certificate_sds_secret_configs")


def check_transport_socket(message: Any, rules: XdsRules, findings: Findings) -> None:
    """A29: reject a TLS config that is less secure if the client ignores a part of it.

    Clauses: A29-CDS-08, A29-CDS-09, A29-CDS-11.
    """
    with findings.at("typed_config"):
        if message.typed_config.type_url != _TLS_URL:
            findings.add(f"{message.typed_config.type_url or 'nothing'} is not supported")
            return
        try:
            upstream = tls_pb2.UpstreamTlsContext.FromString(message.typed_config.value)
        except DecodeError:
            findings.add("is no UpstreamTlsContext")
            return
        with findings.at("common_tls_context"):
            _check_common(upstream.common_tls_context, rules, findings)


def _check_common(context: Any, rules: XdsRules, findings: Findings) -> None:
    """Check the certificates, and how the client validates the server.

    Clauses: A29-CDS-01, A29-CDS-02, A29-CDS-05, A29-CDS-06, A29-CDS-07.
    """
    _check_not_written(context, _NO_CUSTOM, findings)
    if not _check_provider(context, _IDENTITY, rules, findings):
        _check_not_written(context, _OTHER_IDENTITIES, findings)
    path = context.WhichOneof("validation_context_type")
    if path == "validation_context":
        validation = context.validation_context
    elif path == "combined_validation_context":
        validation = context.combined_validation_context.default_validation_context
        path += ".default_validation_context"
    else:
        findings.add("is missing", "validation_context")
        return
    with findings.at(path):
        if not _check_provider(validation, _ROOT, rules, findings):
            findings.add("is missing", _ROOT)
        _check_not_written(validation, _NO_CHECKS, findings)


def _check_provider(context: Any, field: str, rules: XdsRules, findings: Findings) -> bool:
    """Check the provider of a field; return whether there is one.

    Clauses: A29-CDS-03, A29-CDS-04.
    """
    if not context.HasField(field):
        return False
    name = getattr(context, field).instance_name
    if not rules.provider_is_accepted(name, rules.certificate_providers):
        findings.add(f"{name!r} is no provider of the bootstrap configuration", field)
    return True


def _check_not_written(message: Any, fields: Collection[str], findings: Findings) -> None:
    for descriptor, _ in message.ListFields():
        if descriptor.name in fields:
            findings.add("is not supported", descriptor.name)
