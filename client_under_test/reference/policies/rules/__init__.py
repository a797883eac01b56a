"""The rules of the policies: plain functions, each of which a mutant can replace."""
