"""Replays of jobs of a fixed size on equal nodes: one clock, one placement rule, one restart cost for all."""
