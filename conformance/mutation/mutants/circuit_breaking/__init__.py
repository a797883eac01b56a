"""Mutants of the clauses in the catalogue's folder circuit_breaking."""
