"""Compute the ring of the ring_hash policy: weights, size, keys of entries, search, values.

A42, "Ring Construction" and "LB Policy Config"; A76 for hash keys; A113 for normalized weights.
"""
