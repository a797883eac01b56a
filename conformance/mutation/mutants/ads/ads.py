"""Mutants of the clauses in ads.toml."""

from __future__ import annotations

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
    xds={"names_to_request": the_last_one_stays()},
    issue="https://github.com/grpc/grpc-java/pull/11264",
)


def whatever_comes(_noun: str, name: str, wanted: Sequence[str]) -> str | None:
    """Treat an unsolicited resource as the first requested one."""
    return name if name in wanted else next(iter(wanted), None)


strangers_taken = Mutant(
    clause="A27-CDS-08",
    broken="an unsolicited resource is treated as a requested one",
    xds={"requested_name": whatever_comes},
)


def alike(change: Callable[[str], str]) -> Callable[[str, str, Sequence[str]], str | None]:
    """Treat names as equal if `change` makes them equal."""
    return lambda _noun, name, wanted: next(
        (wanted_name for wanted_name in wanted if change(wanted_name) == change(name)), None
    )


names_without_case = Mutant(
    clause="A27-CDS-09",
    broken="names that differ only in case are equal",
    xds={"requested_name": alike(str.casefold)},
)


names_without_blanks = Mutant(
    clause="A27-CDS-09",
    broken="spaces around a name are ignored",
    xds={"requested_name": alike(str.strip)},
)


names_by_their_beginning = Mutant(
    clause="A27-CDS-09",
    broken="a name that starts with the requested name is equal to it",
    xds={
        "requested_name": lambda _noun, name, wanted: next(
            (wanted_name for wanted_name in wanted if name.startswith(wanted_name)), None
        )
    },
)
