"""Describe what happened in a course, line by line. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.runner.explore.record import Finding, Observed, Request


def timeline(seen: Observed, findings: tuple[Finding, ...] = ()) -> tuple[str, ...]:
    """Return a line for each event, in the order of time."""
    rows = sorted(_rows(seen, findings), key=lambda row: row[0])
    named = (f"e{number} is {address}" for number, address in enumerate(seen.addresses))
    return (", ".join(named), *(f"{at:9.3f} s  {what}" for at, what in rows))


def _rows(seen: Observed, findings: tuple[Finding, ...]) -> Iterator[tuple[float, str]]:
    yield from _of_the_control_plane(seen)
    yield from _of_endpoints(seen)
    for request in seen.requests:
        yield request.began, _of_a_request(request)
    for calm in seen.calms:
        state = f", the channel is {calm.state}" if calm.state else ""
        came = "does not come" if calm.expired else "has come"
        yield calm.ended, f"calm of step {calm.step} {came}, after {calm.rounds} rounds{state}"
    for finding in findings:
        yield finding.at, f"!! {finding.title}: expected {finding.expected}"
    if seen.trouble is not None:
        yield seen.trouble.at, f"the course ends: {seen.trouble.what.splitlines()[0]}"


def _of_the_control_plane(seen: Observed) -> Iterator[tuple[float, str]]:
    for version in seen.versions:
        acked = "no ACK" if version.acked is None else f"ACK at {version.acked:.3f} s"
        yield version.sent, f"the control plane serves {version.configuration} ({acked})"
    for outage in seen.outages:
        yield outage.began, "the control plane is stopped"
        if outage.ended is not None:
            yield outage.ended, "the control plane listens again"
    for response in seen.responses:
        if response.answer == "NACK":
            yield (
                response.answered or response.sent,
                f"NACK of {response.kind} version {response.version}: {response.error}",
            )


def _of_endpoints(seen: Observed) -> Iterator[tuple[float, str]]:
    for change in seen.gates:
        what = change.what or f"the gate is set to {change.mode}"
        yield change.at, f"e{change.member}: {what}"
    for connection in seen.connections:
        named = f"e{connection.member}: connection {connection.id}"
        yield connection.at, f"{named} ({connection.mode})"
        if connection.closed is not None:
            yield connection.closed, f"{named} ends, by the {connection.closed_by or 'unknown'}"


def _of_a_request(request: Request) -> str:
    where = "no endpoint" if request.member is None else f"e{request.member}"
    headers = ", ".join(f"{key}: {value}" for key, value in request.metadata)
    ended = "does not end"
    if request.ended is not None:
        ended = f"{request.status} after {request.ended - request.began:.3f} s at {where}"
    details = f" ({request.details})" if request.details else ""
    return f"request {request.id} ({headers}): {ended}{details}"
