"""Expect which endpoints of a tree of clusters are tried, and serve, in which order."""

from __future__ import annotations

import msgspec

from conformance.judging.expectations.calls import AllServedBy, Fails
from conformance.judging.expectations.connections import attempts_of, attempts_text
from conformance.judging.expectations.finding import Finding
from conformance.judging.expectations.timing_sensitivity import OutcomesCanBeLate, TimeDependent
from conformance.judging.observations import Observation
from conformance.spec.oracles.cluster_tree import Cluster, first_usable, joined

Endpoints = dict[str, tuple[tuple[str, ...], ...]]
"""The addresses of each leaf's endpoints, by priority."""


class LeafOrder(TimeDependent, frozen=True, tag="in_tree_order", kw_only=True):
    """The first attempts come priority by priority, as the leaves of a tree have them in a row.

    Attempts at other endpoints are passed over. The row is computed by ``cluster_tree.joined``.

    Clauses: A37-TREE-01, A37-TREE-02, A37-TREE-03, A37-TREE-04, A37-TREE-05, A37-TREE-06.
    """

    root: str
    clusters: dict[str, Cluster]
    endpoints: Endpoints

    def finding(self, seen: Observation) -> Finding:
        """Weigh attempts."""
        row = joined(self.root, self.clusters, self.endpoints)
        rank = {address: number for number, group in enumerate(row) for address in group}
        met = list(
            dict.fromkeys(
                attempt.address for attempt in attempts_of(seen) if attempt.address in rank
            )
        )
        ranks = [rank[address] for address in met]
        return Finding(
            ranks == sorted(ranks) and set(ranks) == set(rank.values()),
            f"first attempts at {', then '.join(' or '.join(group) for group in row if group)}",
            attempts_text(seen),
            "the leaves of the tree in order, each with its priorities",
        )


class FirstUsablePriority(OutcomesCanBeLate, frozen=True, tag="at_the_first", kw_only=True):
    """Every call is served by the first priority below a root that has an endpoint; else it fails.

    Which that is, is computed by ``cluster_tree.first_usable``.

    Clauses: A27-CDS-09,
    A37-TREE-09, A37-TREE-11, A37-TREE-12, A37-TREE-14, A37-TREE-15, A37-TREE-16,
    A37-TREE-19, A37-TREE-20, A37-TREE-22, A37-TREE-23, A37-TREE-24, A37-TREE-25, A37-TREE-26,
    A37-TREE-28, A37-TREE-29, A37-TREE-30, A37-TREE-32, A37-TREE-33, A37-TREE-35, A37-TREE-36,
    A37-TREE-37,
    A37-TROUBLE-01, A37-TROUBLE-02, A37-TROUBLE-03, A37-TROUBLE-04, A37-TROUBLE-05,
    A37-TROUBLE-06, A37-TROUBLE-07, A37-TROUBLE-08, A37-TROUBLE-09, A37-TROUBLE-10,
    A37-TROUBLE-11, A37-TROUBLE-12, A37-TROUBLE-13, A37-TROUBLE-14,
    A37-TROUBLE-16, A37-TROUBLE-17, A37-TROUBLE-18, A37-TROUBLE-19,
    A37-TROUBLE-20, A37-TROUBLE-21, A37-TROUBLE-22, A37-TROUBLE-23,
    A37-TROUBLE-25, A37-TROUBLE-26, A37-TROUBLE-27, A37-TROUBLE-28,
    A37-TROUBLE-29, A37-TROUBLE-30, A37-TROUBLE-31, A37-TROUBLE-32,
    A37-TROUBLE-35, A57-TIMER-02, A57-TIMER-03, A74-CONFIG-02, A74-CONFIG-03, A74-CONFIG-04,
    A37-FAILOVER-01, A37-FAILOVER-02, A37-FAILOVER-05, A37-FAILOVER-07, A37-FAILOVER-08,
    A37-FAILOVER-12, A37-FAILOVER-13, A37-FAILOVER-14, A37-DNS-07,
    A37-DNS-12, A37-DNS-13, A37-DNS-18, A37-DNS-19, A37-DNS-23, A37-DNS-26, A37-DNS-27,
    A53-DEL-01, A53-DEL-02, A53-DEL-03, A88-DATA-01, A88-DATA-02, A88-DATA-03, A88-DATA-04.
    """

    root: str
    clusters: dict[str, Cluster]
    endpoints: Endpoints
    failed: tuple[str, ...] = ()
    """The addresses of endpoints that cannot be connected to."""
    as_a_whole: bool = False
    """True if the tree fails when any of its clusters is missing or rejected."""

    def finding(self, seen: Observation) -> Finding:
        """Weigh calls."""
        serving = first_usable(
            self.root, self.clusters, self.endpoints, self.failed, as_a_whole=self.as_a_whole
        )
        weighed = (AllServedBy(serving) if serving else Fails()).finding(seen)
        return msgspec.structs.replace(
            weighed, oracle="the first usable priority among the leaves of the tree"
        )
