"""The random order in which pick_first tries endpoints, if it is told to shuffle (A62, A113)."""

from __future__ import annotations

import random
from collections.abc import Sequence

from client_under_test.reference.policies.interface import Endpoint


def evenly(endpoints: Sequence[Endpoint], random: random.Random) -> list[Endpoint]:
    """A62: every order is as likely; the addresses within an endpoint keep theirs (A61)."""
    return random.sample(endpoints, len(endpoints))


def by_weight(endpoints: Sequence[Endpoint], random: random.Random) -> list[Endpoint]:
    """A113: by falling keys, u to the power of 1 / weight for an even random u."""
    keyed = [(random.random() ** (1 / max(1, one.weight)), one) for one in endpoints]
    return [one for _, one in sorted(keyed, key=lambda pair: pair[0], reverse=True)]
