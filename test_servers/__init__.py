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
from test_servers.fleet import BackendEndpoint, Fleet
from test_servers.ledger import Action, Attempt, Ledger, Rpc
from test_servers.modes import Close, Hold, Mode, Refuse, Serve, Stall
from test_servers.name_server import NameServer, Query
from test_servers.server_proxy import ServerProxy
from test_servers.zone import Answer, NameRecords, NoSuchName, Question, ServerFailure, Silence

__all__ = [
    "Action",
    "Answer",
    "Attempt",
    "BackendEndpoint",
    "BackendMetrics",
    "Close",
    "DeadlinePassed",
    "Fleet",
    "FleetTrouble",
    "Hold",
    "Ledger",
    "Mode",
    "NameRecords",
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
    "ServerProxy",
    "Silence",
    "Stall",
]
