"""The command lines of a Ray head and a Ray node, from variables that describe the machine they run on.

These processes never see the portal's settings: what runs on the cluster knows no database and no secret key.
"""

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ray_runtime import local
from ray_runtime.local import RayCommand

NODE_VARIABLES: Mapping[str, str] = {
    "GANGLINE_RAY_ADDRESS": "The head's GCS, `host:port`.",
    "GANGLINE_NODE_ADDRESS": "This machine's address in the cluster. Default: what its host name means.",
    "GANGLINE_NODE_NAME": "Its stable name, unique in the cluster. Default: its host name.",
    "GANGLINE_NODE_ZONE": "The zone it stands in. Default: `default`.",
    "GANGLINE_NODE_RACK": "The rack it stands in. Default: `default`.",
    "GANGLINE_NODE_LINK": "The domain of its fast links (NVLink and the like). Default: the node's name.",
    "GANGLINE_NODE_ACCELERATOR": "The type of its accelerators. Default: `slot`, places without a device.",
    "GANGLINE_NODE_SLOTS": "How many slots it has where it has no accelerators. Default: 0.",
    "GANGLINE_NODE_CPUS": "How many CPUs it offers. Default: all.",
    "GANGLINE_RAY_DIR": "Where Ray keeps its session and the head its tables. Default: `/var/lib/gangline`.",
    "RAY_AUTH_TOKEN_PATH": "The file with the cluster's token, the same on every machine.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What `NODE_VARIABLES` say about one machine."""

    address: str
    name: str
    labels: Mapping[str, str]
    slots: int
    cpus: int
    ray_dir: Path
    token_path: Path
    head: str


def read_machine(environ: Mapping[str, str]) -> Machine:
    """The machine that the variables describe."""
    host = socket.gethostname()
    name = environ.get("GANGLINE_NODE_NAME") or host
    labels = {
        "gangline.node": name,
        "gangline.zone": environ.get("GANGLINE_NODE_ZONE", "default"),
        "gangline.rack": environ.get("GANGLINE_NODE_RACK", "default"),
        "gangline.link": environ.get("GANGLINE_NODE_LINK", name),
        "gangline.accelerator": environ.get("GANGLINE_NODE_ACCELERATOR", local.SLOT),
    }
    return Machine(
        address=environ.get("GANGLINE_NODE_ADDRESS") or socket.gethostbyname(host),
        name=name,
        labels=labels,
        slots=int(environ.get("GANGLINE_NODE_SLOTS", "0")),
        cpus=int(environ.get("GANGLINE_NODE_CPUS") or os.cpu_count() or 1),
        ray_dir=Path(environ.get("GANGLINE_RAY_DIR", "/var/lib/gangline")),
        token_path=Path(environ["RAY_AUTH_TOKEN_PATH"]),
        head=environ["GANGLINE_RAY_ADDRESS"],
    )


def ray_head(environ: Mapping[str, str], *, python_path: str) -> RayCommand:
    """The head: it keeps the cluster's tables and runs no job."""
    machine = read_machine(environ)
    storage = machine.ray_dir / "ray" / "gcs"
    storage.mkdir(parents=True, exist_ok=True, mode=0o700)
    # Ray's note of the cluster that runs here. After a crash of the head it makes `ray start` refuse, because
    # the nodes, which wait for the head to come back, look to it like a head.
    (_temp_dir(machine) / "ray_current_cluster").unlink(missing_ok=True)
    return local.head_command(
        machine.address,
        port=int(machine.head.rpartition(":")[2]),
        temp_dir=_temp_dir(machine),
        storage_dir=storage,
        token_path=machine.token_path,
        python_path=python_path,
        inherit=environ,
    )


def ray_node(environ: Mapping[str, str], *, python_path: str) -> RayCommand:
    """A node that jobs run on."""
    machine = read_machine(environ)
    return local.node_command(
        machine.address,
        head=machine.head,
        temp_dir=_temp_dir(machine),
        token_path=machine.token_path,
        python_path=python_path,
        inherit=environ,
        num_cpus=machine.cpus,
        num_slots=machine.slots,
        labels=machine.labels,
    )


def _temp_dir(machine: Machine) -> Path:
    """Ray makes its folder open to all, so its parent is closed, and must be ours."""
    temp_dir = local.temp_dir_for(machine.ray_dir, name=machine.name)
    temp_dir.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if temp_dir.parent.stat().st_uid != os.geteuid():
        raise PermissionError(f"{temp_dir.parent} belongs to another user")
    temp_dir.parent.chmod(0o700)
    return temp_dir
