"""What our mesh promises its tenants, of any gRPC client that uses it."""

import pytest

from pytest_xdspec import (
    Close,
    Endpoint,
    HeaderPolicy,
    Locality,
    RingHash,
    Route,
    World,
    XdsConfig,
    expectations,
    one_cluster,
)

BY_TENANT = Route((HeaderPolicy(name="x-tenant"),))
OURS = RingHash(minimum=1024, maximum=4096)


def mesh(*localities: Locality) -> XdsConfig:
    """Our mesh: requests are hashed by the tenant, onto large rings."""
    return one_cluster(localities, policy=OURS, routes=[BY_TENANT])


def near(*addresses: str) -> Locality:
    return Locality(tuple(Endpoint(address) for address in addresses), name="near")


def far(*addresses: str) -> Locality:
    return Locality(tuple(Endpoint(address) for address in addresses), name="far", priority=1)


def tenants(count: int) -> list[dict[str, str]]:
    return [{"x-tenant": f"tenant-{number}"} for number in range(count)]


@pytest.mark.parametrize("tenant", ["acme", "", "tenant with spaces"])
async def test_a_tenant_stays_at_one_backend(world: World, tenant: str) -> None:
    await world.serve(mesh(near(*await world.addresses(3))))
    calls = await world.call([{"x-tenant": tenant}] * 20)
    assert {call.status for call in calls} == {"OK"}
    assert len({call.endpoint for call in calls}) == 1


async def test_each_tenant_is_where_the_ring_has_it(world: World) -> None:
    served = mesh(near(*await world.addresses(3)))
    await world.serve(served)
    calls = await world.call(tenants(100))
    world.expect(calls, served.matches_ring())
    await world.check("A42-HDR-02", calls, served.matches_ring())  # and as a clause of the suite


async def test_a_new_backend_takes_its_share(world: World) -> None:
    *old, new = await world.addresses(4)
    await world.serve(mesh(near(*old)))
    await world.require_served(tenants(1))
    after = mesh(near(*old, new))
    await world.serve(after)
    # An ACK comes before the new ring is in use: so the same calls are made until they fit.
    calls = await world.eventually(after.matches_ring(), lambda: world.call(tenants(100)))
    world.expect(calls, after.matches_ring())
    world.expect(calls, expectations.EachServesSome((new,)))


async def test_far_backends_are_for_when_no_near_one_is_there(world: World) -> None:
    broken = await world.endpoints(2, mode=Close())
    (spare,) = await world.endpoints(1)
    await world.serve(mesh(near(*(backend.address for backend in broken)), far(spare.address)))
    calls = await world.call(tenants(10))
    assert {call.endpoint for call in calls} == {spare.address}
    assert all(backend.attempts for backend in broken), "each near one is tried before"
