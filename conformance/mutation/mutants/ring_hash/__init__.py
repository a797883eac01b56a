"""Mutants of the clauses in the catalogue's folder ring_hash."""
