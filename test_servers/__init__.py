"""A fleet of real gRPC backends, each behind a gate that can fail in scripted ways.

Beside it a name server, whose answers are scripted, too.
"""

from test_servers.backend_metrics import BackendMetrics
from test_servers.exceptions import (
    DeadlinePassed,
    FleetTrouble,
    NoSuchAddress,
    NotLoopback,
    PortForbidden,
    PortTaken,
)
from test_servers.fleet import Endpoint, Fleet
from test_servers.ledger import Attempt, Deed, Ledger, Rpc
from test_servers.modes import Close, Hold, Mode, Refuse, Serve, Stall
from test_servers.name_server import NameServer, Query
from test_servers.server_proxy import Door
from test_servers.zone import Answer, Found, NoSuchName, Question, ServerFailure, Silence

__all__ = [
    "Answer",
    "Attempt",
    "BackendMetrics",
    "Close",
    "DeadlinePassed",
    "Deed",
    "Door",
    "Endpoint",
    "Fleet",
    "FleetTrouble",
    "Found",
    "Hold",
    "Ledger",
    "Mode",
    "NameServer",
    "NoSuchAddress",
    "NoSuchName",
    "NotLoopback",
    "PortForbidden",
    "PortTaken",
    "Query",
    "Question",
    "Refuse",
    "Rpc",
    "Serve",
    "ServerFailure",
    "Silence",
    "Stall",
]
