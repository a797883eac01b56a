"""The registry of policies: configs in JSON form, and the policy for each config (A24, A52)."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import msgspec

from client_under_test.reference.policies.cluster_impl import ClusterImpl, ClusterResolver
from client_under_test.reference.policies.cluster_manager import ClusterManager, Failing, Waiting
from client_under_test.reference.policies.configs import (
    DEFAULT_MAXIMUM,
    DEFAULT_MINIMUM,
    RING_CAP,
    ClusterImplConfig,
    ClusterManagerConfig,
    ClusterResolverConfig,
    FailingConfig,
    LeastRequestConfig,
    OutlierDetectionConfig,
    OverrideHostConfig,
    PickFirstConfig,
    PriorityConfig,
    RingHashConfig,
    RoundRobinConfig,
    WaitingConfig,
    WeightedRoundRobinConfig,
    WeightedTargetConfig,
    WrrLocalityConfig,
)
from client_under_test.reference.policies.family import PolicyMaker, Tools
from client_under_test.reference.policies.interface import PolicyConfig
from client_under_test.reference.policies.least_request import LeastRequest
from client_under_test.reference.policies.ledger import Ledger
from client_under_test.reference.policies.outlier_detection import OutlierDetection
from client_under_test.reference.policies.override_host import OverrideHost
from client_under_test.reference.policies.pick_first import PickFirst
from client_under_test.reference.policies.priority import Priority
from client_under_test.reference.policies.ring_hash import RingHash
from client_under_test.reference.policies.round_robin import RoundRobin
from client_under_test.reference.policies.rules.least_request import choice_count
from client_under_test.reference.policies.rules.policy_rules import PolicyRules
from client_under_test.reference.policies.rules.ring_config import (
    request_hash_header_a76,
    ring_size_is_accepted,
    ring_sizes_fit,
)
from client_under_test.reference.policies.weighted_round_robin import WeightedRoundRobin
from client_under_test.reference.policies.weighted_target import WeightedTarget, WrrLocality

Fields = Mapping[str, Any]
HeaderReader = Callable[[Any], str | None]
Registered = Mapping[str, Callable[[Fields], PolicyConfig]]
"""Parsers of the policies that the application has registered, by name; they raise BadConfig."""


class Reading(msgspec.Struct, frozen=True):
    """The rules by which fields of configs are read."""

    ring_size_is_accepted: Callable[[int], bool]
    ring_sizes_fit: Callable[[int, int], bool]
    request_hash_header: HeaderReader
    ring_defaults: tuple[int, int]
    registered: Registered
    choice_count: Callable[[int | None], int | None]


Parser = Callable[[Fields, str, Reading], PolicyConfig]

_MAKERS: Final[Mapping[type[PolicyConfig], PolicyMaker]] = {
    ClusterImplConfig: ClusterImpl,
    ClusterManagerConfig: ClusterManager,
    ClusterResolverConfig: ClusterResolver,
    FailingConfig: Failing,
    LeastRequestConfig: LeastRequest,
    OutlierDetectionConfig: OutlierDetection,
    OverrideHostConfig: OverrideHost,
    PickFirstConfig: PickFirst,
    PriorityConfig: Priority,
    RingHashConfig: RingHash,
    RoundRobinConfig: RoundRobin,
    WaitingConfig: Waiting,
    WeightedRoundRobinConfig: WeightedRoundRobin,
    WeightedTargetConfig: WeightedTarget,
    WrrLocalityConfig: WrrLocality,
}


class BadConfig(Exception):
    """A config cannot be used; the message names the field, in JSON form, and says why."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")


def tools(
    rules: PolicyRules,
    *,
    random: random.Random,
    ledger: Ledger,
    ring_cap: int = RING_CAP,
    channel: int = 0,
) -> Tools:
    """Make the tools for the policies of a channel.

    Args:
        rules: the edition.
        random: the source of chance.
        ledger: shared by all channels of the process.
        ring_cap: A42-CONF-03, the local cap for ring sizes, in entries.
        channel: the channel's number in the process.
    """
    return Tools(
        rules=rules,
        random=random,
        ledger=ledger,
        ring_cap=ring_cap,
        channel=channel,
        makers=_MAKERS,
    )


def parse(
    configs: Sequence[Fields],
    *,
    ring_size_is_accepted: Callable[[int], bool] = ring_size_is_accepted,
    ring_sizes_fit: Callable[[int, int], bool] = ring_sizes_fit,
    request_hash_header: HeaderReader = request_hash_header_a76,
    ring_defaults: tuple[int, int] = (DEFAULT_MINIMUM, DEFAULT_MAXIMUM),
    registered: Registered = MappingProxyType({}),
    choice_count: Callable[[int | None], int | None] = choice_count,
    field: str = "",
) -> PolicyConfig:
    """A24, A52: parse the first config of a policy that is known; each has one key, its name.

    Args:
        configs: LoadBalancingConfig messages in JSON form.
        ring_size_is_accepted: tells whether a ring may be configured so large.
        ring_sizes_fit: tells whether a minimum and a maximum go together.
        request_hash_header: reads that field of ring_hash; `PolicyRules` has the one of an edition.
        ring_defaults: the sizes that a ring_hash config has where it sets none.
        registered: what the application has added to gRPC's own policies.
        choice_count: what least_request makes of that field, or of its lack; None is an error.
        field: where the list is, for errors.

    Raises:
        BadConfig: none is known, or the first that is known is not valid.
    """
    reading = Reading(
        ring_size_is_accepted,
        ring_sizes_fit,
        request_hash_header,
        ring_defaults,
        registered,
        choice_count,
    )
    return _parse(configs, field, reading)


