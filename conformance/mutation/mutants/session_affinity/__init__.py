"""Mutants of the clauses in the catalogue's folder priority."""
