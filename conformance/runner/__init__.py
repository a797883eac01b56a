"""Scenarios run by pytest, side by side, for one client."""
