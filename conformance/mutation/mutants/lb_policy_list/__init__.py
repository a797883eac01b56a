"""Mutants of the clauses in the catalogue's folder lb_policy_list."""
