"""Queue tree, guarantees and limits, reservation ledger, usage."""
