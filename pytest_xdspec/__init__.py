"""Scenarios of your own against gRPC's xDS clients: a plugin for pytest, and the nouns for them.

``pytest -p pytest_xdspec --xdspec-client go tests/`` gives each test that asks for it the fixture
`world`: a control plane, a fleet of backends and a process of the client, for this test alone.

A test is a coroutine function. It serves something (`World.serve`), has the client make calls
(`World.call`), and looks at what was seen: by plain asserts, by an expectation that an oracle
computes (`World.expect`), or by a clause of the suite's catalogue, as the client's edition words it
(`World.judge`). The plugin has no entry point, so pytest loads it only on request.

What is in `__all__` is for scenarios; all else below may change with any version.
"""

from __future__ import annotations

from conformance.judging import expectations
from conformance.judging.declaration import Bootstrap
from conformance.judging.expectations import Expectation
from conformance.judging.observations import Attempts, Call, Calls, Contrast
from conformance.spec.oracles.request_hash import ChannelIdPolicy, HeaderPolicy
from conformance.world import DUPLEX, EMPTY, UNARY
from conformance.xds_config.clusters import (
    Aggregate,
    Cluster,
    Drop,
    Eds,
    LogicalDns,
    Threshold,
)
from conformance.xds_config.config import (
    XdsConfig,
    aggregate,
    logical_dns,
    merge,
    one_cluster,
    single_locality,
    weighted_locality,
)
from conformance.xds_config.endpoints import Endpoint, Locality
from conformance.xds_config.policies import RingHash, RoundRobin
from conformance.xds_config.routes import SESSION, Route
from pytest_xdspec.hooks import (
    pytest_addoption,
    pytest_collection_finish,
    pytest_configure,
    pytest_configure_node,
    pytest_generate_tests,
    pytest_pycollect_makeitem,
    pytest_report_header,
    pytest_runtest_call,
    pytest_runtest_makereport,
    pytest_runtest_protocol,
    pytest_xdist_setupnodes,
)
from pytest_xdspec.user_world import World
from pytest_xdspec.worlds import world, xdspec_subject, xdspec_worlds
from test_servers import Close, Hold, Mode, Refuse, Serve, Stall

__all__ = [
    "DUPLEX",
    "EMPTY",
    "SESSION",
    "UNARY",
    "Aggregate",
    "Attempts",
    "Bootstrap",
    "Call",
    "Calls",
    "ChannelIdPolicy",
    "Close",
    "Cluster",
    "Contrast",
    "Drop",
    "Eds",
    "Endpoint",
    "Expectation",
    "HeaderPolicy",
    "Hold",
    "Locality",
    "LogicalDns",
    "Mode",
    "Refuse",
    "RingHash",
    "RoundRobin",
    "Route",
    "Serve",
    "Stall",
    "Threshold",
    "World",
    "XdsConfig",
    "aggregate",
    "expectations",
    "logical_dns",
    "merge",
    "one_cluster",
    "single_locality",
    "weighted_locality",
]

# What pytest looks for in a plugin, beside what is for scenarios.
_OF_PYTEST = (
    pytest_addoption,
    pytest_collection_finish,
    pytest_configure,
    pytest_configure_node,
    pytest_generate_tests,
    pytest_pycollect_makeitem,
    pytest_report_header,
    pytest_runtest_call,
    pytest_runtest_makereport,
    pytest_runtest_protocol,
    pytest_xdist_setupnodes,
    world,
    xdspec_subject,
    xdspec_worlds,
)
