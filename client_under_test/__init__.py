"""Clients under test: the adapter contract, manifests, environments and the shipped adapters.

It imports nothing, since the reference client is a part of it, and starts often.
"""
