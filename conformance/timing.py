"""Every deadline, window and allowance of the suite, in seconds, each with its reason.

Nothing else in the suite holds a number of seconds. A deadline bounds the wait for an event that a
right client brings about; it costs nothing when the event comes, so it is generous. A window is
time in which nothing may happen; it is always paid in full, so it is short.
"""

from __future__ import annotations

import os

SCALE = float(os.environ.get("XDSPEC_TIME_SCALE", "1"))
"""Multiplies every deadline, for machines that are slower than any we know (an emulator, say)."""

HELLO = 90 * SCALE
"""From the start of the process to the adapter's hello: some need a minute. Each run starts its
client once before it counts on it, so one that stays mute is waited for only once."""

PATIENCE = 3.0
"""After which a user is told what is waited for."""

STILL_WAITING = 10 * SCALE
"""Spacing of the sentences that say so again: often enough that nobody thinks of a hang."""

ADAPTER_REPLY = 10 * SCALE
"""An adapter's reply to a request that does no I/O; ten times a garbage collector's worst pause."""

ANSWER = 10 * SCALE
"""From the push of a resource to its ACK or NACK; milliseconds on an idle machine."""

LARGE_RING = 60 * SCALE
"""The same for a Cluster that asks for a ring of 8,388,608 entries.

Envoy builds it before it answers: 4 s of work, and three times that beside busy neighbours.
"""

SUBSCRIBE = 10 * SCALE
"""From the start of a channel to its first subscriptions: the same work as ANSWER."""

CALL = 10 * SCALE
"""The deadline of a call that should succeed: gRPC deadlines are the client's own clock."""

COLD_CALL = 60 * SCALE
"""The same of a client whose process starts with its first call: a virtual machine's was seen to
take 57 s on a machine with twenty times as much to do as it has cores."""

BATCH = 30 * SCALE
"""All outcomes of a batch of calls: CALL, and the queue before the last of them."""

APPLY = 5 * SCALE
"""From the ACK of a resource to all new calls obeying it. ACK is not applied: policies switch
gracefully, once the new one is connected."""

LEDGER = 5 * SCALE
"""From the outcome of a call at the client to the backend's own row of it."""

EVENT = 5 * SCALE
"""Other single events in which no timer of a gRFC takes part: a connection, a reply."""

ATTEMPT = 10 * SCALE
"""From what makes a client try an endpoint to the attempt: an EVENT, behind a first retry's backoff
(1.2 s at most, gRPC's connection backoff) where one is running."""

HELD = 0.5
"""Deadline of a call that should wait: ten times what a loaded client takes to fail or to serve it.
One that is too short can only miss a fault, as a call that waits runs into any deadline."""

QUIET = 0.3
"""Window in which a thing that must not happen would have happened: a hundred times what the
causing message takes through the client on an idle machine. A window that is too short can only
miss a fault, never accuse a right client."""

EXIT = 2 * SCALE
"""From the end of standard input to the exit of the client, before it is killed."""

LATE = 1.0 * SCALE
"""By how much the suite's own event loop may be late before a passed deadline says nothing of the
client any more: far above what a loaded machine shows, far below every deadline."""

HEARTBEAT = 0.02
"""Spacing of the beats that measure the suite's own lateness: well below any interval judged."""
