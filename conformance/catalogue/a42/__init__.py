"""Rows and mutants of A42, a file a section of the text."""
