"""What an endpoint's gate does with the connections it accepts.

A connection follows the mode that the gate had when it was accepted, except that a held one
follows the next mode that the gate is given. Where no connection is accepted there is nothing to
record: attempts at a gate that refuses are in no ledger. Dropping live connections is an action
rather than a mode: `Endpoint.kill`.
"""

import msgspec

__all__ = ["Close", "Hold", "Mode", "Refuse", "Serve", "Stall"]


class Serve(msgspec.Struct, frozen=True, tag="SERVE", tag_field="mode"):
    """Splice the connection to the backend: the client gets to READY."""


class Close(msgspec.Struct, frozen=True, tag="CLOSE", tag_field="mode"):
    """Close the connection: a failed attempt.

    Attributes:
        after: Seconds from accepting to closing, during which the gate is silent.
    """

    after: float = 0.0


class Refuse(msgspec.Struct, frozen=True, tag="REFUSE", tag_field="mode"):
    """Keep the port and do not listen: a failed attempt, even if accepted would mean READY."""


class Stall(msgspec.Struct, frozen=True, tag="STALL", tag_field="mode"):
    """Never send a byte: a client whose READY needs the server's SETTINGS stays CONNECTING."""


class Hold(msgspec.Struct, frozen=True, tag="HOLD", tag_field="mode"):
    """Never send a byte until the gate's mode is changed, then do as that mode says."""


Mode = Serve | Close | Refuse | Stall | Hold
