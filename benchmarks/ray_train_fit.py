"""The peer's side: `python -m benchmarks.ray_train_fit WORKERS` trains the recipe under Ray Train V2.

Runs in the peers' virtual environment; Ray is started before the clock is, as a cluster would be.
"""

import json
import os
import sys
import time
from pathlib import Path

PASSED_ON = (
    "PYTHONPATH",
    "GANGLINE_RECIPE",
    "GANGLINE_PARAMS",
    "GANGLINE_EVENTS_FILE",
    "GLOO_SOCKET_IFNAME",
)


def train_worker(_config: dict[str, object]) -> None:
    """What each of Ray Train's workers runs: the recipe, in the process group that Ray Train has made."""
    from ray_runtime.train.recipes import build

    if os.environ.get("RANK", "0") != "0":
        os.environ.pop("GANGLINE_EVENTS_FILE", None)
    build(os.environ["GANGLINE_RECIPE"], json.loads(os.environ["GANGLINE_PARAMS"])).run()


def main() -> None:
    """Start Ray, then the clock, then `fit()`."""
    import ray
    from ray.train import RunConfig, ScalingConfig
    from ray.train.torch import TorchTrainer

    workers = int(sys.argv[1])
    environ = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    ray.init(
        num_cpus=workers + 1,
        include_dashboard=False,
        _node_ip_address="127.0.0.9",
        runtime_env={"env_vars": environ},
    )
    trainer = TorchTrainer(
        train_worker,
        train_loop_config={},
        scaling_config=ScalingConfig(num_workers=workers),
        run_config=RunConfig(storage_path=str(Path.cwd() / "ray-train")),
    )
    Path(os.environ["GANGLINE_BENCH_STARTED"]).write_text(str(time.time()))
    trainer.fit()


if __name__ == "__main__":
    main()
