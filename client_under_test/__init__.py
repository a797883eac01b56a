"""Clients under test: the adapter contract, manifests, environments and the shipped adapters."""
