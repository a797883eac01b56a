"""The reason for which a connection is refused."""

from __future__ import annotations


class BadRequest(Exception):
    """A client sent what a server must not get; the message is a clause about the client."""
