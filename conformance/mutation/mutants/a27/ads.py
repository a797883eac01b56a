"""Mutants of the clauses in ads.toml."""

from collections.abc import Callable, Sequence

from client_under_test.reference.editions.mutants import Mutant


def the_last_one_stays() -> Callable[[str, Sequence[str]], Sequence[str]]:
    """Return a rule by which the last resource of a type stays subscribed to."""
    last: dict[str, Sequence[str]] = {}

    def rule(noun: str, names: Sequence[str]) -> Sequence[str]:
        last[noun] = names or last.get(noun, ())
        return last[noun]

    return rule


no_wrappers = Mutant(
    clause="A27-ADS-01",
    broken="a Resource message is treated as a message of another type",
    xds={"is_wrapper": lambda _: False},
)

nonce_forgotten = Mutant(
    clause="A27-ADS-02",
    broken="the nonce of a type is lost once no resource of the type is subscribed to",
    xds={"keeps_nonce": lambda is_wanted: is_wanted},
    issue="https://github.com/grpc/grpc-node/issues/2875",
)

last_one_kept = Mutant(
    clause="A27-ADS-03",
    broken="the client never unsubscribes from the last resource of a type",
    xds={"names_asked_for": the_last_one_stays()},
    issue="https://github.com/grpc/grpc-java/pull/11264",
)
