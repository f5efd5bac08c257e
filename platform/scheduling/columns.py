"""Who holds what, as arrays."""

from dataclasses import dataclass

from scheduling.supply import BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class Columns:
    """Holdings by slot, then a row per worker, then a row per device of each worker.

    Evicting a slot loses `weight` (devices, in milli) x (the time since `saved_at_ms` + `restart_ms`).
    """

    queue: IntArray
    priority: IntArray
    evictable: BoolArray
    placed_at_ms: IntArray
    saved_at_ms: IntArray  # the newest whole checkpoint of this run, or its start
    weight: IntArray
    restart_ms: IntArray
    attained: IntArray  # service of earlier attempts, in milli-accelerators x ms
    remaining: IntArray  # predicted remaining service at its start, the same unit; -1 if nobody knows
    limit_ms: IntArray  # of its run, from its start; NO_LIMIT_MS if there is none, or no start
    predicted_ms: IntArray  # run time of the attempt, likewise
    is_new: BoolArray
    is_surplus: BoolArray
    amount: IntArray
    held: IntArray  # by the whole job
    name_first: IntArray  # the first bytes of the job's id as a number, and the next ones:
    name_next: IntArray  # ids decide between equals, not who was booked first
    worker_slot: IntArray
    worker_node: IntArray
    worker_cpus: IntArray
    worker_memory: IntArray
    device_slot: IntArray
    device_node: IntArray
    device_index: IntArray
    device_milli: IntArray
