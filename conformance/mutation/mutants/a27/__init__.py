"""Mutants of the clauses of A27, and of the gRFCs that amend it."""
