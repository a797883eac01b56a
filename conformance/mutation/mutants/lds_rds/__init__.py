"""Mutants of the clauses in the catalogue's folder lds_rds."""
