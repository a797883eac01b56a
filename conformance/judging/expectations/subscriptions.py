"""Expect the subscriptions of the client."""

from __future__ import annotations

from typing import Literal

from conformance.judging.expectations.finding import Finding, WrongKind
from conformance.judging.expectations.timing_sensitivity import TimeDependent, TimeIndependent
from conformance.judging.observations import Observation, SubscriptionRequest, Subscriptions
from conformance.spec.oracles.cluster_tree import Cluster, tree

MOST_TOLD = 12
"""Names that a finding lists."""


class SubscribesTo(TimeDependent, frozen=True, tag="asks_for", kw_only=True):
    """The client asks for just what the trees of these roots take, in its last request of a kind.

    What that is, is computed by ``cluster_tree.tree``.

    Clauses: A27-CDS-05, A27-CDS-06, A27-CDS-08, A37-TREE-07, A37-TREE-08, A37-TREE-09, A37-TREE-25,
    A37-TREE-27, A37-DNS-02, A74-CONFIG-02, A28-SPLIT-02.
    """

    kind: Literal["CLUSTER", "ENDPOINTS"]
    roots: tuple[str, ...]
    clusters: dict[str, Cluster]
    ever: bool = False
    """True if earlier requests must not name other resources either."""

    def finding(self, seen: Observation) -> Finding:
        """Weigh requests."""
        trees = [tree(root, self.clusters) for root in self.roots]
        names = [
            subtree.clusters if self.kind == "CLUSTER" else subtree.services for subtree in trees
        ]
        wanted = {name for several in names for name in several}
        asked = [set(request.names) for request in _requests(seen) if request.kind == self.kind]
        last = asked[-1] if asked else set[str]()
        strangers = {name for several in asked for name in several} - wanted if self.ever else ()
        saw = f"asks for {_listed(last)}"
        if strangers:
            saw += f"; at one time it asked for {_listed(strangers)}"
        return Finding(
            last == wanted and not strangers,
            f"{self.kind.lower()} asked for {_listed(wanted)}{self.ever * ', and never more'}",
            saw,
            "the tree of clusters below each root",
        )


class SubscribesByName(TimeDependent, frozen=True, tag="asks_by_name", kw_only=True):
    """The client asks for just these names in its last request of a kind, if it sent any.

    Clauses: A27-LDS-04.
    """

    kind: Literal["LISTENER", "ROUTE"]
    names: tuple[str, ...]

    def finding(self, seen: Observation) -> Finding:
        """Weigh requests."""
        asked = [set(request.names) for request in _requests(seen) if request.kind == self.kind]
        last = asked[-1] if asked else set[str]()
        wanted = f"{self.kind.lower()} asked for {_listed(set(self.names))}"
        return Finding(last == set(self.names), wanted, f"asks for {_listed(last)}")


class SubscribesOnce(TimeIndependent, frozen=True, tag="asks_once"):
    """No request names a resource twice, and all of them are on one stream.

    Clauses: A37-TREE-10, A37-TREE-34.
    """

    def finding(self, seen: Observation) -> Finding:
        """Weigh requests."""
        requests = _requests(seen)
        streams = {request.stream for request in requests}
        twice = [request for request in requests if len(set(request.names)) < len(request.names)]
        saw = f"{len(requests)} requests on {len(streams)} streams"
        if twice:
            saw += f"; one for {twice[0].kind} names {_listed(_repeated(twice[0]))} twice"
        wanted = "requests that name each resource once, on one stream"
        return Finding(len(streams) == 1 and not twice, wanted, saw)


class SubscribesBesidesClusters(TimeIndependent, frozen=True, tag="asks_beside_clusters"):
    """Endpoints are asked for on streams on which Clusters are asked for, too, and on no other.

    Clauses: A27-CDS-01, A47-CDS-03.
    """

    def finding(self, seen: Observation) -> Finding:
        """Weigh requests."""
        streams: dict[str, set[int]] = {"CLUSTER": set(), "ENDPOINTS": set()}
        for request in _requests(seen):
            streams.setdefault(request.kind, set()).add(request.stream)
        own = streams["ENDPOINTS"] - streams["CLUSTER"]
        saw = f"endpoints asked for on {len(streams['ENDPOINTS'])} streams, {len(own)} of their own"
        wanted = "endpoints asked for on the stream of Clusters alone"
        return Finding(bool(streams["ENDPOINTS"]) and not own, wanted, saw)


class StaysSubscribed(TimeIndependent, frozen=True, tag="goes_on_asking"):
    """Every request of a kind names this resource.

    Clauses: A37-TREE-28.
    """

    kind: Literal["CLUSTER", "ENDPOINTS"]
    name: str

    def finding(self, seen: Observation) -> Finding:
        """Weigh requests."""
        requests = [request for request in _requests(seen) if request.kind == self.kind]
        without = [request for request in requests if self.name not in request.names]
        saw = f"{len(without)} of {len(requests)} do not"
        if without:
            saw += f", but name {_listed(set(without[0].names))}"
        wanted = f"all requests for {self.kind.lower()} to name {self.name}"
        return Finding(bool(requests) and not without, wanted, saw)


class SendsNewestNonce(TimeIndependent, frozen=True, tag="sends_newest_nonce"):
    """Every request has the nonce of the newest response of its kind and stream.

    Clauses: A27-ADS-02.
    """

    def finding(self, seen: Observation) -> Finding:
        """Weigh requests."""
        requests = _requests(seen)
        outdated = [request for request in requests if request.is_outdated]
        saw = f"{len(outdated)} of {len(requests)} have no nonce, or an older one"
        if outdated:
            first = outdated[0]
            saw += f": one for {first.kind} names {_listed(set(first.names))}"
            if first.nonce is not None and first.due:
                has = f"nonce {first.nonce}" if first.nonce else "no nonce"
                saw += f" and has {has} instead of {first.due}"
        wanted = "every request to carry the nonce of the newest response that was answered"
        return Finding(bool(requests) and not outdated, wanted, saw)


def _requests(seen: Observation) -> tuple[SubscriptionRequest, ...]:
    if not isinstance(seen, Subscriptions):
        raise WrongKind(f"requests are expected here, not {type(seen).__name__}")
    return seen.requests


def _repeated(request: SubscriptionRequest) -> set[str]:
    return {name for name in request.names if request.names.count(name) > 1}


def _listed(names: set[str]) -> str:
    told = ", ".join(sorted(names)[:MOST_TOLD]) or "nothing"
    return f"{told} and {len(names) - MOST_TOLD} more" if len(names) > MOST_TOLD else told
