"""The ``xdspec`` command."""

import click


@click.group()
def main() -> None:
    """Conformance tests for gRPC's xDS load balancing."""
