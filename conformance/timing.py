"""Every deadline, window and allowance of the suite, in seconds, each with its reason.

Nothing else in the suite holds a number of seconds. A deadline bounds the wait for an event that a
right client brings about; it costs nothing when the event comes, so it is generous. A window is
time in which nothing may happen; it is always paid in full, so it is short.
"""

from __future__ import annotations

import os

import msgspec

SCALE = float(os.environ.get("XDSPEC_TIME_SCALE", "1"))
"""Multiplies every deadline, for machines that are slower than any we know (an emulator, say)."""

HELLO = 90 * SCALE
"""From the start of the process to the adapter's hello: some need a minute. Each run starts its
client once before it counts on it, so one that stays mute is waited for only once."""

QUICK = 30.0
"""Scenarios of `gate --quick`, in recorded seconds on two cores, for each side. With the build and
with the scenarios that run again, a change of grpc-go is judged within a minute."""

EACH = 0.12
"""A scenario of grpc-go keeps two cores busy for this long, however short it is. Runs of 5 and 45
short scenarios differ by 0.25 s of processor time for each."""

REPEATS = 45.0
"""Scenarios of `gate` that run again, on both sides together, by the time that they took before. A
defect that breaks many clauses would repeat for longer than all scenarios took."""

QUICK_REPEATS = 12.0
"""REPEATS, with `--quick`."""

PATIENCE = 3.0
"""Until the command prints what it is waiting for."""

STILL_WAITING = 10 * SCALE
"""Spacing of further messages: often enough that the user does not suspect a hang."""

LOOPBACK = 5.0
"""To connect to this very machine: the kernel alone does that, in microseconds."""

ADAPTER_REPLY = 10 * SCALE
"""An adapter's reply to a request that does no I/O; ten times a garbage collector's worst pause."""

ANSWER = 10 * SCALE
"""From the push of a resource to its ACK or NACK; milliseconds on an idle machine."""

LARGE_RING = 60 * SCALE
"""From the push of a Cluster with a ring of 8,388,608 entries to its ACK or NACK.

Envoy builds the ring before it answers: 4 s of work, and three times that on a busy machine.
"""

MANY_NAMES = 60 * SCALE
"""Deadline of a call to an aggregate of 2,000 clusters. A client may ask for each name by a request
of its own, with all names before it: they are two million, and the suite reads them all."""

BEFORE_ABSENCE = 12.0
"""How long a client has to ask for all of them before they are sent all the same: what it asked for
first must come before it does not exist for it, which is so 15 s after the request, whatever the
machine does."""

CALL = 10 * SCALE
"""The deadline of a call that should succeed: gRPC deadlines are the client's own clock."""

COLD_CALL = 60 * SCALE
"""The deadline of a first call that also starts the client's process. A Java client took 57 s on a
machine with twenty times as much to do as it has cores."""

BATCH = 30 * SCALE
"""All outcomes of a batch of calls: CALL, and the queue before the last of them."""

LOOK_AGAIN = 0.02
"""Longest pause between two looks of a wait, such as two rounds of calls; it begins with a quarter
of the time waited so far. Looks without a pause keep the processor from what they wait for."""

APPLY = 5 * SCALE
"""From the ACK of a resource to all new calls obeying it. ACK is not applied: policies switch
gracefully, once the new one is connected."""

MANY = 60 * SCALE
"""From the ACK of a thousand localities to all new calls obeying it. The client makes a policy and
tries an endpoint for each, and goes through all of them at each state change: up to 16 s with six
times as much to do as there are cores."""

ABSENCE = 15.0
"""After so long what was asked for does not exist (A27, A57). The timer is a client's own,
so it does not scale."""

UNRESOLVED = 30 * SCALE
"""Deadline of a call that fails, or goes elsewhere, when a name cannot be resolved: a silent name
server is given a second, and a virtual machine takes ten for its first name on a loaded machine."""

AGE_OF_NAMES = 3600
"""How long an answer of the name server may be kept where its age must be no reason to ask again:
longer than any scenario runs."""

NO_SUCH_RESOURCE = ABSENCE + APPLY
"""Until a client does without a resource that it asked for and never got, and calls obey that."""

LONG_ABSENCE = 30.0
"""Until a resource does not exist, if A88 requires the longer time."""

