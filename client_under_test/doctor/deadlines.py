"""How long the doctor waits for what, in seconds, and why so long."""

from __future__ import annotations

from typing import Final

# A client may need most of a minute to start (a virtual machine without a warm cache on a busy
# computer); a stock client is started for its first calls.
START_DEADLINE: Final = 60.0
STILL_WAITING: Final = 10.0

# Everything else is local and small; this only has to be longer than a busy computer's hiccup.
ANSWER_DEADLINE: Final = 5.0

# How long the doctor watches that nothing happens: a client that connects does so at once.
QUIET: Final = 0.3

# After which calls that wait for others to be under way beside them stop waiting.
MEETING: Final = ANSWER_DEADLINE / 2

# In which one call more than should be under way has come, on a computer that is not busy.
MOMENT: Final = 0.25
