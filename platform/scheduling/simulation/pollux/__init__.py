"""The workloads of Pollux (Qiao et al., OSDI'21): 160 training jobs of six kinds on 16 nodes x 4 devices."""

from scheduling.simulation.pollux.replay import TRACE, rows

__all__ = ["TRACE", "rows"]
