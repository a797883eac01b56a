"""outlier_detection: endpoints whose calls fail more than others' are ejected (A50, A61, A75)."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from client_under_test.reference.policies.configs import OutlierDetectionConfig
from client_under_test.reference.policies.family import Tools
from client_under_test.reference.policies.graceful_switch import Switch
from client_under_test.reference.policies.interface import (
    Actions,
    CancelTimer,
    CreateSubchannel,
    DropSubchannel,
    Event,
    HealthChanged,
    StartTimer,
    Subchannel,
    Timer,
    TimerFired,
    Update,
)
from client_under_test.reference.policies.ledger import CallCounter
from client_under_test.reference.policies.rules.outlier_detection import (
    Bucket,
    Ejection,
    FailurePercentage,
    OutlierSettings,
    SuccessRate,
)
from client_under_test.reference.values import Endpoint, HierarchicalPath

Key = frozenset[str]
"""The addresses of an endpoint (A61)."""


@dataclass(slots=True, eq=False)
class _Entry:
    """An endpoint: its counts in this interval and the last one, and whether it is ejected."""

    counter: CallCounter = field(default_factory=CallCounter)
    last: Bucket = field(default_factory=Bucket)
    ejection: Ejection = field(default_factory=Ejection)


class OutlierDetection:
    """The policy. It reports the state and the picker of its child.

    The ledger counts the calls on each subchannel. An ejection reaches the child as HealthChanged.
    """

    def __init__(self, tools: Tools, place: HierarchicalPath) -> None:
        self._tools = tools
        self._place = place
        self._child = Switch(tools, place)
        self._settings = OutlierSettings()
        self._entries: dict[Key, _Entry] = {}
        self._keys: dict[str, Key] = {}
        self._subchannels: dict[Subchannel, bool] = {}
        self._timer: Timer | None = None
        self._started: float | None = None

    def update(self, update: Update) -> Actions:
        """Take a list of endpoints and a config; give the list to the child."""
        if not isinstance(update.config, OutlierDetectionConfig):
            raise TypeError(update.config)
        if self._tools.rules.takes_new_settings or not self._entries:
            self._settings = update.config.settings
        self._take_list(update.endpoints)
        actions = self._configure()
        told = Update(config=update.config.child, endpoints=update.endpoints, note=update.note)
        actions += self._read(self._child.update(told))
        return actions + self._report_health()

    def handle(self, event: Event) -> Actions:
        """Sweep if the timer fires; hand on all other events."""
        if isinstance(event, TimerFired) and event.place == self._place:
            return self._sweep() if event.timer is self._timer else []
        return self._read(self._child.handle(event))

    def exit_idle(self) -> Actions:
        """Have the child connect, if IDLE."""
        return self._read(self._child.exit_idle())

    def close(self) -> Actions:
        """Close the child; cancel the timer."""
        return [*self._stop_timer(), *self._child.close()]

    # The map of endpoints.

    def _take_list(self, endpoints: tuple[Endpoint, ...]) -> None:
        rules = self._tools.rules
        listed = [key for each in endpoints for key in rules.outlier_keys(each.addresses)]
        self._keys = {address: key for key in listed for address in key}
        ejections = rules.entries_listed(
            {key: entry.ejection for key, entry in self._entries.items()}, listed
        )
        before, self._entries = self._entries, {}
        for key, ejection in ejections.items():
            entry = before.get(key) or _Entry()
            entry.ejection = ejection
            self._entries[key] = entry
        for subchannel in self._subchannels:
            self._count_calls_on(subchannel)

    def _count_calls_on(self, subchannel: Subchannel) -> None:
        entry = self._entry_of(subchannel)
        counter = None if entry is None else entry.counter
        self._tools.ledger.count_calls(subchannel, counter)

    def _entry_of(self, subchannel: Subchannel) -> _Entry | None:
        key = self._keys.get(subchannel.address)
        return None if key is None else self._entries.get(key)

    # The timer.

    def _configure(self) -> Actions:
        """Restart the timer by the config, or stop it and end all ejections."""
        rules = self._tools.rules
        actions = self._stop_timer()
        if not self._settings.is_on:
            self._started = None
            for entry in self._entries.values():
                entry.ejection = rules.after_noop(entry.ejection)
            return actions
        now = self._tools.ledger.now()
        since = None if self._started is None else now - self._started
        if since is None:
            self._started = now
        if rules.resets_counts(since):
            for entry in self._entries.values():
                entry.counter.bucket = Bucket()
        return actions + self._start_timer(rules.seconds_to_sweep(self._settings.interval, since))

    def _start_timer(self, seconds: float) -> Actions:
        self._timer = Timer(self._place, seconds, "the next sweep")
        return [StartTimer(self._timer)]

    def _stop_timer(self) -> Actions:
        timer, self._timer = self._timer, None
        return [] if timer is None else [CancelTimer(timer)]

    # A sweep.

    def _sweep(self) -> Actions:
        """Eject outliers by the counts of the last interval, then end ejections."""
        rules, now = self._tools.rules, self._tools.ledger.now()
        for entry in self._entries.values():
            entry.last = entry.counter.bucket
            entry.counter.bucket = rules.counts_after_sweep(entry.last)
        if self._settings.success_rate is not None:
            self._eject_by_success_rate(self._settings.success_rate, now)
        if self._settings.failure_percentage is not None:
            self._eject_by_failures(self._settings.failure_percentage, now)
        for entry in self._entries.values():
            entry.ejection = self._after_sweep(entry.ejection, now)
        self._timer = None
        self._started = now
        return self._report_health() + self._start_timer(self._settings.interval)

    def _eject_by_success_rate(self, config: SuccessRate, now: float) -> None:
        candidates = self._candidates(config.request_volume, config.minimum_hosts)
        if not candidates:
            return
        rules = self._tools.rules
        rates = [entry.last.successes / (entry.last.total or 1) for entry in candidates]
        threshold = rules.rate_threshold(rates, config.stdev_factor)
        for entry, rate in zip(candidates, rates, strict=True):
            if not self._may_eject():
                return
            if rules.rate_is_outlier(rate, threshold):
                self._draw(entry, config.enforcement_percentage, now)

    def _eject_by_failures(self, config: FailurePercentage, now: float) -> None:
        for entry in self._candidates(config.request_volume, config.minimum_hosts):
            if not self._may_eject():
                return
            percentage = 100 * entry.last.failures / (entry.last.total or 1)
            if self._tools.rules.failures_are_outlier(percentage, config.threshold):
                self._draw(entry, config.enforcement_percentage, now)

    def _candidates(self, request_volume: int, minimum_hosts: int) -> list[_Entry]:
        """Return the endpoints with enough requests; none if they are too few."""
        rules, entries = self._tools.rules, [*self._entries.values()]
        hosts = rules.hosts_with_volume([entry.last.total for entry in entries], request_volume)
        if not rules.hosts_are_enough(hosts, minimum_hosts):
            return []
        return [entry for entry in entries if rules.has_volume(entry.last.total, request_volume)]

    def _may_eject(self) -> bool:
        ejected = sum(entry.ejection.since is not None for entry in self._entries.values())
        percent = self._settings.max_ejection_percent
        return self._tools.rules.may_eject(ejected, len(self._entries), percent)

    def _draw(self, entry: _Entry, enforcement_percentage: int, now: float) -> None:
        if self._tools.rules.is_enforced(enforcement_percentage, self._tools.random):
            entry.ejection = self._tools.rules.ejected_again(entry.ejection, now)

    def _after_sweep(self, ejection: Ejection, now: float) -> Ejection:
        rules = self._tools.rules
        if ejection.since is None:
            multiplier = rules.calmed_multiplier(ejection.multiplier)
            return msgspec.structs.replace(ejection, multiplier=multiplier)
        seconds = rules.ejection_seconds(self._settings, ejection.multiplier)
        return rules.unejected(ejection) if now > ejection.since + seconds else ejection

    # Health.

    def _report_health(self) -> Actions:
        """Tell the child which subchannels are ejected now and which no longer are."""
        actions: Actions = []
        for subchannel, was_ejected in [*self._subchannels.items()]:
            entry = self._entry_of(subchannel)
            is_out = entry is not None and entry.ejection.since is not None
            is_ejected = self._tools.rules.tells_health(is_out)
            if is_ejected is not was_ejected and subchannel in self._subchannels:
                self._subchannels[subchannel] = is_ejected
                event = HealthChanged(subchannel, is_healthy=not is_ejected)
                actions += self._read(self._child.handle(event))
        return actions

    def _read(self, actions: Actions) -> Actions:
        """Note the child's subchannels; tell it of those that are ejected from the start."""
        is_new = False
        for action in actions:
            match action:
                case CreateSubchannel(subchannel):
                    self._subchannels[subchannel] = False
                    self._count_calls_on(subchannel)
                    is_new = True
                case DropSubchannel(subchannel):
                    self._subchannels.pop(subchannel, None)
        return actions + self._report_health() if is_new else actions
