"""Memory of a snapshot with all that it implies."""

import tracemalloc

from scheduling.bench.passes import decided
from scheduling.bench.registry import Case, Clocks, Measured
from scheduling.bench.workloads import Size, busy_cluster

MIB = 1 << 20


def measure(clocks: Clocks) -> Measured:
    """Peak MiB allocated while a snapshot of 10,000 nodes and 20,000 jobs is built and decided on."""
    del clocks
    tracemalloc.start()
    snapshot = busy_cluster(Size(num_nodes=10_000, num_waiting=12_000))
    decided(snapshot)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return Measured(value=peak / MIB, detail=f"{len(snapshot.jobs)} jobs, the plan and its reasons included")


CASES = (Case(name="memory at 10,000 nodes and 20,000 jobs", unit="MiB", run=measure, bar=200),)
