"""The bootstrap configuration (A27): which xDS server, and who the client is to it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from regular_files import read_bytes

FILE_VARIABLE: Final = "GRPC_XDS_BOOTSTRAP"
TEXT_VARIABLE: Final = "GRPC_XDS_BOOTSTRAP_CONFIG"


class BadBootstrap(Exception):
    """There is no bootstrap configuration, or one that cannot be used."""


class _Credentials(msgspec.Struct, frozen=True):
    type: str


class _Server(msgspec.Struct, frozen=True):
    server_uri: str
    channel_creds: list[_Credentials]
    server_features: list[Any] = []


class _File(msgspec.Struct, frozen=True):
    xds_servers: list[_Server]
    node: dict[str, Any] = {}
    certificate_providers: dict[str, Any] = {}


class Bootstrap(msgspec.Struct, frozen=True):
    """The settings that this client reads: the first server's "host:port" and the node's fields.

    Also the names of the certificate providers (A29), and the features of the server.
    """

    server: str
    node: Mapping[str, Any]
    certificate_providers: frozenset[str] = frozenset()
    server_features: tuple[Any, ...] = ()


def from_environment(environment: Mapping[str, str] = os.environ) -> Bootstrap:
    """Read the configuration that the environment names or contains.

    Raises:
        BadBootstrap: there is none, or it cannot be used; one sentence.
    """
    file, text = environment.get(FILE_VARIABLE), environment.get(TEXT_VARIABLE)
    if file:
        try:
            return parse(read_bytes(Path(file)))
        except OSError as trouble:
            raise BadBootstrap(f"{file}: cannot be read: {trouble.strerror}") from trouble
    if text:
        return parse(text.encode())
    raise BadBootstrap(f"neither {FILE_VARIABLE} nor {TEXT_VARIABLE} is set")


def parse(text: bytes) -> Bootstrap:
    """Parse the configuration in JSON; ignore unknown fields.

    Raises:
        BadBootstrap: it breaks a rule.
    """
    try:
        whole = msgspec.convert(json.loads(text), _File)
    except ValueError as trouble:  # no JSON, or not of this shape
        raise BadBootstrap(f"the bootstrap configuration is wrong: {trouble}") from trouble
    if not whole.xds_servers:
        raise BadBootstrap("the bootstrap configuration has no xds_servers")
    server = whole.xds_servers[0]
    if not any(credentials.type == "insecure" for credentials in server.channel_creds):
        raise BadBootstrap("the first of xds_servers has no channel_creds of type insecure")
    uri = server.server_uri.rpartition("/")[2]  # "dns:///host:port" names the same
    providers = frozenset(whole.certificate_providers)
    return Bootstrap(uri, whole.node, providers, tuple(server.server_features))
