"""What one process of the client holds: its conduct, the control plane, the ledger, channels."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from typing import Final

from client_under_test.reference.channel.balancer import ChannelContext
from client_under_test.reference.channel.channel import Channel
from client_under_test.reference.editions.behavior import Behavior
from client_under_test.reference.policies import registry
from client_under_test.reference.policies.configs import RING_CAP, PickFirstConfig
from client_under_test.reference.policies.interface import PolicyConfig
from client_under_test.reference.policies.ledger import Ledger
from client_under_test.reference.resolving.context import ResolverContext
from client_under_test.reference.resolving.resolver import (
    NOWHERE,
    DnsResolver,
    Resolver,
    Sink,
    XdsResolver,
)
from client_under_test.reference.resolving.selector import FailingSelector
from client_under_test.reference.transport.clock import Clock
from client_under_test.reference.transport.dns import MIN_INTERVAL
from client_under_test.reference.transport.subchannels import CONNECT_TIMEOUT, BackoffDelay
from client_under_test.reference.values import Status
from client_under_test.reference.xds import bootstrap, messages
from client_under_test.reference.xds.client import XdsClient

OPTIONS: Final = frozenset(
    {
        "ring_size_cap",
        "initial_backoff_ms",
        "max_backoff_ms",
        "connect_timeout_ms",
        "failover_timeout_ms",
        "dns_min_interval_ms",
    }
)
"""Options of channels, by the names of the suite's knobs."""

_MILLIS: Final = 1000


class BadOption(Exception):
    """An option that there is not, or a value that it cannot have."""


class Client:
    """Makes channels. The control plane is not spoken to before a channel needs it."""

    def __init__(self, conduct: Behavior, clock: Clock, rng: random.Random) -> None:
        self._conduct = conduct
        self._clock = clock
        self._rng = rng
        self._ledger = Ledger(conduct.rules)
        self._numbers = count()
        self._registered: dict[str, Callable[[registry.Fields], PolicyConfig]] = {}
        self._xds: list[XdsClient] = []

    def register_policy(self, name: str, parser: Callable[[registry.Fields], PolicyConfig]) -> None:
        """Add a policy to the registry (A52), by the parser of its config.

        The parser raises BadConfig for one that cannot be used.
        """
        self._registered[name] = parser

    def open_channel(
        self, target: str, options: Mapping[str, int | str], service_config: str | None = None
    ) -> Channel:
        """Open a channel, without connecting: `xds:///name`, `dns:///host:port` or `host:port`.

        Raises:
            BadOption: an option is unknown or has no number.
            BadConfig, ValueError: the service config, as JSON text, cannot be used. It is for
                names that bring none of their own.
        """
        policy = self._policy(service_config)
        numbers = _numbers(options)
        rules = self._conduct.rules
        delay = _backoff_delay(rules.backoff_delay, numbers)
        failover = numbers.get("failover_timeout_ms", rules.failover_seconds * _MILLIS) / _MILLIS
        rules = replace(rules, backoff_delay=delay, failover_seconds=failover)
        means = ResolverContext(
            clock=self._clock,
            rules=rules,
            rng=self._rng,
            backoff_delay=delay,
            dns_min_interval=numbers.get("dns_min_interval_ms", MIN_INTERVAL * _MILLIS) / _MILLIS,
        )
        scheme, _, rest = target.rpartition("///")
        resolve = (
            self._xds_resolve(rest, means)
            if scheme == "xds:"
            else _dns_resolve(rest, policy, means)
        )
        return Channel(
            rest,
            resolve,
            registry.tools(
                rules,
                random=self._rng,
                ledger=self._ledger,
                ring_cap=int(numbers.get("ring_size_cap", RING_CAP)),
                channel=next(self._numbers),
            ),
            ChannelContext(
                clock=self._clock,
                backoff_delay=delay,
                connect_timeout=numbers.get("connect_timeout_ms", CONNECT_TIMEOUT * _MILLIS)
                / _MILLIS,
                rng=self._rng,
                sharing_key=rules.sharing_key,
            ),
            rules,
        )

    def _policy(self, service_config: str | None) -> PolicyConfig:
        """A24: what the service config wants names balanced by that bring none."""
        if service_config is None:
            return PickFirstConfig()
        configs = json.loads(service_config).get("loadBalancingConfig")
        if configs is None:
            return PickFirstConfig()
        return registry.parse(configs, registered=self._registered, field="loadBalancingConfig")

    def _xds_resolve(self, name: str, means: ResolverContext) -> Callable[[Sink], Resolver]:
        channel_id = means.rules.draw_channel_id(self._rng)

        def resolve(sink: Sink) -> Resolver:
            try:
                client = self._xds_client()
            except (bootstrap.BadBootstrap, messages.BadNode) as bad:
                return _FailedResolver(Status.unavailable(str(bad)), sink)
            return XdsResolver(name, client, channel_id=channel_id, means=means, sink=sink)

        return resolve

    def _xds_client(self) -> XdsClient:
        """Return the process's xDS client, made at the first use; or a new one for each channel.

        Raises:
            BadBootstrap, BadNode: the bootstrap configuration cannot be used.
        """
        rules = replace(self._conduct.xds, registered_policies=self._registered)
        if not self._xds or not rules.channels_share_a_stream:
            made = XdsClient(
                bootstrap.from_environment(),
                clock=self._clock,
                backoff_delay=self._conduct.rules.backoff_delay,
                rules=rules,
                ledger=self._ledger,
                rng=self._rng,
            )
            self._xds.append(made)
        return self._xds[-1]

    def close(self) -> None:
        """Leave the control plane. Channels are closed before."""
        for client in self._xds:
            client.close()


def _dns_resolve(
    name: str, policy: PolicyConfig, means: ResolverContext
) -> Callable[[Sink], Resolver]:
    return lambda sink: DnsResolver(name, policy, means, sink)


class _FailedResolver:
    """For a target that cannot be resolved at all."""

    def __init__(self, status: Status, sink: Sink) -> None:
        asyncio.get_running_loop().call_soon(sink.resolved, FailingSelector(status), NOWHERE)

    def resolve_again(self) -> None:
        """Do nothing: another resolution returns the same addresses."""

    def hold(self, cluster: str) -> None:
        """There is nothing to keep."""

    def release(self, cluster: str) -> None:
        """There is nothing to keep."""

    def close(self) -> None:
        """There is nothing to end."""


def _numbers(options: Mapping[str, int | str]) -> dict[str, float]:
    numbers: dict[str, float] = {}
    for name, value in options.items():
        if name not in OPTIONS:
            raise BadOption(f"there is no option {name}")
        if not isinstance(value, int) or value < 0:
            raise BadOption(f"option {name} must be a number, not {value!r}")
        numbers[name] = value
    return numbers


def _backoff_delay(rule: BackoffDelay, numbers: Mapping[str, float]) -> BackoffDelay:
    """Return the backoff rule, with the first and the last delay that the application sets."""
    initial = numbers.get("initial_backoff_ms", _MILLIS) / _MILLIS
    longest = numbers.get("max_backoff_ms")
    if longest is None:
        return rule if initial == 1 else lambda failures, draw: rule(failures, draw) * initial
    return lambda failures, draw: min(rule(failures, draw) * initial, longest / _MILLIS)
