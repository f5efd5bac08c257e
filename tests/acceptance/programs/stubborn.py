"""A job that will not go: ignores SIGTERM and leaves children in every way there is."""

import itertools
import os
import signal
import subprocess
import sys
import time

SLEEP = [
    sys.executable,
    "-c",
    "import signal,time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)",
]


def daemon() -> None:
    """A daemon in the old way: fork, new session, fork again, so that init becomes its parent."""
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    os.execv(SLEEP[0], SLEEP)


def main() -> None:
    """Start the children, then count for ever."""
    signal.signal(signal.SIGTERM, lambda *_: print("BYE-1", flush=True))
    subprocess.Popen(SLEEP)
    subprocess.Popen(SLEEP, start_new_session=True)
    daemon()
    for number in itertools.count(1):
        print(f"line {number}", flush=True)
        ends_at = time.monotonic() + 0.2
        while (left := ends_at - time.monotonic()) > 0:
            time.sleep(left)


main()