AFTER_LONG_ABSENCE = LONG_ABSENCE + APPLY + CALL
"""Deadline of a call that waits until then."""

AFTER_ABSENCE = NO_SUCH_RESOURCE + CALL
"""Deadline of a call that waits until then, and is made before the client has asked for anything:
what is left beyond NO_SUCH_RESOURCE tells late from never."""

ABSENCE_EARLY = 1.0
"""By how much less than ABSENCE may be seen: a client may count from when it meant to ask, and its
request is seen when it has been written, sent and read, on a loaded machine. No other timer that a
client may use is so close: the next shorter one is 10 s."""

RELEASE = 1.0 * SCALE
"""For a client to end the streams and connections of channels that it has closed: it takes some
milliseconds. One that needs longer gets another process for the next scenario, and no verdict."""

LEFT_WAITING = ABSENCE / 3
"""For how long a client that connects as it starts may have waited when its scenario begins: one
that was launched ahead of a scenario of ABSENCE does without all resources by then."""

BEYOND_ABSENCE = ABSENCE + 1.5
"""For how long nothing happens to what was there, had its time not been begun again."""

THIRD_OF_ABSENCE = ABSENCE / 3
"""After which a stream ends, to distinguish a timer that continues from one that restarts."""

LATE_CONNECTION = 8.0
"""Until a control plane answers who connects: well below the 20 s after which an attempt is given
up, and the better half of ABSENCE."""

LATE_RESOURCE = 9.0
"""From then to a resource that is not missing yet, six seconds before that, but is for who counts
from the first attempt to connect, two seconds after that."""

UNTIL_THEN = 8.0
"""For how long requests are made while what was asked for at the same time is not missing yet."""

AFTER_OUTAGE = 25 * SCALE
"""From the return of the control plane until what it sends is in use: the backoff of the connection
and that of the stream, one after the other, each of which has grown to about the time that it has
run for. After an outage of 8 s, that of a loaded machine, they are 19 s."""

LEDGER = 5 * SCALE
"""From the outcome of a call at the client to the backend's own row of it."""

REPORTED = 4 * SCALE
"""From when a report of load is due to the report; some clients know no shorter interval than the
second that is asked for."""

RARE_REPORTS = 3.0
"""The interval where much is to happen between two reports, also on a loaded machine."""

LONGER_REPORTS = 1.9
"""The interval that is asked for in the place of one second: a client that does not heed it, has
its own, or reads whole seconds only, sends nearly twice as many."""

LATE_SWEEP = 0.3
"""How much longer than its time an ejection may seem (A50): lateness of the client's timers and of
the suite, and the time between two calls."""

SHORTEST_UPDATE = 0.1
"""The shortest weight_update_period (A58): the time between two updates of the weights."""

REPORT_PACE = 0.4
"""From one call to the next if each load report should contain calls: well below the shortest
interval."""

REPORT_JITTER = 0.6
"""By how much the time from one report to the next may be off: a report that is late makes the next
seem early. With three reports, two intervals of LONGER_REPORTS still differ from two of 1 s."""

EVENT = 5 * SCALE
"""Other single events in which no timer of a gRFC takes part: a connection, a reply."""

ATTEMPT = 10 * SCALE
"""From what makes a client try an endpoint to the attempt: an EVENT, behind a first retry's backoff
(1.2 s at most, gRPC's connection backoff) where one is running; or a few of them, 6.2 s in all."""

BACKOFFS = 15.0
"""The longest sum of a client's backoffs that a scenario waits for. Those of gRPC's document are
7.9 s at their longest; if a client has longer ones, the scenario observes fewer of them."""

KNOWN_CAUSE = 1.0 * SCALE
"""From the last resource that names others until a client has had its time to request them, if it
has not requested such resources in any scenario so far. It takes some milliseconds."""

CONFIRMED_CAUSE = 15.0 * SCALE
"""KNOWN_CAUSE for a scenario that confirms the cause: longer than its requests may take."""

HELD = 0.5
"""Deadline of a call that should wait: ten times what a loaded client takes to fail or to serve it.
One that is too short can only miss a fault, as a call that waits runs into any deadline."""

PACE = 0.1
"""From one round of calls to the next while something else is awaited: often enough that a request
is picked in every state which lasts."""

SEEN_LATE = 0.1 * SCALE
"""By how much later than it came an attempt may be seen."""

