"""The environment of a rank: clean, then the user's variables, then the platform's. Pure."""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ray_runtime.devices import visible_devices
from ray_runtime.protocol import LaunchSpec, WorkerSlot

# All that a rank takes over from its node: nothing of Ray's, no token, no address of a server.
_KEPT = ("HOME", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "SSL_CERT_FILE")
_PACKAGE_ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """The folders of one attempt on one node."""

    root: Path

    @property
    def work(self) -> Path:
        """Where the code is unpacked and ranks start."""
        return self.root / "work"

    @property
    def output(self) -> Path:
        """What the program leaves here is uploaded at the end."""
        return self.root / "output"

    @property
    def scratch(self) -> Path:
        """The ranks' TMPDIR, removed at the end."""
        return self.root / "tmp"

    @property
    def exits(self) -> Path:
        """One JSON line per ended rank, written by the rank host."""
        return self.root / "exits"

    def stream(self, name: str) -> Path:
        """The file behind one stream."""
        return self.root / name


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendezvous:
    """What a whole gang has in common: where rank 0 listens, and the checkpoint that all start from."""

    address: str
    port: int
    resume_from: str


def nodes_of(spec: LaunchSpec) -> list[str]:
    """The nodes of a gang, in the order of their lowest rank."""
    return list(dict.fromkeys(slot.node for slot in sorted(spec.workers, key=lambda slot: slot.rank)))


def rank_argv(spec: LaunchSpec) -> tuple[str, ...]:
    """The program of each rank."""
    if spec.command is not None:
        return ("/bin/sh", "-c", spec.command)
    return (sys.executable, "-m", "ray_runtime.train.recipes")


def rank_environ(
    spec: LaunchSpec,
    *,
    slot: WorkerSlot,
    folders: Folders,
    rendezvous: Rendezvous,
    node_address: str,
    resource: str,
    inherited: Mapping[str, str],
) -> dict[str, str]:
    """Everything that one rank finds in its environment."""
    base = {name: inherited[name] for name in _KEPT if name in inherited}
    return {
        **base,
        **_defaults(spec, folders=folders, node_address=node_address, inherited=inherited),
        **spec.variables,
        **visible_devices(resource, _shown(spec, slot)),
        **_ranks(spec, slot),
        **_platform(spec, slot=slot, folders=folders, rendezvous=rendezvous),
    }


def _defaults(
    spec: LaunchSpec, *, folders: Folders, node_address: str, inherited: Mapping[str, str]
) -> dict[str, str]:
    """What a user may change."""
    interpreter = str(Path(sys.executable).parent)
    values = {
        "PATH": f"{interpreter}{os.pathsep}{inherited.get('PATH', os.defpath)}",
        "PYTHONPATH": str(_PACKAGE_ROOT),
        "PYTHONUNBUFFERED": "1",  # else the last lines are lost with a killed process
        "TMPDIR": str(folders.scratch),
        "OMP_NUM_THREADS": str(max(1, spec.cpus_milli // 1000)),
    }
    if node_address.startswith("127."):
        values["GLOO_SOCKET_IFNAME"] = "lo"  # gloo would look up the host name and leave loopback
    return values


def _shown(spec: LaunchSpec, slot: WorkerSlot) -> tuple[int, ...]:
    """With one device each, all of the node's ranks see all of theirs, in order of local rank.

    That is what torchrun-style programs count on (`cuda:$LOCAL_RANK`), and what peer-to-peer copies need.
    """
    if len(slot.devices) != 1:
        return slot.devices
    local = sorted((worker.rank, worker.devices) for worker in spec.workers if worker.node == slot.node)
    return tuple(device for _rank, devices in local for device in devices)


def _ranks(spec: LaunchSpec, slot: WorkerSlot) -> dict[str, str]:
    local = sorted(worker.rank for worker in spec.workers if worker.node == slot.node)
    return {
        "RANK": str(slot.rank),
        "LOCAL_RANK": str(local.index(slot.rank)),
        "WORLD_SIZE": str(len(spec.workers)),
        "LOCAL_WORLD_SIZE": str(len(local)),
        "GROUP_RANK": str(nodes_of(spec).index(slot.node)),
    }


def _platform(
    spec: LaunchSpec, *, slot: WorkerSlot, folders: Folders, rendezvous: Rendezvous
) -> dict[str, str]:
    values = {
        "MASTER_ADDR": rendezvous.address,
        "MASTER_PORT": str(rendezvous.port),
        "GANGLINE_JOB_ID": spec.job_id,
        "GANGLINE_ATTEMPT": str(spec.attempt_number),
        "GANGLINE_ATTEMPT_ID": spec.attempt_id,
        "GANGLINE_ACCELERATORS": ",".join(map(str, slot.devices)),
        "GANGLINE_CHECKPOINT_DIR": spec.checkpoint_dir,
        "GANGLINE_CHECKPOINT_EVERY": spec.checkpoint_every,
        "GANGLINE_CHECKPOINT_KEEP": str(spec.checkpoint_keep),
        "GANGLINE_RESUME_FROM": rendezvous.resume_from,
        "GANGLINE_OUTPUT_DIR": str(folders.output),
        "GANGLINE_EVENTS_FILE": str(folders.stream(f"rank-{slot.rank}.events")),
    }
    if spec.recipe is not None:
        values |= {"GANGLINE_RECIPE": spec.recipe, "GANGLINE_PARAMS": json.dumps(dict(spec.params))}
    return values
