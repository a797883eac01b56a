from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Callable

import pytest

from client_under_test.launching import pidfd

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux alone has such handles")

WAYS = [pidfd.pidfd_open, pidfd._call]


@pytest.mark.parametrize("opened", WAYS)
def test_a_handle_tells_when_a_process_ends(opened: Callable[[int], int]) -> None:
    with subprocess.Popen(
        [sys.executable, "-I", "-c", "input()"], stdin=subprocess.PIPE
    ) as process:
        handle = opened(process.pid)
        try:
            assert not select.select([handle], [], [], 0)[0]
            assert not os.get_inheritable(handle)
            process.communicate()
            assert select.select([handle], [], [], 10)[0]
        finally:
            os.close(handle)
    with pytest.raises(ProcessLookupError):
        opened(process.pid)
