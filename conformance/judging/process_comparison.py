"""Compare a scenario's result in a shared process of the client with that in an own one. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from conformance.judging.verdicts import Decision, Reason, Verdict, worst


def described(
    scenario: str,
    shared: Iterable[Decision],
    own: tuple[Verdict, Reason | None],
    earlier: Collection[str],
) -> str:
    """Return in a sentence how the results in a shared process and in an own one differ.

    Args:
        scenario: its id.
        shared: what it decided in the process that other scenarios had used.
        own: its verdict in a process of its own.
        earlier: those other scenarios.
    """
    first, second = _in_words(*worst(shared)), _in_words(*own)
    count = "1 scenario" if len(earlier) == 1 else f"{len(earlier)} scenarios"
    before = f"after {count} in the same client process" if earlier else "in a shared process"
    return (
        f"{scenario}: {first} {before}, {second} in a process of its own. Channels of this client "
        "may affect each other: each had its own control plane and backends"
    )


def _in_words(verdict: Verdict, reason: Reason | None) -> str:
    return verdict.value + (f" ({reason.value})" if reason else "")
