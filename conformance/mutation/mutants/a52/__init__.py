"""Mutants of A52's clauses, and of those that amend it."""
