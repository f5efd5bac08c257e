"""How much machine there is to show something on."""

import os
from pathlib import Path

CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")  # of a container: "<microseconds> <of so many>", or "max <...>"


def num_cpus() -> int:
    """The cores that this process may use: a container often sees all, but is given a share of them."""
    cores = len(os.sched_getaffinity(0))
    try:
        quota, _, period = CPU_QUOTA.read_text().partition(" ")
        return max(1, min(cores, round(int(quota) / int(period))))
    except (OSError, ValueError):
        return cores
