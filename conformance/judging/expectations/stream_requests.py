"""Expect discovery requests as parts of their streams: node, nonce, version, subscriptions."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.judging.expectations.finding import Finding, WrongKind
from conformance.judging.expectations.timing_sensitivity import TimeDependent, TimeIndependent
from conformance.judging.observations import Observation, StreamRequest, StreamRequests


class StreamsBeginWithNode(TimeIndependent, frozen=True, tag="streams_begin_with_node"):
    """The first request of each stream has this node.

    Clauses: A27-ADS-04.
    """

    node: str
    least: int = 1
    """The fewest streams."""

    def finding(self, seen: Observation) -> Finding:
        """Weigh the first request of each stream."""
        first = _requests(seen).first_of_streams()
        nodes = [request.node or "no node" for request in first]
        wanted = f"the node {self.node} in the first request of each of {self.least} streams"
        holds = len(first) >= self.least and set(nodes) == {self.node}
        return Finding(holds, wanted, ", then ".join(nodes) or "no request")


class LaterRequestsHaveNode(TimeIndependent, frozen=True, tag="later_requests_have_node"):
    """All later requests of a stream have a node, or none has.

    Clauses: A27-ADS-05.
    """

    has: bool

    def finding(self, seen: Observation) -> Finding:
        """Weigh the requests after the first of each stream."""
        requests = _requests(seen)
        first = {id(request) for request in requests.first_of_streams()}
        later = [request for request in requests.requests if id(request) not in first]
        count = sum(bool(request.node) for request in later)
        wanted = f"{'a' if self.has else 'no'} node in each later request of a stream"
        holds = bool(later) and count == (len(later) if self.has else 0)
        return Finding(holds, wanted, f"a node in {count} of {len(later)}")


class SendsOwnNonces(TimeIndependent, frozen=True, tag="sends_own_nonces"):
    """Each request has no nonce, or one that a response of its kind and stream had.

    Clauses: A27-ADS-06.
    """

    def finding(self, seen: Observation) -> Finding:
        """Weigh requests."""
        requests = _requests(seen).requests
        foreign = [request for request in requests if request.has_foreign_nonce]
        wanted = "only nonces of responses on the same stream"
        return _none_of(requests, foreign, wanted, "have another one")


class SendsAcceptedVersion(TimeIndependent, frozen=True, tag="sends_accepted_version"):
    """The first request of a kind on a stream has the version that the client ACKed last.

    Clauses: A27-ADS-07.
    """

    def finding(self, seen: Observation) -> Finding:
        """Weigh the first requests of each kind that the client had accepted before."""
        first = [each for each in _requests(seen).first_of_kinds() if each.accepted]
        wrong = [each for each in first if each.version != each.accepted]
        saw = f"{len(wrong)} of {len(first)} do not{_first(wrong)}"
        if wrong:
            saw += f", and version {wrong[0].version or '(empty)'}, not {wrong[0].accepted}"
        wanted = "the first requests of a new stream to have the versions accepted last"
        return Finding(bool(first) and not wrong, wanted, saw)


class NoWildcard(TimeIndependent, frozen=True, tag="no_wildcard"):
    """No request subscribes to all resources of its kind.

    Clauses: A27-ADS-08.
    """

    def finding(self, seen: Observation) -> Finding:
        """Weigh requests."""
        requests = _requests(seen).requests
        wildcards = [request for request in requests if request.is_wildcard]
        wanted = "no request to subscribe to all resources of a kind"
        return _none_of(requests, wildcards, wanted, "do")


class ResubscribesTo(TimeDependent, frozen=True, tag="resubscribes_to"):
    """On the newest stream, the client subscribes to these resources, and maybe to others.

    Clauses: A57-STREAM-03.
    """

    names: dict[str, tuple[str, ...]]
    """By kind."""

    def finding(self, seen: Observation) -> Finding:
        """Weigh the last request of each kind on that stream."""
        subscribed = _requests(seen).subscribed_on_last_stream()
        holds = all(
            set(names) <= set(subscribed.get(kind, ())) for kind, names in self.names.items()
        )
        return Finding(
            holds, _listed(self.names), _listed(subscribed), "what the client has in use"
        )


def _requests(seen: Observation) -> StreamRequests:
    if not isinstance(seen, StreamRequests):
        raise WrongKind(f"requests are expected here, not {type(seen).__name__}")
    return seen


def _none_of(
    requests: Sequence[StreamRequest], wrong: Sequence[StreamRequest], wanted: str, does: str
) -> Finding:
    """Return whether there are requests, and none of them is wrong."""
    saw = f"{len(wrong)} of {len(requests)} {does}{_first(wrong)}"
    return Finding(bool(requests) and not wrong, wanted, saw)


def _first(found: Sequence[StreamRequest]) -> str:
    if not found:
        return ""
    request = found[0]
    names = ", ".join(sorted(request.names)) or "nothing"
    return f": one on stream {request.stream} for {request.kind} names {names}"


def _listed(names: dict[str, tuple[str, ...]]) -> str:
    listed = "; ".join(f"{kind} {', '.join(sorted(names[kind]))}" for kind in sorted(names))
    return f"subscriptions to {listed or 'nothing'}"
