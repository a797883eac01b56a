"""The XdsClient of a process: one connection to the control plane, an ADS and an LRS stream."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from envoy.service.discovery.v3 import discovery_pb2
from envoy.service.load_stats.v3 import lrs_pb2
from google.protobuf.message import DecodeError

from client_under_test.reference.policies.ledger import Ledger
from client_under_test.reference.transport.clock import Clock, Timer
from client_under_test.reference.transport.subchannels import BackoffDelay, LiveSubchannel
from client_under_test.reference.values import State, Status
from client_under_test.reference.xds import messages
from client_under_test.reference.xds.ads import (
    Ads,
    CancelTimer,
    Changed,
    Outcome,
    Output,
    Request,
    StartTimer,
)
from client_under_test.reference.xds.bootstrap import Bootstrap
from client_under_test.reference.xds.lrs import Lrs
from client_under_test.reference.xds.resources.kinds import Kind
from client_under_test.reference.xds.rules import XdsRules
from client_under_test.reference.xds.streams import KeptStream

_ADS: Final = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"
_LRS: Final = "/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats"

# A server that asks for reports without a pause would be sent nothing else.
_SHORTEST_INTERVAL: Final = 0.05


class Watch:
    """The interest of one party in one resource."""

    def __init__(self, client: XdsClient, key: tuple[Kind, str], tell: Callable[[], None]) -> None:
        self._client = client
        self.key: Final = key
        self._tell = tell
        self._is_live = True

    @property
    def outcome(self) -> Outcome | None:
        """What is known; None: nothing yet."""
        return self._client.outcome(self.key)

    def cancel(self) -> None:
        """Be told no more."""
        if self._is_live:
            self._is_live = False
            self._client.unwatch(self)

    def tell(self) -> None:
        """Say that there is news."""
        if self._is_live:
            self._tell()


class XdsClient:
    """Resources for all channels of the process, and the load that they cause.

    Args:
        bootstrap: where the control plane is.
        clock: where timers come from.
        backoff_delay: times between attempts and streams.
        rules: how xDS is read.
        ledger: where the load is counted.
        rng: where jitter comes from.
    """

    def __init__(
        self,
        bootstrap: Bootstrap,
        *,
        clock: Clock,
        backoff_delay: BackoffDelay,
        rules: XdsRules,
        ledger: Ledger,
        rng: random.Random,
    ) -> None:
        self._clock = clock
        self._rules = rules = replace(
            rules,
            certificate_providers=bootstrap.certificate_providers,
            server_features=rules.read_server_features(bootstrap.server_features),
        )
        self._loop = asyncio.get_running_loop()
        self._node = messages.node(bootstrap.node)
        self._ads = Ads(rules)
        self._lrs = Lrs(ledger.take, self._loop.time(), rules)
        self._watches: dict[tuple[Kind, str], list[Watch]] = {}
        self._timers: dict[tuple[Kind, str], Timer] = {}
        self._report_timer: asyncio.TimerHandle | None = None
        self._flush_due = False
        self._is_asked_for_load = self._endpoints_asked_for = False
        self._reporters = 0
        self._load_streams = 0
        self._link = LiveSubchannel(
            bootstrap.server,
            clock=clock,
            backoff_delay=backoff_delay,
            rng=rng,
            on_change=self._on_link,
        )
        self._ads_stream, self._lrs_stream = (
            KeptStream(
                path,
                user,
                authority=bootstrap.server,
                clock=clock,
                backoff_delay=backoff_delay,
                rng=rng,
                **conduct,
            )
            for path, user, conduct in (
                (_ADS, _AdsUser(self), _of_ads_streams(rules)),
                (_LRS, _LrsUser(self), _of_load_streams(rules)),
            )
        )

    # What channels ask for.

    def watch(self, kind: Kind, name: str, tell: Callable[[], None]) -> Watch:
        """Want a resource; `tell` is called, never from within, whenever there is news of it."""
        key = (kind, name)
        watch = Watch(self, key, tell)
        watches = self._watches.setdefault(key, [])
        watches.append(watch)
        if len(watches) == 1:
            self._ads.subscribe(kind, name)
            self._update_soon()
        elif watch.outcome is not None:
            self._loop.call_soon(watch.tell)
        return watch

    def unwatch(self, watch: Watch) -> None:
        """End a watch."""
        watches = self._watches[watch.key]
        watches.remove(watch)
        if not watches:
            del self._watches[watch.key]
            if watch.key[0] is Kind.CLUSTER and not self._rules.stream_serves_all_clusters:
                self._lrs_stream.want(wanted=False)
            self._do(self._ads.unsubscribe(*watch.key))
            self._update_soon()

    def outcome(self, key: tuple[Kind, str]) -> Outcome | None:
        """Return the known result for a watched resource."""
        return self._ads.outcome(*key) if key in self._watches else None

    def report_loads(self, *, begin: bool) -> None:
        """Add a user of load reporting, or remove one."""
        self._reporters += 1 if begin else -1
        self._update_soon()

    def close(self) -> None:
        """End everything."""
        self._watches.clear()
        for timer in self._timers.values():
            timer.cancel()
        if self._report_timer is not None:
            self._report_timer.cancel()
        self._ads_stream.close()
        self._lrs_stream.close()
        self._link.close()

    # The connection, and the messages to send.

    def _update_soon(self) -> None:
        """Look once, after all changes of this round of the loop, at what they ask for."""
        if not self._flush_due:
            self._flush_due = True
            self._loop.call_soon(self._update)

    def _update(self) -> None:
        self._flush_due = False
        if self._is_needed:
            self._link.connect()
        self._ads_stream.want(wanted=self._ads.is_wanted)
        self._lrs_stream.want(wanted=self._rules.keeps_load_stream(self._reporters))
        self._do(self._ads.due())

    @property
    def _is_needed(self) -> bool:
        return self._ads.is_wanted or self._reporters > 0

    def _on_link(self, state: State, status: Status | None) -> None:
        self._ads_stream.use(self._link.connection)
        self._lrs_stream.use(self._link.connection)
        if state is State.IDLE and self._is_needed:
            self._loop.call_soon(self._link.connect)
        elif state is State.TRANSIENT_FAILURE and status is not None:
            self._do(self._ads.unreachable(status))

    # ADS.

    def on_ads_started(self) -> None:
        """Ask for everything."""
        self._do(self._ads.stream_started())

    def on_ads_message(self, data: bytes) -> None:
        """Take a response; one that is not even a message is passed over."""
        if not self._rules.accepts_size(len(data)):
            return
        try:
            response: Any = discovery_pb2.DiscoveryResponse.FromString(data)
        except DecodeError:
            return
        self._do(
            self._ads.response(
                response.type_url, response.version_info, response.nonce, response.resources
            )
        )

    def on_ads_ended(self, status: Status) -> None:
        """Keep what is known."""
        self._do(self._ads.stream_ended(status))

    def _do(self, outputs: list[Output]) -> None:
        for output in outputs:
            match output:
                case Request():
                    self._ads_stream.send(messages.discovery_request(output, self._node))
                case StartTimer(kind, name):
                    self._timers[kind, name] = self._clock.call_later(
                        self._rules.resource_timeout(self._rules.server_features)[0],
                        lambda kind=kind, name=name: self._on_timer(kind, name),  # type: ignore[misc]
                    )
                case CancelTimer(kind, name):
                    self._timers.pop((kind, name)).cancel()
                case Changed(kind, name):
                    if kind is Kind.CLUSTER and not self._rules.stream_outlives_updates:
                        self._lrs_stream.want(wanted=False)
                        self._update_soon()
                    watches = self._watches.get((kind, name), ())
                    for watch in self._rules.watchers_to_notify(watches):
                        self._loop.call_soon(watch.tell)

    def _on_timer(self, kind: Kind, name: str) -> None:
        self._timers.pop((kind, name), None)
        self._do(self._ads.timer_fired(kind, name))

    # LRS.

    def on_lrs_started(self) -> None:
        """Say who reports."""
        self._lrs.stream_started()
        due = []
        if self._is_asked_for_load and not self._rules.waits_for_load_request:
            due = self._lrs.report(self._loop.time())
        self._load_streams += 1
        who = self._node if self._rules.sends_node_alone(self._load_streams) else None
        self._lrs_stream.send(messages.first_load_request(who, self._rules.load_features, due))

    def on_lrs_message(self, data: bytes) -> None:
        """Take a LoadStatsResponse: the server's requests from now on."""
        try:
            response: Any = lrs_pb2.LoadStatsResponse.FromString(data)
        except DecodeError:
            return
        self._is_asked_for_load = True
        self._endpoints_asked_for = response.report_endpoint_granularity
        self._lrs.response(
            response.clusters,
            wants_all=response.send_all_clusters,
            interval=messages.seconds_of(response.load_reporting_interval),
        )
        self._report_later()

    def on_lrs_ended(self) -> None:
        """Nothing is reported until there is another stream; what is counted stays."""
        if self._report_timer is not None:
            self._report_timer.cancel()
            self._report_timer = None

    def _report_later(self) -> None:
        if self._report_timer is not None:
            self._report_timer.cancel()
        interval = max(self._lrs.time_to_report, _SHORTEST_INTERVAL)
        # The server's own time, so not the specifications' clock.
        self._report_timer = self._loop.call_later(interval, self._report)

    def _report(self) -> None:
        due = self._lrs.report(self._loop.time())
        endpoints = self._endpoints_asked_for and self._rules.reports_endpoints
        if due or self._rules.reports_no_load:
            self._lrs_stream.send(messages.load_request(due, endpoints=endpoints))
        self._report_later()


def _of_ads_streams(rules: XdsRules) -> dict[str, Any]:
    """Return the rules of ADS streams that differ from LRS."""
    return {
        "backoff_failures": rules.ads_backoff_failures,
        "response_ends_backoff": rules.ads_response_ends_backoff,
    }


def _of_load_streams(rules: XdsRules) -> dict[str, Any]:
    """Return the rules of LRS streams that differ from ADS."""
    return {
        "reopens": rules.reopens_load_stream,
        "backoff_failures": rules.load_backoff_failures,
        "response_ends_backoff": rules.load_response_ends_backoff,
    }


class _AdsUser:
    def __init__(self, client: XdsClient) -> None:
        self.started = client.on_ads_started
        self.message = client.on_ads_message
        self.ended = client.on_ads_ended


class _LrsUser:
    def __init__(self, client: XdsClient) -> None:
        self.started = client.on_lrs_started
        self.message = client.on_lrs_message
        self._client = client

    def ended(self, _status: Status) -> None:
        self._client.on_lrs_ended()
