"""Mutants of the clauses in session_clusters.toml."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.session_affinity import (
    Host,
    cookie_content,
    cookie_content_a60,
    cookie_must_be_set,
    session_cluster,
)

VARIANT: Final = "session-affinity"


def in_form(form: str) -> Mapping[str, Callable[..., Any]]:
    """Return the rules of a client that writes the name of the cluster in another form."""
    before, after = form.split("{}")

    def write(addresses: Sequence[str], cluster: str) -> str:
        return cookie_content_a60(addresses, form.format(cluster))

    def choose(sent: Host | None, clusters: Sequence[str], drawn: str) -> str:
        named = "" if sent is None else sent.cluster.removeprefix(before).removesuffix(after)
        return named if named in clusters else drawn

    return {"cookie_content": write, "session_cluster": choose}


without_cluster = Mutant(
    clause="A60-CLUSTER-01",
    broken="the cookie has no cluster",
    rules={"cookie_content": cookie_content},
    variant=VARIANT,
)


first_cluster = Mutant(
    clause="A60-CLUSTER-01",
    broken="the cookie names the first cluster, whichever served",
    rules={"cookie_content": lambda addresses, _cluster: cookie_content_a60(addresses, "one")},
    variant=VARIANT,
)


quoted = Mutant(
    clause="A60-CLUSTER-02",
    broken="the name of the cluster is in double quotes",
    rules=in_form('"{}"'),
    reports="quoted",
    variant=VARIANT,
)


prefixed = Mutant(
    clause="A60-CLUSTER-02",
    broken="the name of the cluster has a prefix",
    rules=in_form("cluster:{}"),
    reports="prefixed",
    variant=VARIANT,
)


drawn_anyway = Mutant(
    clause="A60-CLUSTER-03",
    broken="the cluster is drawn by weight, whatever the cookie says",
    rules={"session_cluster": session_cluster},
    variant=VARIANT,
)


set_in_the_second = Mutant(
    clause="A60-CLUSTER-04",
    broken="responses from the second cluster always set a cookie",
    rules={
        "cookie_must_be_set": lambda sent, used: (
            cookie_must_be_set(sent, used) or used.cluster == "two"
        )
    },
    variant=VARIANT,
)


any_cluster = Mutant(
    clause="A60-CLUSTER-05",
    broken="the cluster of a cookie is used even if the route does not have it",
    rules={"session_cluster": lambda sent, _clusters, drawn: sent.cluster if sent else drawn},
    variant=VARIANT,
)


drawn_without_host = Mutant(
    clause="A60-CLUSTER-06",
    broken="the cluster of a cookie is drawn in spite of it",
    rules={"session_cluster": session_cluster},
    variant=VARIANT,
)
