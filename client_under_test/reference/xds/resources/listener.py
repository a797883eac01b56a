"""Validation of LDS resources (A27, A39)."""

from __future__ import annotations

from typing import Any, Final

from envoy.extensions.filters.http.router.v3 import router_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as manager_pb2,
)
from google.protobuf.message import DecodeError

from client_under_test.reference.xds.resources.findings import Findings
from client_under_test.reference.xds.resources.kinds import PREFIX
from client_under_test.reference.xds.resources.route import read_routes
from client_under_test.reference.xds.resources.session import SESSION_URL, read_session_filter
from client_under_test.reference.xds.resources.values import (
    Listener,
    RouteConfiguration,
    SessionFilter,
)
from client_under_test.reference.xds.rules import XdsRules

_MANAGER: Final = manager_pb2.HttpConnectionManager
_MANAGER_URL: Final = PREFIX + _MANAGER.DESCRIPTOR.full_name
_ROUTER_URL: Final = PREFIX + router_pb2.Router.DESCRIPTOR.full_name


def read_listener(message: Any, rules: XdsRules) -> Listener:
    """Read a Listener message.

    Raises:
        BadResource: it is not one that a gRPC client can use.
    """
    findings = Findings()
    with findings.at("api_listener.api_listener"):
        listener = _listener(message.api_listener.api_listener, rules, findings)
    findings.check()
    return listener


def _listener(packed: Any, rules: XdsRules, findings: Findings) -> Listener:
    if packed.type_url != _MANAGER_URL:
        findings.add(f"{packed.type_url or 'nothing'} instead of an HttpConnectionManager")
        return Listener("")
    try:
        manager = _MANAGER.FromString(packed.value)
    except DecodeError:
        findings.add("is no HttpConnectionManager")
        return Listener("")
    session = _read_filters(manager.http_filters, rules, findings)
    if manager.xff_num_trusted_hops:
        findings.add("must be zero", "xff_num_trusted_hops")  # A41
    if manager.original_ip_detection_extensions:
        findings.add("must be empty", "original_ip_detection_extensions")
    return Listener(_routes(manager, rules, findings), session)


def _routes(manager: Any, rules: XdsRules, findings: Findings) -> str | RouteConfiguration:
    match manager.WhichOneof("route_specifier"):
        case "rds":
            return _rds(manager.rds, findings)
        case "route_config":
            with findings.at("route_config"):
                return read_routes(manager.route_config, rules, findings)
        case other:
            findings.add(f"must be rds or route_config, not {other}", "route_specifier")
            return ""


def _rds(rds: Any, findings: Findings) -> str:
    if rds.config_source.WhichOneof("config_source_specifier") not in {"ads", "self"}:
        findings.add("must be ads or self", "rds.config_source")
    if not rds.route_config_name:
        findings.add("must not be empty", "rds.route_config_name")
    return str(rds.route_config_name)


def _read_filters(filters: Any, rules: XdsRules, findings: Findings) -> SessionFilter | None:
    """A39: filters have names, are known unless optional, and end with the router.

    Returns:
        The StatefulSession filter (A55), if there is one.
    """
    session: SessionFilter | None = None
    seen: set[str] = set()
    known: list[str] = []
    for number, each in enumerate(filters):
        with findings.at(f"http_filters[{number}]"):
            if not each.name:
                findings.add("must not be empty", "name")
            elif each.name in seen:
                findings.add(f"{each.name} is there twice", "name")
            seen.add(each.name)
            type_url = each.typed_config.type_url
            if type_url == _ROUTER_URL:
                known.append(type_url)
                _check_router(each.typed_config.value, findings)
            elif type_url == SESSION_URL and rules.has_session_affinity:
                cookie = read_session_filter(each.typed_config.value, rules, findings)
                session = session or SessionFilter(each.name, cookie)
            elif not each.is_optional:
                findings.add(f"{type_url or 'nothing'} is not supported", "typed_config")
    if not filters:
        findings.add("must have the router", "http_filters")
    elif filters[-1].typed_config.type_url != _ROUTER_URL:
        findings.add("the last one must be the router", "http_filters")
    elif len(known) > 1:
        findings.add("the router must be the last one", "http_filters")
    return session


def _check_router(value: bytes, findings: Findings) -> None:
    try:
        router_pb2.Router.FromString(value)
    except DecodeError:
        findings.add("is no Router", "typed_config")
