"""The policies that the engine is compared with, on the same clock, cluster and jobs."""
