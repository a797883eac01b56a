"""Scenarios, collected by path, and the package of helpers that they share."""
