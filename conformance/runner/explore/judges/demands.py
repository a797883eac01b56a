"""The names of judges, which findings carry, and what each judge demands."""

from __future__ import annotations

from typing import Final

REQUESTS: Final = "requests"
"""A request ends as a configuration in force and the gates allow."""

ATTEMPTS: Final = "attempts"
"""The client connects to listed endpoints, and only for a reason."""

BACKOFF: Final = "backoff"
"""The client waits for its backoff before it tries an endpoint again."""

ANSWERS: Final = "answers"
"""The client answers each response once, with the right version."""

CALM: Final = "calm"
"""At calm, requests follow the ring of the configuration in force."""

STATE: Final = "state"
"""At calm, the state of the channel is that of its endpoints."""

CONNECTIONS: Final = "connections"
"""The client keeps connections to listed endpoints, and no others."""

LIVENESS: Final = "liveness"
"""After all faults have ended, requests are served."""

SUBSCRIPTIONS: Final = "subscriptions"
"""At calm, the client requests exactly the resources of the tree in force."""

LIFE: Final = "life"
"""The client lives, and answers its adapter."""
