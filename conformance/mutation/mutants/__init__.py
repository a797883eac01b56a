"""Declare every mutant, in a file with the name of its clause's file in the catalogue."""
