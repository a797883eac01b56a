"""Judge which resources the client requests at calm."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.runner.explore.courses import Configuration
from conformance.runner.explore.judges.demands import SUBSCRIPTIONS
from conformance.runner.explore.judges.evidence import Evidence
from conformance.runner.explore.record import Calm, Finding
from conformance.xds_config.routes import CLUSTER


def needed(configuration: Configuration) -> dict[str, tuple[str, ...]]:
    """Return the names of the resources that a configuration needs, by kind (A37, A74)."""
    leaves = configuration.tree.leaves
    if not leaves:
        return {"CLUSTER": (CLUSTER,), "ENDPOINTS": (CLUSTER,)}
    return {
        "CLUSTER": tuple(sorted((CLUSTER, *(leaf.name for leaf in leaves)))),
        "ENDPOINTS": tuple(sorted(leaf.name for leaf in leaves if leaf.kind == "EDS")),
    }


def wrong_subscriptions(evidence: Evidence, calm: Calm) -> tuple[str, ...]:
    """Return the kinds of which the client requests other resources than those of its tree."""
    version = evidence.only_version(calm.began)
    if version is None or not evidence.is_tree or evidence.is_down(calm.began, calm.ended):
        return ()
    wanted = needed(version.configuration)
    return tuple(kind for kind, names in wanted.items() if calm.subscribed.get(kind, ()) != names)


def judge_subscriptions(evidence: Evidence) -> Iterator[Finding]:
    """Find calms in which the client does not request exactly the resources of its tree."""
    for calm in evidence.expired_calms:
        version = evidence.only_version(calm.began)
        for kind in wrong_subscriptions(evidence, calm):
            assert version is not None, "else nothing is wrong"
            wanted, seen = needed(version.configuration)[kind], calm.subscribed.get(kind, ())
            missing = {*wanted} - {*seen}
            what = "does not request a resource" if missing else "requests a resource too many"
            yield Finding(
                judge=SUBSCRIPTIONS,
                title=f"at calm, the client {what} of kind {kind}",
                expected=f"requests for {', '.join(wanted) or 'none'}",
                observed=f"the last request names {', '.join(seen) or 'none'}",
                at=calm.ended,
            )
