"""``python -m conformance`` is the ``xdspec`` command."""

import os
import signal

# Loading takes a moment; until the command is there to say it better, Ctrl-C just ends.
signal.signal(signal.SIGINT, lambda *_: os._exit(2))

from conformance.cli import main  # noqa: E402

if __name__ == "__main__":
    main()