def _parse(configs: Sequence[Fields], field: str, reading: Reading) -> PolicyConfig:
    for number, config in enumerate(configs):
        inner = f"{field}[{number}]"
        if not isinstance(config, Mapping):
            raise BadConfig(inner, "is not an object")
        for name, fields in config.items():
            if not is_known(name, reading.registered):
                continue
            if not isinstance(fields, Mapping):
                raise BadConfig(f"{inner}.{name}", "is not an object")
            if name in _PARSERS:
                return _PARSERS[name](fields, f"{inner}.{name}", reading)
            return _registered(fields, f"{inner}.{name}", reading.registered[name])
    raise BadConfig(field, "no supported policy in the list")


def is_known(name: str, registered: Registered = MappingProxyType({})) -> bool:
    """Tell whether a policy of that name can be configured."""
    return name in _PARSERS or name in registered


def _registered(
    fields: Fields, field: str, parser: Callable[[Fields], PolicyConfig]
) -> PolicyConfig:
    try:
        return parser(fields)
    except BadConfig as bad:
        raise BadConfig(field, str(bad)) from None


def _pick_first(fields: Fields, field: str, _reading: Reading) -> PolicyConfig:
    shuffle = fields.get("shuffleAddressList", False)
    if not isinstance(shuffle, bool):
        raise BadConfig(f"{field}.shuffleAddressList", "is not a boolean")
    return PickFirstConfig(shuffle=shuffle)


def _round_robin(_fields: Fields, _field: str, _reading: Reading) -> PolicyConfig:
    return RoundRobinConfig()


def _weighted_round_robin(fields: Fields, field: str, _reading: Reading) -> PolicyConfig:
    """Read times such as "1.5s", and the other fields as they are."""
    written: dict[str, Any] = {}
    for name in WeightedRoundRobinConfig.__struct_fields__:
        value = fields.get(_camel_case(name))
        if value is None:
            continue
        try:
            written[name] = _seconds(value) if name.endswith("_period") else value
        except ValueError:
            raise BadConfig(f"{field}.{_camel_case(name)}", f"{value!r} is no time") from None
    return WeightedRoundRobinConfig(**written)


def _camel_case(name: str) -> str:
    first, *words = name.split("_")
    return first + "".join(map(str.title, words))


def _seconds(written: object) -> float:
    if not isinstance(written, str) or not written.endswith("s"):
        raise ValueError(written)
    return float(written.removesuffix("s"))


def _least_request(fields: Fields, field: str, reading: Reading) -> PolicyConfig:
    written = fields.get("choiceCount")
    whole = None if written is None else _whole(written)
    count = None if whole is None and written is not None else reading.choice_count(whole)
    if count is None:
        raise BadConfig(f"{field}.choiceCount", f"{written!r} is not a whole number of two or more")
    return LeastRequestConfig(choice_count=count)


def _wrr_locality(fields: Fields, field: str, reading: Reading) -> PolicyConfig:
    name = "childPolicy" if "childPolicy" in fields else "child_policy"
    children = fields.get(name)
    if not isinstance(children, Sequence) or isinstance(children, str):
        raise BadConfig(f"{field}.{name}", "is not a list")
    return WrrLocalityConfig(child=_parse(children, f"{field}.{name}", reading))


def _ring_hash(fields: Fields, field: str, reading: Reading) -> PolicyConfig:
    """Return the config with its defaults, for use with or without xDS.

    Clauses: A42-CONF-06, A42-CONF-07, A52-CUSTOM-16.
    """
    least, most = reading.ring_defaults
    minimum = _ring_size(fields, "minRingSize", least, field, reading)
    maximum = _ring_size(fields, "maxRingSize", most, field, reading)
    if not reading.ring_sizes_fit(minimum, maximum):
        raise BadConfig(f"{field}.minRingSize", f"{minimum} is above maxRingSize {maximum}")
    name = reading.request_hash_header(fields.get("requestHashHeader", ""))
    if name is None:
        raise BadConfig(f"{field}.requestHashHeader", "is not the name of a text header")
    return RingHashConfig(minimum=minimum, maximum=maximum, request_hash_header=name)


def _ring_size(fields: Fields, name: str, default: int, field: str, reading: Reading) -> int:
    value = fields.get(name, default)
    size = _whole(value)
    if size is None:
        raise BadConfig(f"{field}.{name}", f"{value!r} is not a whole number")
    if not reading.ring_size_is_accepted(size):
        raise BadConfig(f"{field}.{name}", f"{size} is not between 1 and 8388608")
    return size


def _whole(value: Any) -> int | None:
    """Read a 64-bit number, which JSON has as a string, or a Struct as a float."""
    try:
        size = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    if isinstance(value, bool) or (isinstance(value, float) and size != value):
        return None
    return size


_PARSERS: Final[Mapping[str, Parser]] = {
    "least_request_experimental": _least_request,
    "pick_first": _pick_first,
    "ring_hash_experimental": _ring_hash,
    "round_robin": _round_robin,
    "weighted_round_robin": _weighted_round_robin,
    "xds_wrr_locality_experimental": _wrr_locality,
}
