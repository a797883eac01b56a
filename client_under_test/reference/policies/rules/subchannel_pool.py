"""Which subchannels of a channel have one connection, as a rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from client_under_test.reference.policies.interface import Subchannel


def sharing_key(subchannel: Subchannel) -> object:
    """Use a separate connection for each policy that connects to an address.

    Our choice: A37 puts up with it where a cluster is used twice (A37-TREE-13), and A52 does not
    say whether a policy in the place of another has those of before (A52-CHANGE-06).
    """
    return subchannel


@dataclass(frozen=True, kw_only=True)
class SharingRules:
    """The rules for sharing connections."""

    sharing_key: Callable[[Subchannel], object] = sharing_key
    """Those that this gives the same for have one."""
