"""Mutants of the clauses in string_match.toml."""

import re2

from client_under_test.reference.editions.mutants import Mutant
from conformance.mutation.mutants.lds_rds.route_matching import header_rule

contains_as_prefix = Mutant(
    clause="A63-HEADER-01",
    broken="contains in string_match matches the beginning of a value",
    xds={"string_match_pattern": lambda kind: "prefix" if kind == "contains" else kind},
)


exact_as_contains = Mutant(
    clause="A63-HEADER-01",
    broken="exact in string_match matches a part of a value",
    xds={"string_match_pattern": lambda kind: "contains" if kind == "exact" else kind},
)


contains_in_small_letters = Mutant(
    clause="A63-HEADER-01",
    broken="contains in string_match is made lower-case, and the value is not",
    rules=header_rule("contains", lambda wanted, value: wanted.lower() in value),
)


case_heeded = Mutant(
    clause="A63-HEADER-02",
    broken="ignore_case is ignored",
    xds={"ignores_case": lambda _pattern, _ignore_case: False},
)


case_ignored_in_exact_alone = Mutant(
    clause="A63-HEADER-02",
    broken="ignore_case is heeded for exact alone",
    xds={"ignores_case": lambda pattern, ignore_case: ignore_case and pattern == "exact"},
)


case_ignored_in_regexes = Mutant(
    clause="A63-HEADER-03",
    broken="ignore_case is heeded for safe_regex, too",
    xds={"ignores_case": lambda _pattern, ignore_case: ignore_case},
)


regexes_in_small_letters = Mutant(
    clause="A63-HEADER-03",
    broken="safe_regex in string_match is made lower-case",
    rules=header_rule(
        "regex", lambda wanted, value: re2.fullmatch(wanted.lower(), value) is not None
    ),
)
