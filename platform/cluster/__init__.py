"""Nodes, accelerators, topology and health, as the conductor reports them."""
