"""A world in words: of a real fleet and control plane, without a client."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.cli.interactive import output
from conformance.world.control import Control
from conformance.world.endpoints import EndpointRegistry
from conformance.xds_config.config import logical_dns, one_cluster
from conformance.xds_config.endpoints import Endpoint, Locality
from fake_control_plane import ControlPlane, Kind, RawResource
from test_servers import Fleet, Stall


@contextlib.asynccontextmanager
async def world() -> AsyncIterator[Any]:
    """As much of one as is told."""
    async with Fleet.running() as fleet, ControlPlane.running() as plane:
        members = EndpointRegistry(fleet)
        await members.more(2)
        await members.more(1, mode=Stall())
        yield SimpleNamespace(
            fleet=fleet, plane=plane, registry=members, control=Control(plane, None)
        )


async def test_where_each_endpoint_is() -> None:
    async with world() as told:
        first, second, third = (member.address for member in told.registry)
        near = Locality((Endpoint(first, weight=3),), name="near/zone", weight=2, priority=0)
        far = Locality((Endpoint(third), Endpoint(first)), name="far", weight=None, priority=1)
        await told.control.serve(one_cluster([near, far]))
        heads, *rows = output.endpoints(told)
        assert heads.split() == [
            *("address", "mode", "live", "cluster", "locality", "priority", "weight")
        ]
        assert [row.split() for row in rows] == [
            ["1", first, "SERVE", "0", "cluster", "near/zone", "(weight", "2)", "0", "3"],
            ["1", first, "SERVE", "0", "cluster", "far", "1"],
            ["2", second, "SERVE", "0", "not", "served"],
            ["3", third, "STALL", "0", "cluster", "far", "1"],
        ]


async def test_what_is_pushed_by_other_hands_is_told() -> None:
    async with world() as told:
        first, second, _ = (member.address for member in told.registry)
        await told.control.serve(one_cluster([Locality((Endpoint(first),))]))
        pushed = one_cluster([Locality((Endpoint(second),))]).endpoints()
        await told.plane.set(pushed, RawResource(Kind.ENDPOINTS, "odd", b"\xff"))
        _, *rows = output.endpoints(told)
        assert [row.split()[4] for row in rows] == ["not", "cluster", "not"]


async def test_what_a_name_is_to_resolve_to() -> None:
    async with world() as told:
        first, second, _ = (member.address for member in told.registry)
        await told.control.serve(logical_dns("name.test:1", (first, second)))
        _, *rows = output.endpoints(told)
        assert [row.split()[4] for row in rows] == ["cluster", "cluster", "not"]


async def test_a_number_or_an_address() -> None:
    async with world() as told:
        first, second, _ = told.registry
        assert output.numbered(told, ["2", first.address]) == [(2, second), (1, first)]
        with pytest.raises(LookupError, match="no endpoint 4: `world` lists 1 to 3"):
            output.numbered(told, ["4"])
