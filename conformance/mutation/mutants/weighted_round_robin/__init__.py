"""Mutants of the clauses in the catalogue's folder weighted_round_robin."""