CONNECTION_DELAY = 0.3
"""How long an attempt takes that fails after A61's delay of 0.25 s to the next address: a client
goes through a list of such addresses about as fast with Happy Eyeballs as without. Attempts do not
fail when the delay is over: C-core 1.73 was seen to begin two attempts at once then."""

A_FEW_BACKOFFS = 3.0
"""In which what a failure still brings about has come: two backoffs at their longest are 3.1 s."""

BRIEF = 0.05
"""How long an attempt takes that should fail with the same message each time: the client has sent
its first bytes by then, and they have been read, so that it meets the end of a stream."""

SLOW = 0.5
"""How long an attempt takes that fails slowly: long beside what a client does after a failure."""

SLOWER = 2.5
"""How long a slower attempt takes: long enough to distinguish requests that wait for it."""

AFTER_ATTEMPTS = 1.2
"""From the failure of the last attempt that a request waits for to its end, on a loaded machine;
well below SLOWER. It does not scale: a client that is later than that is not told from another."""


class Resolutions(msgspec.Struct, frozen=True):
    """How a client resolves names again: its own times."""

    seconds: float
    """The least from one resolution of a name to the next; it does not scale."""
    retried: float
    """Until a name that could not be resolved for a few seconds is asked for again."""

    @property
    def apart(self) -> float:
        """For how long a name that was resolved is let be, so that it may be resolved again.

        A virtual machine that keeps an answer for the least time drops it only some time later.
        """
        return self.seconds + 3.0


RESOLUTIONS = Resolutions(30.0, retried=25 * SCALE)
"""As clients are shipped. One's virtual machine keeps an answer for as long, and for 10 s that it
got none; a backoff that has grown to about as long goes on for 20 s more at most."""

SOON_AGAIN = Resolutions(2.0, retried=8 * SCALE)
"""For a client that has a knob for it. The time is longer than one resolution takes with all its
queries: two kinds of addresses, each also over the network's second path. If a name could not be
resolved in that time, the backoff has grown to about as long."""


class Failover(msgspec.Struct, frozen=True):
    """The failover timer of a priority (A56): a client's own, so it does not scale."""

    seconds: float

    @property
    def well_within(self) -> float:
        """Time after which the first attempt succeeds, far before the timer's end.

        Or fails, in which case a timer that begins again then is seen to.
        """
        return 0.3 * self.seconds

    @property
    def beyond(self) -> float:
        """For how long nothing happens that would, had the timer not been ended."""
        return self.seconds + FAILOVER_LATE


FAILOVER = Failover(10.0)
"""As the gRFC has it, and clients are shipped."""

FAST_FAILOVER = Failover(3.0)
"""Under --fast, of a client that has a knob for it: what is well within it is done two seconds
before its end."""

FAILOVER_EARLY = 0.25
"""By how much less than the failover timer may be seen: the attempt that begins it is seen when it
arrives, a little after the client began to connect."""

FAILOVER_LATE = 1.5 * SCALE
"""By how much more may be seen: what the client does between the timer and the next attempt, on a
machine with a dozen busy processes."""

AFTER_FAILOVER = 2 * FAILOVER.seconds + 10 * SCALE
"""Until what waits for one failover timer, or two, must have come, and deadline of a call that is
to be served only then; what is left beyond FAILOVER_LATE tells late from never."""

AFTER_TWO_FAILOVERS = 3 * FAILOVER.seconds + 10 * SCALE
"""Until two failover timers, one after the other, must have ended; used as AFTER_FAILOVER is."""

FAR_FROM_FAILOVER = min(5 * SCALE, 0.8 * FAILOVER.seconds)
"""What must not wait for the failover timer is done by then, and what has to wait for it is not."""

SEVERAL_MOMENTS = 1.0
"""Deadline of a call that should wait while the client goes through several states."""

BEFORE_A_REQUEST = 3.0
"""For how long a priority is left IDLE before its first request, so that a failover timer which
began too early is seen to: more than FAILOVER_EARLY and FAILOVER_LATE together."""

BELIEVED = 0.5 * SCALE
"""Lateness of the suite up to which a time that it measured is believed."""

SOAK = float(os.environ.get("XDSPEC_SOAK", "6"))
"""For how long requests are made while endpoints fail at random and lists change. The default has
two storms, each with a calm after it, enough for any mistake that lasts; 30 s and more look for
rare ones, and cost a core for half of that time."""

