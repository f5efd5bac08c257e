"""The peers: torchrun and Ray Train V2 run the very same recipe, in a virtual environment of their own.

`make peers` builds `.venv-peers` (Ray with its training extra, the same torch).
"""

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PEERS = ROOT / ".venv-peers"
SECONDS = 180


def torchrun_first_step(params: Mapping[str, object], *, workers: int) -> float:
    """Seconds from torchrun's start to the first step that rank 0 reports."""
    argv = [
        *(str(PEERS / "bin" / "torchrun"), "--standalone", f"--nproc-per-node={workers}"),
        *("-m", "ray_runtime.train.recipes"),
    ]
    return _first_step(argv, params)


def ray_train_first_step(params: Mapping[str, object], *, workers: int) -> float:
    """Seconds from `fit()` (Ray is up by then) to the first step that rank 0 reports."""
    argv = [str(PEERS / "bin" / "python"), "-m", "benchmarks.ray_train_fit", str(workers)]
    return _first_step(argv, params)


def _first_step(argv: list[str], params: Mapping[str, object]) -> float:
    with tempfile.TemporaryDirectory(prefix="gl-peer-") as folder:
        events, started = Path(folder) / "events", Path(folder) / "started"
        environ = _environ(params, events=events, started=started)
        began = time.time()
        log = Path(folder) / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                argv, env=environ, cwd=folder, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
        try:
            at = _wait_for_step(events, process, log)
        finally:
            _end(process)
        return at - (float(started.read_text()) if started.exists() else began)


def _environ(params: Mapping[str, object], *, events: Path, started: Path) -> dict[str, str]:
    foreign = ("GANGLINE_", "RAY_", "DJANGO_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return kept | {
        "PYTHONPATH": str(ROOT),
        "GANGLINE_RECIPE": "gpt-pretrain",
        "GANGLINE_PARAMS": json.dumps(dict(params)),
        "GANGLINE_EVENTS_FILE": str(events),
        "GANGLINE_BENCH_STARTED": str(started),
        "GLOO_SOCKET_IFNAME": "lo",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_TRAIN_V2_ENABLED": "1",
    }


def _wait_for_step(events: Path, process: "subprocess.Popen[bytes]", log: Path) -> float:
    ends_at = time.monotonic() + SECONDS
    while time.monotonic() < ends_at:
        for line in events.read_text().splitlines() if events.exists() else ():
            event = json.loads(line) if line.endswith("}") else {}
            if event.get("kind") == "metrics":
                return float(event["at_ms"]) / 1000
        if process.poll() is not None:
            break
        time.sleep(0.02)
    raise RuntimeError(f"{process.args!r} came to no step:\n{log.read_text(errors='replace')[-3000:]}")


def _end(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(20)
