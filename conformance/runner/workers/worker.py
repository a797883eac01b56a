"""What a worker is forked from: a process that has imported the scenarios already.

`client_under_test/launching/zygote.py` runs this, first for what it imports and then to be a worker
of xdist.
"""

import os
import platform
import sys

if __name__ == "__imports__":
    import conformance.runner.run  # noqa: F401  # with all that a worker has of xdist
    from conformance.runner.collection import import_scenarios

    import_scenarios()
    platform.platform()  # xdist asks for it in each worker, and it starts a process once

if __name__ == "__main__":
    # What xdist has Python do: the program is a line of stdin, from the command by a pipe.
    exec(eval(sys.stdin.readline()))  # noqa: S102, S307
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # everything is reported, and a regular exit would take time
