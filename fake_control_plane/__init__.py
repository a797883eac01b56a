"""A scriptable fake xDS control plane: ADS and LRS over gRPC, and a transcript of all of it."""

from __future__ import annotations

from fake_control_plane.events import (
    Dropped,
    Event,
    Identity,
    LoadRequest,
    LoadResponse,
    Note,
    Request,
    Response,
    Service,
    Side,
    StreamClosed,
    StreamOpened,
)
from fake_control_plane.exceptions import (
    BadFault,
    BadResource,
    BadResourceFile,
    ControlPlaneTrouble,
    DeadlinePassed,
    NoSuchFolder,
    PortTaken,
    TokenNeeded,
)
from fake_control_plane.export import read_events, write_events
from fake_control_plane.faults import ExtraResponse, Nonce, UnknownTypeResponse
from fake_control_plane.kinds import Kind
from fake_control_plane.load_reporting import OF_ALL, LoadReporting
from fake_control_plane.loads import (
    UTILIZATIONS,
    ClusterLoad,
    Drops,
    EndpointLoad,
    Load,
    Loads,
    Locality,
    LocalityLoad,
    MetricLoad,
)
from fake_control_plane.route_matches import Denominator, HeaderMatch, RouteMatch, RuntimeFraction
from fake_control_plane.script import Script
from fake_control_plane.server import ControlPlane
from fake_control_plane.snapshot import Packed, RawResource
from fake_control_plane.stream import AckOrNack
from fake_control_plane.transcript import Push, Transcript

__all__ = [
    "OF_ALL",
    "UTILIZATIONS",
    "AckOrNack",
    "BadFault",
    "BadResource",
    "BadResourceFile",
    "ClusterLoad",
    "ControlPlane",
    "ControlPlaneTrouble",
    "DeadlinePassed",
    "Denominator",
    "Dropped",
    "Drops",
    "EndpointLoad",
    "Event",
    "ExtraResponse",
    "HeaderMatch",
    "Identity",
    "Kind",
    "Load",
    "LoadReporting",
    "LoadRequest",
    "LoadResponse",
    "Loads",
    "Locality",
    "LocalityLoad",
    "MetricLoad",
    "NoSuchFolder",
    "Nonce",
    "Note",
    "Packed",
    "PortTaken",
    "Push",
    "RawResource",
    "Request",
    "Response",
    "RouteMatch",
    "RuntimeFraction",
    "Script",
    "Service",
    "Side",
    "StreamClosed",
    "StreamOpened",
    "TokenNeeded",
    "Transcript",
    "UnknownTypeResponse",
    "read_events",
    "write_events",
]
