"""A world in the hands of a person: what is told, what he does to it, and who makes calls."""

from conformance.by_hand.desk import Desk
from conformance.by_hand.say import Say

__all__ = ["Desk", "Say"]
