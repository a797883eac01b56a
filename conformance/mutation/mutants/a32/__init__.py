"""Mutants of A32's clauses."""
