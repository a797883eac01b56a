"""The endpoints of one scenario."""

from __future__ import annotations

from collections.abc import Iterator

from test_servers import BackendEndpoint, Fleet, Mode, PortTaken, Serve


class EndpointRegistry:
    """Every endpoint that the scenario has had made, in that order.

    Args:
        fleet: makes them.
    """

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._by_id: dict[str, BackendEndpoint] = {}

    def __iter__(self) -> Iterator[BackendEndpoint]:
        return iter(self._by_id.values())

    def address(self, endpoint: str) -> str:
        """Where the endpoint is to which the fleet gave this id."""
        return self._by_id[endpoint].address

    def ids(self, *endpoints: BackendEndpoint) -> frozenset[str]:
        """Return the fleet's ids of these endpoints, or of all."""
        return frozenset(endpoint.id for endpoint in endpoints) or frozenset(self._by_id)

    async def more(self, count: int, *, mode: Mode | None = None) -> list[BackendEndpoint]:
        """Start `count` more endpoints, all in this mode (by default SERVE)."""
        return self._kept(await self._fleet.endpoints(count, mode=mode or Serve()))

    async def of_one_port(self, *hosts: str) -> list[BackendEndpoint]:
        """Start an endpoint at each of these addresses, all at the same port."""
        port, made = 0, list[BackendEndpoint]()
        while len(made) < len(hosts):
            try:
                made.append(await self._fleet.endpoint(host=hosts[len(made)], port=port))
                port = made[0].port
            except PortTaken:
                port, made = 0, []
        return self._kept(made)

    def _kept(self, made: list[BackendEndpoint]) -> list[BackendEndpoint]:
        self._by_id.update({endpoint.id: endpoint for endpoint in made})
        return made
