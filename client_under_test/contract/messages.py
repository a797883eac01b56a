"""Define every message between the suite and an adapter; contract.md explains them.

Each message is one JSON object on a line, in UTF-8. `schema` makes `contract.schema.json` of these
types.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

# What the suite speaks. An adapter speaks one of them: what is new in 2 is marked, and is not asked
# of one that speaks 1.
VERSIONS: Final = (1, 2)
NEWEST: Final = VERSIONS[-1]

# As many as every JSON parser keeps exactly: 285 years.
MOST_MICROS: Final = 2**53 - 1

Id = Annotated[int, msgspec.Meta(ge=0)]
Micros = Annotated[int, msgspec.Meta(ge=0, le=MOST_MICROS, description="microseconds")]
At = Annotated[
    int,
    msgspec.Meta(ge=0, le=MOST_MICROS, description="microseconds since the first `hello`"),
]
Pair = tuple[str, str]
OptionValue = int | str

Capability = Literal[
    "metadata",  # sends each call with metadata of its own
    "wait_for_ready",
    "kept_open",  # streams that stay open until they are cancelled
    "cancel",
    "channels",  # more than one channel in the process
    "watch",  # reports connectivity without asking to connect
    "connect",  # asks an idle channel to connect, without a call
    "custom_policy",  # registers a policy in the library's own registry; since version 2
    "bootstrap_per_channel",  # gives a channel a bootstrap of its own; since version 2
    "response_headers",  # reports the response headers of a call; since version 2
]

# Those that version 1 does not know.
NEW_IN_2: Final[frozenset[Capability]] = frozenset(
    {"custom_policy", "bootstrap_per_channel", "response_headers"}
)

# Old versions of a library may lack it. So a hello need not have it where the manifest does.
DEPENDS_ON_VERSION: Final[frozenset[Capability]] = frozenset({"bootstrap_per_channel"})

StatusName = Literal[
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
]

StateName = Literal["IDLE", "CONNECTING", "READY", "TRANSIENT_FAILURE", "SHUTDOWN"]


class _Message(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="type", forbid_unknown_fields=True
):
    """One line."""


# What the suite asks. Each request is answered to its end by exactly one `done` or `error`
# (`hello` by a `hello`), and requests may overlap.


class AskHello(_Message, frozen=True, kw_only=True, tag="hello"):
    """Report name, version and capabilities. May repeat, to measure the offset of the clocks."""

    id: Id
    contract: int


class OpenChannel(_Message, frozen=True, kw_only=True, omit_defaults=True, tag="open_channel"):
    """Create a channel without connecting it. The request's id becomes its number. Retries are off.

    `service_config`, since version 2, is the channel's default service config, as JSON text. Only
    clients with the capability `custom_policy` receive it. `bootstrap`, since version 2, is the
    channel's own bootstrap configuration, as JSON text. Only clients with the capability
    `bootstrap_per_channel` receive it, and only for a target of the scheme `xds`.
    """

    id: Id
    target: str
    options: dict[str, OptionValue]
    service_config: str | None = None
    bootstrap: str | None = None


class RegisterPolicy(_Message, frozen=True, kw_only=True, tag="register_policy"):
    """Register a load-balancing policy of this name in the library. Since version 2.

    It arrives before the first channel is opened, with the capability `custom_policy` only. The
    policy's number is this request's id; contract.md says how it picks.
    """

    id: Id
    name: str


class PlannedCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Describe one RPC. Its id is unique in the process. Its request message is empty: no bytes."""

    id: str
    path: str
    metadata: tuple[Pair, ...]  # in this order; values of keys that end in -bin are base64
    deadline: Micros | None  # from the call's own start
    wait_for_ready: bool
    kept_open: bool  # a bidirectional stream that sends nothing and stays open; else unary


class StartCalls(_Message, frozen=True, kw_only=True, tag="start_calls"):
    """Make these calls in order: `concurrency` at a time, or one every `pace`, or all at once.

    Answer `done` when the last of them has finished.
    """

    id: Id
    channel: Id
    calls: tuple[PlannedCall, ...]
    concurrency: Annotated[int, msgspec.Meta(ge=1)] | None
    pace: Micros | None


class Cancel(_Message, frozen=True, kw_only=True, tag="cancel"):
    """Cancel those of these calls that have not finished; they finish as CANCELLED."""

    id: Id
    calls: tuple[str, ...]


class Watch(_Message, frozen=True, kw_only=True, tag="watch"):
    """Report the channel's state now and at each change. Never make it connect.

    Answer `done` when the channel is closed.
    """

    id: Id
    channel: Id


class Connect(_Message, frozen=True, kw_only=True, tag="connect"):
    """Ask the channel to connect if it is idle."""

    id: Id
    channel: Id


class Close(_Message, frozen=True, kw_only=True, tag="close"):
    """Close the channel: calls in progress finish as CANCELLED, a watch ends."""

    id: Id
    channel: Id


Request = AskHello | RegisterPolicy | OpenChannel | StartCalls | Cancel | Watch | Connect | Close

# What the adapter says.


class Hello(_Message, frozen=True, kw_only=True, tag="hello"):
    """Answer a `hello`. The adapter's clock starts at the first `hello`."""

    id: Id
    contract: int
    name: str
    version: str
    capabilities: tuple[Capability, ...]
    at: At


class Opened(_Message, frozen=True, kw_only=True, tag="opened"):
    """Report that the response headers of a kept-open stream, with `hostname`, have arrived."""

    call: str
    hostname: str
    at: At


class Finished(_Message, frozen=True, kw_only=True, omit_defaults=True, tag="finished"):
    """Report the result of a call. `hostname` is the response header that names the backend.

    `headers`, since version 2, are the other response headers, in the order of arrival within a
    key; values of keys that end in -bin are base64. Clients with the capability `response_headers`
    report them; an adapter may leave the field out if there are none.
    """

    call: str
    status: StatusName
    details: str
    hostname: str | None
    started_at: At
    ended_at: At
    headers: tuple[Pair, ...] = ()


class State(_Message, frozen=True, kw_only=True, tag="state"):
    """Report the state of a watched channel."""

    channel: Id
    state: StateName
    at: At


class PolicyUpdate(_Message, frozen=True, kw_only=True, tag="policy_update"):
    """Report an update that a registered policy received and is about to act on. Since version 2.

    `instance` numbers the policy objects of the process. `config` is the JSON text that the
    parser of the policy received. An endpoint is the list of its addresses.
    """

    policy: Id
    instance: Id
    config: str
    endpoints: tuple[tuple[str, ...], ...]
    at: At


class Done(_Message, frozen=True, kw_only=True, tag="done"):
    """Report that a request is complete."""

    id: Id


class Error(_Message, frozen=True, kw_only=True, tag="error"):
    """Report why a request cannot be carried out. `id` is null if the line was no request."""

    id: Id | None
    message: str


Answer = Hello | Opened | Finished | State | PolicyUpdate | Done | Error
