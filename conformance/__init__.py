"""The conformance suite: clauses, oracles, scenarios, verdicts and reports."""
