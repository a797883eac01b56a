"""Mutants of the clauses in the catalogue's folder load_reports."""
