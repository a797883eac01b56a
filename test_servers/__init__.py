"""A fleet of real gRPC backends, each behind a gate that can fail in scripted ways."""

from test_servers.backend_metrics import BackendMetrics
from test_servers.door import Door
from test_servers.exceptions import DeadlinePassed, FleetTrouble, NotLoopback, PortTaken
from test_servers.fleet import Endpoint, Fleet
from test_servers.ledger import Attempt, Ledger, Rpc
from test_servers.modes import Close, Hold, Mode, Refuse, Serve, Stall

__all__ = [
    "Attempt",
    "BackendMetrics",
    "Close",
    "DeadlinePassed",
    "Door",
    "Endpoint",
    "Fleet",
    "FleetTrouble",
    "Hold",
    "Ledger",
    "Mode",
    "NotLoopback",
    "PortTaken",
    "Refuse",
    "Rpc",
    "Serve",
    "Stall",
]
