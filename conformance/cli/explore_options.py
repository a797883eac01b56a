"""The options of `xdspec explore`."""

from __future__ import annotations

from pathlib import Path

import click

from conformance.cli.options import (
    CLIENT_OPTIONS,
    EXECUTION,
    OUT_OPTION,
    SEED_OPTION,
    SELECTION,
    option,
)

EXPLORE = (
    option(
        "--only",
        group=SELECTION,
        type=click.Choice(["ring", "localities", "tree"]),
        default="ring",
        show_default=True,
        help="Try random sequences for this area.",
    ),
    option(
        "--replay",
        group=SELECTION,
        type=Path,
        metavar="FILE",
        help="Run the sequence in this file instead of random ones.",
    ),
    option(
        "--minutes",
        group=EXECUTION,
        type=click.FloatRange(0, min_open=True),
        default=1.0,
        show_default=True,
        metavar="N",
        help="How long to try random sequences. Afterwards, failing ones are repeated and shrunk.",
    ),
    option(
        "--times",
        group=EXECUTION,
        type=click.IntRange(1),
        metavar="N",
        default=10,
        show_default=True,
        help="How often to run the sequence of --replay.",
    ),
    SEED_OPTION,
    option(
        "--jobs",
        group=EXECUTION,
        type=click.IntRange(1),
        help="Number of sequences at the same time. [default: by cores]",
    ),
    *CLIENT_OPTIONS,
    OUT_OPTION,
)
