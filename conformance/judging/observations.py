"""What was seen: plain frozen data, written to evidence and judged again without a client."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from conformance.spec.oracles.backend_metrics import BackendReports, Metric, Sum
from conformance.spec.oracles.load import Dropped, Load, LoadKey, Received
from conformance.spec.oracles.soak import Fault, Listing, Request

OPEN = "OPEN"
"""In place of the status of a stream that has its response headers, and has not ended."""

WAITING = "WAITING"
"""In place of the status of a stream that has neither its response headers nor ended."""


class Call(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One RPC: what the client was asked to send, what it says, and where it really went."""

    id: str
    channel: str
    path: str
    metadata: tuple[tuple[str, str], ...]
    """In the order sent; values of ``-bin`` keys in base64."""
    status: str
    """gRPC's name of the status, as the client reports it; or one of the two above."""
    details: str = ""
    endpoint: str | None = None
    """``ip:port`` of the endpoint whose backend received it; None: no backend did."""
    headers: tuple[tuple[str, str], ...] = ()
    """The response headers but the one that names the backend, if the client reports them."""


class Calls(msgspec.Struct, frozen=True, tag="calls"):
    """RPCs, in the order in which the scenario requested them."""

    calls: tuple[Call, ...]
    overdue: bool = False
    """True if the calls were repeated until they fit, and the deadline passed."""

    def __iter__(self) -> Iterator[Call]:
        """Go over the calls."""
        return iter(self.calls)

    def __len__(self) -> int:
        """How many calls."""
        return len(self.calls)

    def taken_for(self, addresses: Mapping[str, str]) -> Calls:
        """Return the calls with some endpoint addresses replaced."""
        where = {
            address: addresses.get(address, address)
            for address in {c.endpoint for c in self}
            if address
        }
        calls = (msgspec.structs.replace(c, endpoint=where.get(c.endpoint or "")) for c in self)
        return msgspec.structs.replace(self, calls=tuple(calls))


class Contrast(msgspec.Struct, frozen=True, tag="contrast"):
    """Equal requests before and after a change, pairwise by position."""

    before: Calls
    after: Calls


class Answer(msgspec.Struct, frozen=True, tag="answer", kw_only=True):
    """How the client answered a response of the control plane."""

    kind: str
    """``LDS``, ``RDS``, ``CDS`` or ``EDS``."""
    version: str
    acked: bool
    error_detail: str = ""
    """The message of a NACK."""
    told: str = ""
    """The version that the answer names."""
    accepted: str = ""
    """The last version that the client had accepted before."""
    nonce: str = ""
    """The nonce that the answer names; empty in older evidence."""


class Connections(msgspec.Struct, frozen=True, tag="connections"):
    """Connection attempts at each endpoint, by address."""

    attempts: dict[str, int]


class Attempt(msgspec.Struct, frozen=True):
    """A connection that an endpoint's gate accepted; seconds since the scenario began."""

    address: str
    at: float
    ended_at: float | None = None


class Attempts(msgspec.Struct, frozen=True, tag="attempts"):
    """Attempts to connect, in the order in which they were accepted."""

    attempts: tuple[Attempt, ...]
    lateness: float = 0.0
    """By how much the suite itself was late meanwhile, at worst; in seconds."""


class Reported(msgspec.Struct, frozen=True):
    """A connectivity state that a channel reported; seconds since the scenario began."""

    state: str
    at: float


class States(msgspec.Struct, frozen=True, tag="states"):
    """The states of one channel, as the client reports them, oldest first."""

    states: tuple[Reported, ...]


class Elapsed(msgspec.Struct, frozen=True, tag="elapsed", kw_only=True):
    """The time from one event to another, both seen by the suite itself."""

    since: str
    until: str
    seconds: float
    lateness: float
    """By how much the suite itself was late meanwhile, at worst; in seconds."""


class ReportedLoad(msgspec.Struct, frozen=True):
    """The load of one place, summed over all reports."""

    place: LoadKey
    load: Load


class Loads(msgspec.Struct, frozen=True, tag="loads", kw_only=True):
    """The backends' counts and the reported load."""

    received: tuple[Received, ...]
    reported: tuple[ReportedLoad, ...]
    clusters: tuple[str, ...]
    """Those that a report named, with or without any load."""
    lost: int = 0
    """Calls that failed and that no backend received, if they count."""
    dropped: tuple[Dropped, ...] = ()
    """Requests that were reported as dropped, cluster by cluster."""


class ReportOfACluster(msgspec.Struct, frozen=True, kw_only=True):
    """One report's entry for one cluster."""

    cluster: str
    loads: tuple[ReportedLoad, ...]
    """Locality by locality, those with nothing but zeros, too."""
    endpoints: int = 0
    """The number of endpoints that the entry lists individually."""


