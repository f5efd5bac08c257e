"""What a node is doing, by psutil. Blocking: call in a thread."""

import os

import psutil


def sample(folder: str) -> dict[str, float]:
    """Load and memory of the whole machine, and the disk below the agent's folder."""
    memory = psutil.virtual_memory()
    disk = psutil.disk_usage(folder)
    network = psutil.net_io_counters()
    return {
        "cpu_percent": psutil.cpu_percent(interval=None),
        "load_1m": os.getloadavg()[0],
        "memory_used_bytes": float(memory.total - memory.available),
        "memory_total_bytes": float(memory.total),
        "disk_used_bytes": float(disk.used),
        "disk_total_bytes": float(disk.total),
        "network_sent_bytes": float(network.bytes_sent),
        "network_received_bytes": float(network.bytes_recv),
    }
