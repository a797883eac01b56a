"""One world a scenario: a control plane, a fleet, a client process, and what was seen of them."""

from client_under_test.launching.channels import CALL_ID_KEY, Channel, StateWatch
from conformance.world.calls import CONCURRENCY, DUPLEX, EMPTY, UNARY, Headers
from conformance.world.header_values import (
    BY_ARCS,
    ENOUGH_OF_EIGHT,
    ENOUGH_TO_DIFFER,
    ENOUGH_TO_SPREAD,
    ENOUGH_TO_TELL,
    ENOUGH_TO_WEIGH,
    ROUNDS,
    TURNS,
    TWICE_AS_MANY,
)
from conformance.world.launched import LaunchedClient, launch, launch_in
from conformance.world.pending_calls import PendingCalls
from conformance.world.world import PLAIN_ENDPOINTS, World

__all__ = [
    "BY_ARCS",
    "CALL_ID_KEY",
    "CONCURRENCY",
    "DUPLEX",
    "EMPTY",
    "ENOUGH_OF_EIGHT",
    "ENOUGH_TO_DIFFER",
    "ENOUGH_TO_SPREAD",
    "ENOUGH_TO_TELL",
    "ENOUGH_TO_WEIGH",
    "PLAIN_ENDPOINTS",
    "ROUNDS",
    "TURNS",
    "TWICE_AS_MANY",
    "UNARY",
    "Channel",
    "Headers",
    "LaunchedClient",
    "PendingCalls",
    "StateWatch",
    "World",
    "launch",
    "launch_in",
]