class LoadReport(msgspec.Struct, frozen=True, kw_only=True):
    """One request on a load stream; the first has no load."""

    stream: int
    node: str = ""
    """The id that it gives, if it says which node this is."""
    features: tuple[str, ...] = ()
    clusters: tuple[ReportOfACluster, ...] = ()


class LoadReports(msgspec.Struct, frozen=True, tag="load_reports"):
    """Requests on load streams, oldest first."""

    reports: tuple[LoadReport, ...]
    streams: int
    """How many load streams were begun."""
    ended: int = 0
    """How many of them the client has ended."""


class ReportedMetrics(msgspec.Struct, frozen=True):
    """The metrics of one place, summed over all reports."""

    place: LoadKey
    sums: tuple[tuple[Metric, Sum], ...]


class Metrics(msgspec.Struct, frozen=True, tag="metrics"):
    """The backends' own metrics and the reported metrics."""

    told: tuple[BackendReports, ...]
    reported: tuple[ReportedMetrics, ...]


class SoakCourse(msgspec.Struct, frozen=True, tag="course", kw_only=True):
    """Requests, and what was done to endpoints and lists meanwhile; seconds since the beginning."""

    requests: tuple[Request, ...]
    listings: tuple[Listing, ...]
    faults: tuple[Fault, ...]
    lateness: float
    """By how much the suite itself was late meanwhile, at worst; in seconds."""


class SubscriptionRequest(msgspec.Struct, frozen=True):
    """A discovery request: all that the client wants of one kind from then on."""

    kind: str
    """``LISTENER``, ``ROUTE``, ``CLUSTER`` or ``ENDPOINTS``."""
    names: tuple[str, ...]
    stream: int
    is_outdated: bool = False
    """True if it has no nonce, or an older one than a request of its kind and stream before it."""
    nonce: str | None = None
    """Its nonce; None in evidence of before nonces were recorded."""
    due: str = ""
    """The nonce that an outdated request should have; empty in older evidence."""


class Subscriptions(msgspec.Struct, frozen=True, tag="subscriptions"):
    """Discovery requests, oldest first."""

    requests: tuple[SubscriptionRequest, ...]


class StreamRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A discovery request, as one of its stream."""

    stream: int
    kind: str
    """``LISTENER``, ``ROUTE``, ``CLUSTER`` or ``ENDPOINTS``."""
    names: tuple[str, ...]
    node: str = ""
    """The node id; empty if the request has no node."""
    version: str = ""
    accepted: str = ""
    """The version of this kind that the client had ACKed last, on this or an earlier stream."""
    is_wildcard: bool = False
    """True if it subscribes to all resources of the kind."""
    has_foreign_nonce: bool = False
    """True if no response of its kind and stream had its nonce."""


class StreamRequests(msgspec.Struct, frozen=True, tag="stream_requests"):
    """Discovery requests on all streams, oldest first."""

    requests: tuple[StreamRequest, ...]

    def first_of_streams(self) -> tuple[StreamRequest, ...]:
        """Return the first request of each stream."""
        return tuple({each.stream: each for each in reversed(self.requests)}.values())[::-1]

    def first_of_kinds(self) -> tuple[StreamRequest, ...]:
        """Return the first request of each kind on each stream."""
        first = {(each.stream, each.kind): each for each in reversed(self.requests)}
        return tuple(first.values())[::-1]

    def subscribed_on_last_stream(self) -> dict[str, tuple[str, ...]]:
        """Return the names in the last request of each kind on the newest stream."""
        newest = max((each.stream for each in self.requests), default=0)
        return {each.kind: each.names for each in self.requests if each.stream == newest}


class Lookup(msgspec.Struct, frozen=True):
    """What the name server was asked; seconds since the scenario began."""

    name: str
    kind: str
    """The record type, such as ``A`` or ``TXT``."""
    at: float


class Lookups(msgspec.Struct, frozen=True, tag="lookups"):
    """What the client asked the name server, oldest first."""

    lookups: tuple[Lookup, ...]


class PolicyUpdate(msgspec.Struct, frozen=True):
    """What an instance of a policy that the suite has registered was given, as the adapter says."""

    instance: int
    config: str
    """JSON text."""
    endpoints: tuple[tuple[str, ...], ...]
    """The addresses of each, in the order in which they were given."""


class PolicyUpdates(msgspec.Struct, frozen=True, tag="policy_updates"):
    """What all instances of one policy were given, oldest first."""

    updates: tuple[PolicyUpdate, ...]

    def latest(self) -> tuple[PolicyUpdate, ...]:
        """Return the last update of each instance."""
        return tuple({update.instance: update for update in self.updates}.values())


Observation = (
    Calls
    | Contrast
    | Answer
    | Connections
    | Attempts
    | States
    | Elapsed
    | Loads
    | LoadReports
    | Metrics
    | SoakCourse
    | Subscriptions
    | StreamRequests
    | Lookups
    | PolicyUpdates
)
