"""Real traces replayed through the engine and through baselines: same clock, cluster, knowledge for all."""
