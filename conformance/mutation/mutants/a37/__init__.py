"""Mutants of A37's clauses, and of those that amend it."""
