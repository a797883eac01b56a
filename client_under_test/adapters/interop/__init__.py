"""Drives any stock xDS interop client for the suite; README.md tells how."""
