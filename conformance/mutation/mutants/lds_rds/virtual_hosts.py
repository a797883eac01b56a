"""Mutants of the clauses in virtual_hosts.toml."""

from client_under_test.reference.editions.mutants import Mutant
from client_under_test.reference.resolving.selector import domain_rank

first_host = Mutant(
    clause="A28-HOST-01",
    broken="the first virtual host that matches is used",
    rules={"domain_rank": lambda domain, name: domain_rank(domain, name) and (0, 0)},
)


lengths_ignored = Mutant(
    clause="A28-HOST-01",
    broken="of several suffixes or prefixes the first is used, however long they are",
    rules={
        "domain_rank": lambda domain, name: (rank := domain_rank(domain, name)) and (rank[0], 0)
    },
)


shortest_wildcard = Mutant(
    clause="A28-HOST-01",
    broken="of several suffixes or prefixes the shortest is used",
    rules={
        "domain_rank": lambda domain, name: (
            (rank := domain_rank(domain, name)) and (rank[0], -rank[1])
        )
    },
)


asterisk_first = Mutant(
    clause="A28-HOST-01",
    broken="the host for all domains is used if there is one",
    rules={
        "domain_rank": lambda domain, name: (4, 0) if domain == "*" else domain_rank(domain, name)
    },
)


def rank_by_length(domain: str, name: str) -> tuple[int, int] | None:
    """Take each prefix that is not longer than the name."""
    if domain.endswith("*") and 1 < len(domain) <= len(name):
        return 1, len(domain)
    return domain_rank(domain, name)


prefix_by_length = Mutant(
    clause="A28-HOST-01",
    broken="a prefix matches every target that is long enough",
    rules={"domain_rank": rank_by_length},
)


def rank_suffix_by_length(domain: str, name: str) -> tuple[int, int] | None:
    """Take each suffix that is not longer than the name."""
    if domain.startswith("*") and 1 < len(domain) <= len(name):
        return 2, len(domain)
    return domain_rank(domain, name)


suffix_by_length = Mutant(
    clause="A28-HOST-01",
    broken="a suffix matches every target that is long enough",
    rules={"domain_rank": rank_suffix_by_length},
)


longest_domain = Mutant(
    clause="A28-HOST-02",
    broken="the longest domain that matches is used, a suffix or a prefix",
    rules={
        "domain_rank": lambda domain, name: (
            (rank := domain_rank(domain, name)) and ((2, 0) if domain == name else (1, rank[1]))
        )
    },
)


any_host = Mutant(
    clause="A28-HOST-03",
    broken="without a matching virtual host, one of the others is used",
    rules={"domain_rank": lambda domain, name: domain_rank(domain, name) or (-1, 0)},
)
