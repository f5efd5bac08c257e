"""Made-up clusters of a stated size on which the engine's speed is measured. No clock in here."""
