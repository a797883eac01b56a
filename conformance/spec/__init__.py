"""The specification: clauses as rows, and oracles that compute what a conforming client does."""
