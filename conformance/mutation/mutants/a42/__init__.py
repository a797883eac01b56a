"""Mutants of A42's clauses, and of those that amend it."""
