"""Wait until a client has what was sent before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fake_control_plane import (
    ControlPlane,
    Kind,
)
from fake_control_plane.resources import (
    route_configuration,
)

LDS, RDS, CDS, EDS = Kind.LISTENER, Kind.ROUTE, Kind.CLUSTER, Kind.ENDPOINTS
DEADLINE = 10.0

Names = Callable[[Any], list[str]]


async def fence(client: Any, plane: ControlPlane) -> None:
    """Pass when nothing but what this asks for was sent on the stream before."""
    await plane.set(route_configuration("fence", cluster="none"))
    await client.request(RDS, ["fence"])
    response = await client.receive()
    assert response.type_url == RDS.type_url, "something else was sent"
