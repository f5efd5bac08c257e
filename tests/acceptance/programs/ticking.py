"""Print a number and the time every 0.1 s, for ever or `sys.argv[1]` times."""

import itertools
import sys
import time

most = int(sys.argv[1]) if len(sys.argv) > 1 else None
for number in itertools.count(1):
    print(number, f"{time.time():.3f}", flush=True)
    if number == most:
        break
    time.sleep(0.1)
