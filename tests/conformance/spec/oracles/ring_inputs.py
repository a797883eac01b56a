"""Endpoints, localities and configs for tests of the ring."""

from hypothesis import strategies as st

from conformance.spec.oracles.ring.sizes import RingConfig
from conformance.spec.oracles.ring.weights import RingEndpoint, RingLocality, WeightedEndpoint


def endpoint(address: str, weight: int = 1, locality: str = "") -> WeightedEndpoint:
    return WeightedEndpoint(address=address, weight=weight, locality=locality)


def equal(count: int, first_port: int = 40001) -> tuple[WeightedEndpoint, ...]:
    return tuple(endpoint(f"127.0.0.1:{first_port + index}") for index in range(count))


def locality(name: str, weight: int | None, **endpoints: int) -> RingLocality:
    return RingLocality(
        name, tuple(RingEndpoint(address, each) for address, each in endpoints.items()), weight
    )


@st.composite
def endpoint_lists(draw: st.DrawFn, most: int = 6) -> tuple[WeightedEndpoint, ...]:
    ports = draw(st.lists(st.integers(1, 65535), min_size=1, max_size=most, unique=True))
    scale = draw(st.sampled_from([3, 50, 10**6]))
    return tuple(
        endpoint(f"127.0.0.1:{port}", draw(st.integers(1, scale)), draw(st.sampled_from("ab")))
        for port in ports
    )


@st.composite
def configs(draw: st.DrawFn) -> RingConfig:
    minimum = draw(st.integers(1, 300))
    maximum = draw(st.one_of(st.none(), st.integers(minimum, 400)))
    return RingConfig(minimum, maximum, draw(st.sampled_from([4096, 64])))
