"""Mutants of the clauses in the catalogue's folder pick_first."""