FAST_SOAK = float(os.environ.get("XDSPEC_SOAK", "3"))
"""Under --fast, unless it is said: one storm and the calm after it."""

SOAK_PACE = 0.005
"""From one request of the soak to the next."""

THICK_PACE = 0.001
"""From one request to the next if a pick should coincide with an update."""

WISHES = 1.0
"""How long requests of THICK_PACE may take to make the client try endpoints. A request that waits
for an endpoint must have most of a CALL left when the update that removes the endpoint is sent. A
client that applies a list after the last request tries nothing more."""

SOAK_CALL = 30 * SCALE
"""The deadline of such a request: it passes only if the request was forgotten, also on a machine on
which a client that is not warm yet gets no processor for seconds."""

MOMENTS = 1.0 * SCALE
"""How long before a request the reason may lie why it failed or where it went, after the ACK of an
update: far above the milliseconds that a client takes, and two thirds of a calm."""

SETTLE = 5 * SCALE
"""From the last change of a course to the calm in which the client does what it should: an APPLY,
beside which two backoffs at the knob's length are short. A client that states longer backoffs has
them in addition."""

COURSE_CALL = 2.5 * SCALE
"""The deadline of a request of a course. It is longer than MOMENTS, so that a request which runs
into it without a reason is seen, and half of SETTLE, so that a calm has more than one round."""

COURSE_BACKOFF = 0.2
"""The first backoff of a client that has a knob for it, in courses: a failed endpoint is tried
again within the calm that waits for it. It does not scale, as it is the client's own."""

COURSE_LONGEST_BACKOFF = 0.4
"""The longest backoff of such a client."""

COURSE_FAILOVER = 3.0
"""The failover timer of a client that has a knob for it, in courses: shorter than what a course
waits for, and longer than the attempts that should succeed within it."""

SHRINKING = 100.0
"""For how long a failing course is made smaller. It does not scale: it is the user who waits."""

LINGER = 15.0
"""For how long a connection may stay open after its endpoint has left the list. No text has a
number; grpc-js looks for connections that nothing uses every 10 s."""

HURRY = 0.3
"""The part of SETTLE after which a calm does not come while a course is made smaller: nearly all
come in a tenth. The smallest course is then repeated with all of SETTLE."""

EXAMINATION = 150.0
"""For how long a failing course is made smaller and repeated; a repetition under way comes to its
end, so that all is over within three minutes."""

QUIET = 0.3
"""Window in which a thing that must not happen would have happened: a hundred times what the
causing message takes through the client on an idle machine. A window that is too short can only
miss a fault, never accuse a right client."""

WHOLE = 1.0 * SCALE
"""For how long after an answer its connection must have stayed open before a client that says the
call failed is held to it: a hundred times what it takes to close one that it takes for broken."""

UNEXPIRED = 0.1
"""How long before its deadline a call must have ended for the deadline to be no reason: timers of
clients are a few milliseconds early at most. And by how much two clocks are believed to agree."""

EXIT = 2 * SCALE
"""From the end of standard input to the exit of the client, before it is killed."""

SCENARIO = 600 * SCALE + 2 * SOAK
"""For how long a scenario may run. Each of its waits has a deadline, so only a mistake of the suite
takes longer than the slowest one, which is a minute and a half with a slow client on a machine at
twenty times its load."""

LATE = 1.0 * SCALE
"""By how much the suite's own event loop may be late before a passed deadline says nothing of the
client any more: far above what a loaded machine shows, far below every deadline."""

STARVED = EVENT / 2
"""For how long the machine may keep a client waiting for a processor, all in all, before a passed
deadline says nothing of it any more: half of the shortest one, and half of the scenario's time.
What fails in such a client runs again alone, unless its failure is known."""

TOLD_LATENESS = 0.05
"""From here on evidence tells when the suite was late: below, it is what any machine shows."""

HEARTBEAT = 0.02
"""Spacing of the beats that measure the suite's own lateness: well below any interval judged."""

SAMPLED = 2.0
"""Between looks at how idle the processors are. /proc/stat counts hundredths of a second, and a
worker takes one to start with its client."""

BURST = 0.5
"""After which the suite prints a burst of calls and connections to the user: short for people, and
long compared with the time between two of them."""
