"""Load balancing policies as state machines without I/O, and the rules that they follow."""
