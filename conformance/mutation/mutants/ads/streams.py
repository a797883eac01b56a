"""Mutants of the clauses in streams.toml."""

from client_under_test.reference.editions.mutants import Mutant

node_once = Mutant(
    clause="A27-ADS-04",
    broken="the node is in the first request of the first stream alone",
    xds={"sends_node": lambda is_first, streams: is_first and streams == 1},
)


node_always = Mutant(
    clause="A27-ADS-05",
    broken="each request has the node",
    xds={"sends_node": lambda _is_first, _streams: True},
    reports="each request",
)


nonce_outlives_streams = Mutant(
    clause="A27-ADS-06",
    broken="a new stream begins with the nonces of the stream before",
    xds={"nonce_on_new_stream": lambda nonce: nonce},
)


version_ends_with_the_stream = Mutant(
    clause="A27-ADS-07",
    broken="a new stream begins without versions",
    xds={"version_on_new_stream": lambda _accepted: ""},
)


names_none_on_new_stream = Mutant(
    clause="A27-ADS-08",
    broken="a new stream begins with a request for each type, even if nothing is subscribed to",
    xds={"requests_on_new_stream": lambda _noun, _names: True},
)


def without(lost: str) -> dict[str, object]:
    """Return the rule of a client that forgets a type when the stream ends."""
    return {"requests_on_new_stream": lambda noun, names: bool(names) and noun != lost}


endpoints_not_resubscribed = Mutant(
    clause="A57-STREAM-03",
    broken="a new stream has no request for endpoints in use",
    xds=without("ClusterLoadAssignment"),
)


listeners_not_resubscribed = Mutant(
    clause="A57-STREAM-03",
    broken="a new stream has no request for the Listener in use",
    xds=without("Listener"),
)


retried_each_second = Mutant(
    clause="A57-STREAM-04",
    broken="a stream is retried each second, however many have failed",
    xds={"ads_backoff_failures": lambda _failures: 1},
)


retried_at_once = Mutant(
    clause="A57-STREAM-04",
    broken="the first stream after a failed one follows at once",
    xds={"ads_backoff_failures": lambda failures: failures - 1},
)


responses_do_not_count = Mutant(
    clause="A57-STREAM-05",
    broken="a response on a stream does not reset the backoff",
    xds={"ads_response_ends_backoff": False},
)


failed_stream_takes_away = Mutant(
    clause="A57-STREAM-06",
    broken="endpoints are dropped when a stream fails without a response",
    xds={
        "reports_lost_stream": lambda noun, is_there: (
            noun == "ClusterLoadAssignment" or not is_there
        )
    },
)
