"""A world in words: where everything is, and which endpoint is what."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from envoy.config.endpoint.v3.endpoint_components_pb2 import LocalityLbEndpoints
from envoy.config.endpoint.v3.endpoint_pb2 import ClusterLoadAssignment
from google.protobuf.message import DecodeError

from conformance.world import World
from conformance.xds_config.bootstrap import VARIABLE
from conformance.xds_config.clusters import LogicalDns
from conformance.xds_config.config import LISTENER
from fake_control_plane import Kind
from test_servers import BackendEndpoint
from test_servers.proxy import host_port

FILE_VARIABLE: Final = "GRPC_XDS_BOOTSTRAP"
"""The variable of the environment that names a file with a bootstrap configuration."""

TARGET: Final = f"xds:///{LISTENER}"

_MOST: Final = 40
"""Endpoints that a table has."""

_Place = tuple[str, str, str, str]

_HEADS: Final = ("", "address", "mode", "live", "cluster", "locality", "priority", "weight")


def places(
    world: World, *, control: str, bootstrap: Path, adapter: str, knobs: Mapping[str, int]
) -> list[str]:
    """Where the parts of a world are, how a client finds them, and how it is to be set."""
    process = world.process
    # Of `--env` the user knows the values, and a transcript of his terminal need not have them.
    beside = dict.fromkeys((name for name in world.environment if name != VARIABLE), "…")
    told = [
        ("target", TARGET),
        ("bootstrap", world.environment[VARIABLE]),
        ("a file", f"{FILE_VARIABLE}={bootstrap}"),
        (
            "variables",
            " ".join(f"{k}={v}" for k, v in {**process.prepared.environment, **beside}.items()),
        ),
        ("knobs", " ".join(f"{name}={value}" for name, value in knobs.items())),
        ("xds", world.plane.address),
        ("control", f"{control}, as fake_control_plane/control.proto has it"),
        ("adapter", adapter),
        ("client pid", f"{process.pid}"),
        ("suite pid", f"{os.getpid()}"),
    ]
    return [f"  {head:<11} {text}" for head, text in told if text]


def endpoints(world: World) -> list[str]:
    """A table of the endpoints: number, address, mode, and where EDS has each."""
    members = list(world.registry)
    if not members:
        return ["  no endpoints yet"]
    where = _places(world)
    rows = [_HEADS]
    for number, member in enumerate(members[:_MOST], start=1):
        mode = str(member.mode.__struct_config__.tag)
        live = sum(attempt.closed_at is None for attempt in member.attempts)
        placed = where[member.address] or [("not served", "", "", "")]
        rows += [(f"{number}", member.address, mode, f"{live}", *place) for place in placed]
    lines = _aligned(rows)
    if len(members) > _MOST:
        lines.append(f"  … and {len(members) - _MOST} more")
    return lines


def numbered(world: World, named: Iterable[str]) -> list[tuple[int, BackendEndpoint]]:
    """The endpoints of these numbers or addresses, each with its number.

    Raises:
        LookupError: there is none; the message is a sentence.
    """
    members = list(world.registry)
    known = {f"{number}": number for number in range(1, len(members) + 1)}
    known |= {member.address: number for number, member in enumerate(members, start=1)}
    found = []
    for name in named:
        if name not in known:
            there = f"there are 1 to {len(members)}" if members else "there are none yet"
            raise LookupError(f"There is no endpoint {name}: {there}, as `world` has them.")
        found.append((known[name], members[known[name] - 1]))
    return found


def _places(world: World) -> dict[str, list[_Place]]:
    """By address, each place that EDS has for it now, or that a name is to resolve to."""
    found: dict[str, list[_Place]] = defaultdict(list)
    for name, packed in world.plane.snapshots.seen_by(None).of(Kind.ENDPOINTS).items():
        with suppress(DecodeError):  # a scenario may serve bytes that are no endpoints
            for place in ClusterLoadAssignment.FromString(packed.packed.body).endpoints:
                _add(found, name, place)
    served = world.control.served
    for cluster in served.clusters if served else ():
        if isinstance(cluster.discovery, LogicalDns):
            for address in cluster.discovery.resolved or (cluster.discovery.target,):
                found[address].append((cluster.name, "", "", ""))
    return found


def _add(found: dict[str, list[_Place]], name: str, place: LocalityLbEndpoints) -> None:
    """Put a locality's endpoints where they belong: by cluster, locality, priority and weight."""
    locality = "/".join(
        part
        for part in (place.locality.region, place.locality.zone, place.locality.sub_zone)
        if part
    )
    if place.HasField("load_balancing_weight"):
        locality += f" (weight {place.load_balancing_weight.value})"
    for endpoint in place.lb_endpoints:
        has_weight = endpoint.HasField("load_balancing_weight")
        weight = f"{endpoint.load_balancing_weight.value}" if has_weight else ""
        further = (more.address for more in endpoint.endpoint.additional_addresses)
        for address in (endpoint.endpoint.address, *further):
            where = address.socket_address
            key = host_port(where.address, where.port_value)
            found[key].append((name, locality.strip(), f"{place.priority}", weight))


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  "
        + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
