"""Mutants of the clauses in the catalogue's folder outlier_detection."""
