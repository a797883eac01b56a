"""Mutants of what A37 leans on: A27, and those that amend it."""
