"""A channel: its calls, and the shell that carries out what policies ask for."""
