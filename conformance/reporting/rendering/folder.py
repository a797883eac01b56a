"""Read the files of an evidence folder as frozen values; report a broken file in one sentence.

Fields that no picture needs are ignored, so that evidence of an older suite can be drawn too. A
file that the older suite did not write counts as empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from conformance.judging.evidence import FILE, BadEvidence, Record
from regular_files import UntrustedFolder

_Row = TypeVar("_Row", bound=msgspec.Struct)

MOST = 200_000
"""The most lines that a file may have: a soak has some ten thousand calls."""

LETTERS = 120
"""Letters of a call's headers that are shown."""

Moment = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
"""A time of the suite's monotonic clock, in seconds."""


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """What was sent: protojson, or bytes where that says less."""

    name: str
    type_url: str
    message: msgspec.Raw = msgspec.Raw(b"{}")
    """Decoded on use only: each push of a tree of thousands of clusters has megabytes."""
    base64: str = ""

    @property
    def contents(self) -> Any:
        """The message."""
        return msgspec.json.decode(self.message)


class ReportedCluster(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster's entry in a load report."""

    cluster: str
    dropped: int = 0
    localities: tuple[dict[str, Any], ...] = ()


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the control plane's transcript."""

    event: str
    at: Moment
    stream: int = 0
    kind: str | None = None
    type_url: str = ""
    names: tuple[str, ...] = ()
    version: str = ""
    nonce: str = ""
    answer: str | None = None
    answered_version: str = ""
    error_detail: str = ""
    subscribed: tuple[str, ...] = ()
    unsubscribed: tuple[str, ...] = ()
    resources: tuple[Resource, ...] = ()
    fault: str = ""
    service: str = ""
    by: str = ""
    code: str = ""
    clusters: tuple[ReportedCluster | str, ...] = ()
    interval: float = 0.0
    """The interval of load reports that the control plane requests; in seconds."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A call as the client reported it, and where it went."""

    id: str
    channel: str
    metadata: tuple[tuple[str, str], ...] = ()
    status: str
    details: str = ""
    endpoint: str | None = None
    started_at: Moment | None = None
    ended_at: Moment | None = None

    @property
    def headers(self) -> str:
        """What it carried, which decides where it goes; in brackets, behind its id."""
        headers = "; ".join(f"{key}: {value}" for key, value in self.metadata)
        return headers and f" ({headers if len(headers) <= LETTERS else headers[:LETTERS] + '…'})"


class State(msgspec.Struct, frozen=True, kw_only=True):
    """A state that a channel reported."""

    at: Moment
    channel: str
    state: str


class Mode(msgspec.Struct, frozen=True):
    """What a gate does with connections."""

    mode: str


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """A connection that a gate accepted."""

    endpoint: str
    mode: Mode
    accepted_at: Moment
    closed_at: Moment | None = None
    closed_by: str | None = None


class EndpointAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """A connection attempt, with the endpoint's address; `attempt` has the fleet's own name."""

    endpoint: str
    attempt: Accepted


class Rpc(msgspec.Struct, frozen=True, kw_only=True):
    """A request that a backend received."""

    at: Moment
    endpoint: str
    status: str | None = None


class GateAction(msgspec.Struct, frozen=True, kw_only=True):
    """What was done to a gate."""

    at: Moment
    endpoint: str
    mode: Mode | None = None
    what: str = ""


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """A time in which the suite waited without result, or was late."""

    at: Moment
    until: Moment
    kind: str
    what: str = ""


class Folder(msgspec.Struct, frozen=True, kw_only=True):
    """All that a scenario has left."""

    record: Record
    events: tuple[Event, ...] = ()
    calls: tuple[Call, ...] = ()
    states: tuple[State, ...] = ()
    attempts: tuple[EndpointAttempt, ...] = ()
    rpcs: tuple[Rpc, ...] = ()
    actions: tuple[GateAction, ...] = ()
    troubles: tuple[Trouble, ...] = ()


def read_folder(place: UntrustedFolder, record: Record) -> Folder:
    """Read the files of a folder beside its record.

    Raises:
        BadEvidence: one of them is broken.
    """
    return Folder(
        record=record,
        events=_rows(place, "transcript.jsonl", Event),
        calls=_rows(place, "calls.jsonl", Call),
        states=_rows(place, "states.jsonl", State),
        attempts=_rows(place, "attempts.jsonl", EndpointAttempt),
        rpcs=_rows(place, "rpcs.jsonl", Rpc),
        actions=_rows(place, "gates.jsonl", GateAction),
        troubles=_rows(place, "suite.jsonl", Trouble),
    )


def _rows(place: UntrustedFolder, name: str, kind: type[_Row]) -> tuple[_Row, ...]:
    """Return the rows of a file; none if the file does not exist."""
    path = place.place / name
    try:
        content = place.read_bytes(name)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise BadEvidence(f"{path} cannot be read: {error.strerror}") from None
    if content.count(b"\n") > MOST:
        raise BadEvidence(f"{path} has more than {MOST} lines, too many to draw")
    decoder = msgspec.json.Decoder(kind)
    try:
        return tuple(decoder.decode_lines(content))
    except (RecursionError, ValueError):
        for number, line in enumerate(content.splitlines(), start=1):
            _check(line, decoder, f"{path} is broken in line {number}")
        raise BadEvidence(f"{path} is broken: it has not one value in each line") from None


def _check(line: bytes, decoder: msgspec.json.Decoder[_Row], where: str) -> None:
    """See that a line can be read."""
    try:
        decoder.decode(line)
    except RecursionError:
        raise BadEvidence(f"{where}: nested too deeply") from None
    except ValueError as error:  # msgspec's own, and bytes that are not UTF-8
        raise BadEvidence(f"{where}: {error}") from None


ABOVE = 3
"""Folders of a path, at most, that come along with a report: the run's, the client's, its own."""


def opened_folder(evidence: str, report: Path) -> UntrustedFolder | None:
    """Open the folder that a report names, or the one that has come along with the report.

    A report may be a stranger's. What it names is not followed if it is a link, leads above the
    report by no way, and counts only with the record of a scenario in it.

    Args:
        evidence: the path in the report.
        report: its file.

    Returns:
        the folder; None if it is not there.
    """
    for found in _there(Path(evidence), report.parent):
        if found.has(FILE):
            return found
        found.close()
    return None


def _there(written: Path, beside: Path) -> Iterator[UntrustedFolder]:
    with suppress(OSError):
        yield UntrustedFolder(written, may_be_link=False)
    # A report is often fetched from a CI together with its evidence, but to another place.
    for count in range(ABOVE, 0, -1):
        with suppress(OSError), UntrustedFolder(beside) as above:
            parts = written.parts[-count:]
            yield UntrustedFolder(Path(*parts), above=above)
