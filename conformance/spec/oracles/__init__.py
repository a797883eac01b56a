"""Compute what a conforming client does: pure functions without I/O."""
