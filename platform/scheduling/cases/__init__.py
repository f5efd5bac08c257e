"""Scheduling cases: reads a case file, plays each case on a virtual clock, says what differs from it.

The `conventions` of the file are the rules. What they leave open is decided here:

- Time: at each second first the jobs and pods that end free their devices, then the events apply in list
  order, then the engine decides until nothing changes. Jobs of one second are in line in list order.
- Run time is counted from the start of an attempt, in wall time, also for an elastic job that is resized. A
  job that is evicted, restarted or repaired begins again. `limit` is enforced.
- `want` is what an elastic job asks for; unless stated its `max`. Asking for less than `min` means `min`.
- `fail`: pods on the node are lost. A gang of which all are lost waits again; else it is shown to the engine
  with the number missing, which replaces them or withdraws the gang, whose other pods then leave at once.
  `recover` brings no pod back. `drain`: nothing new starts there, what runs goes on.
- `restart`: all pods start anew where they are; those on a failed or drained node have to be replaced.
- `pod_done`: the pod's devices are free, the rest of the gang goes on, the job ends with its last pod.
- `pods`: a gang is submitted when all its pods are known. `cancel`, `end`, `remove`: the job is gone at once.
- Pods that leave in a shrink hold their devices for the job's grace, as evicted ones do.
- `evictions` counts what the engine evicts for another job; withdrawing a gang that lost pods may be counted
  or not. `pods_removed` counts pods taken in a shrink, not those that the user no longer wants.
- `pending` names jobs that wait, maybe not all; an empty list says that none does. `running` likewise.
- A phrase that is not understood is a difference, except in a `note`, which speaks to the reader.
"""
