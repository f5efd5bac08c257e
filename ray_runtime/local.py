"""How a local Ray cluster's processes are started: argument lists and environments, nothing is run here.

Standard library only: the supervisor and the tests use it without importing Ray.
"""

import hashlib
import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

SLOT = "slot"  # Ray's custom resource that counts accelerators where a node has none
OBJECT_STORE_BYTES = 78_643_200  # Ray's minimum (75 MiB): nothing of ours goes through the object store
LONGEST_TEMP_DIR = 41  # a Unix socket's path ends at 107 bytes; Ray appends a session name of up to 66
WORK_DIR_VARIABLE = "GANGLINE_WORK_DIR"  # a raylet's, and so its agent's: where attempts live on that node

# The only variables that Ray's processes, and so conductor and agents, take over from whoever starts them:
# database addresses, secrets and stray RAY_* settings must not reach the cluster.
_INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "SSL_CERT_FILE")


class RayCommand(NamedTuple):
    """One `ray start`: run it with exactly this environment; it stays in the foreground until SIGTERM."""

    argv: list[str]
    environ: dict[str, str]


def head_command(
    address: str,
    *,
    port: int,
    temp_dir: Path,
    storage_dir: Path,
    token_path: Path,
    python_path: str,
    inherit: Mapping[str, str],
    num_cpus: int = 0,
    labels: Mapping[str, str] | None = None,
    python: str = sys.executable,
) -> RayCommand:
    """The head: GCS on `address:port` with its tables in `storage_dir`, so that a restart there keeps actors.

    `address` must not be 127.0.0.1 (Ray replaces it by the outside address); 127.0.0.2 and up stay.
    `temp_dir` must lie in a folder with mode 0700, because Ray makes its own 0777.
    """
    _check(address, temp_dir)
    argv = [
        *_start(python, address, temp_dir),
        *("--head", f"--port={port}", "--include-dashboard=false", "--no-monitor"),
        *_capacity(num_cpus, {}, labels or {}),
    ]
    storage = {"RAY_gcs_storage": "rocksdb", "RAY_gcs_storage_path": str(storage_dir)}
    work = {WORK_DIR_VARIABLE: str(temp_dir.with_name(f"{temp_dir.name}-work"))}
    environ = _environ(inherit, token_path=token_path, python_path=python_path)
    return RayCommand(argv, environ | storage | work)


def node_command(
    address: str,
    *,
    head: str,
    temp_dir: Path,
    token_path: Path,
    python_path: str,
    inherit: Mapping[str, str],
    num_cpus: int,
    num_slots: int,
    labels: Mapping[str, str],
    work_dir: Path | None = None,
    python: str = sys.executable,
) -> RayCommand:
    """A node that joins the head at `head` (`host:port`) with CPUs and counted slots.

    `labels` must hold `gangline.node`, the stable name. Each node has a `temp_dir` of its own: nodes that
    share one race for socket names and must start one after another; apart, they start all at once.
    `work_dir` is where its agent keeps attempts, code and logs that are still to be shipped.
    """
    _check(address, temp_dir)
    argv = [
        *_start(python, address, temp_dir),
        f"--address={head}",
        *_capacity(num_cpus, {SLOT: num_slots}, labels),
    ]
    work = {WORK_DIR_VARIABLE: str(work_dir or temp_dir.with_name(f"{temp_dir.name}-work"))}
    return RayCommand(argv, _environ(inherit, token_path=token_path, python_path=python_path) | work)


def client_environ(inherit: Mapping[str, str], *, token_path: Path, python_path: str) -> dict[str, str]:
    """The environment for a short-lived driver of that cluster, such as `python -m ray_runtime.launcher`."""
    return _environ(inherit, token_path=token_path, python_path=python_path)


def passed_on(inherit: Mapping[str, str]) -> dict[str, str]:
    """What a service that was given Ray's authentication hands to a driver that it starts."""
    names = (*_INHERITED, "PYTHONPATH", "RAY_AUTH_MODE", "RAY_AUTH_TOKEN_PATH")
    return {name: inherit[name] for name in names if name in inherit} | {"RAY_USAGE_STATS_ENABLED": "0"}


def temp_dir_for(data_dir: Path, *, name: str) -> Path:
    """Where the Ray session folder of the process `name` goes: inside `data_dir`, or elsewhere if too long.

    The caller makes its parent with mode 0700 and checks that it owns it.
    """
    inside = data_dir / "ray" / name
    if len(str(inside).encode()) <= LONGEST_TEMP_DIR:
        return inside
    digest = hashlib.sha256(str(data_dir).encode()).hexdigest()[:10]
    return Path(tempfile.gettempdir()) / f"gangline-{digest}" / name


def _start(python: str, address: str, temp_dir: Path) -> list[str]:
    return [
        *(python, "-m", "ray.scripts.scripts", "start", "--block", f"--node-ip-address={address}"),
        *(f"--temp-dir={temp_dir}", f"--object-store-memory={OBJECT_STORE_BYTES}"),
        *("--include-log-monitor=false", "--min-worker-port=0", "--max-worker-port=0"),
        *("--disable-usage-stats", "--log-color=false"),
    ]


def _capacity(num_cpus: int, resources: Mapping[str, int], labels: Mapping[str, str]) -> list[str]:
    argv = [f"--num-cpus={num_cpus}", f"--resources={json.dumps(dict(resources))}"]
    if labels:
        argv.append("--labels=" + ",".join(f"{name}={value}" for name, value in sorted(labels.items())))
    return argv


def _environ(inherit: Mapping[str, str], *, token_path: Path, python_path: str) -> dict[str, str]:
    return {name: inherit[name] for name in _INHERITED if name in inherit} | {
        "PYTHONPATH": python_path,
        "PYTHONUNBUFFERED": "1",
        # Both explicitly: a stray token in the home folder would switch authentication on for the head alone.
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token_path),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_memory_monitor_refresh_ms": "0",  # it kills the agent, not the culprit
        "RAY_prestart_worker_first_driver": "0",  # else one idle interpreter per CPU and node, 60 MB each
        "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S": "0",  # else SIGTERM waits 30 s for actors that never leave
        "RAY_gcs_rpc_server_reconnect_timeout_s": "600",  # how long nodes outlive the head; 60 s by default
    }


def _check(address: str, temp_dir: Path) -> None:
    if address == "127.0.0.1":
        raise ValueError("Ray replaces 127.0.0.1 by the outside address; use 127.0.0.2 or another")
    if len(str(temp_dir).encode()) > LONGEST_TEMP_DIR:
        raise ValueError(
            f"temp_dir {temp_dir} is longer than {LONGEST_TEMP_DIR} bytes: socket paths would not fit"
        )
