"""Replays of real traces through the engine and through baselines: same clock, cluster and knowledge for all."""
