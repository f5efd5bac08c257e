"""Print one numbered line every 0.1 s, for ever or `sys.argv[1]` lines."""

import itertools
import sys
import time

most = int(sys.argv[1]) if len(sys.argv) > 1 else None
for number in itertools.count(1):
    print(f"line {number}", flush=True)
    if number == most:
        break
    time.sleep(0.1)
