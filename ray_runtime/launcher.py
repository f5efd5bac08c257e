"""Starts the conductor where there is none. The only module through which the server touches Ray.

`ensure_conductor` runs this file as a short-lived child, so that no server process ever holds a Ray driver.
A driver costs about 1.2 s of CPU: call it when the conductor's heartbeat has been silent, not by the clock.
"""

import json
import logging
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from ray_runtime.settings import ConductorSettings

_TIMEOUT_SECONDS = 120.0
_CALL_SECONDS = 30.0
NAME = "conductor"


class LauncherError(Exception):
    """The conductor could not be reached or created. The message is for operators."""


def ensure_conductor(
    *, ray_address: str, portal_url: str, token: str, environ: Mapping[str, str], **patience: float
) -> bool:
    """Have a conductor with these settings run on the cluster; True if it had to be created.

    `environ` is the child's whole environment: it must hold RAY_AUTH_MODE and RAY_AUTH_TOKEN_PATH as on the
    cluster (`local.client_environ`). `patience` are further `ConductorSettings`. Raises `LauncherError`.
    """
    settings = ConductorSettings(portal_url=portal_url, token=token, **patience)
    request = json.dumps({"ray_address": ray_address, "settings": settings.to_json()})
    try:
        child = subprocess.run(
            [sys.executable, "-m", "ray_runtime.launcher"],
            input=request,  # not an argument: the token would show in the process list
            env=dict(environ),
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise LauncherError(f"Ray at {ray_address} did not answer in {_TIMEOUT_SECONDS:.0f} s") from error
    if child.returncode != 0:
        raise LauncherError(f"no conductor at {ray_address}: {child.stderr.strip()[-2000:]}")
    return bool(json.loads(child.stdout.splitlines()[-1])["created"])


def main() -> None:
    """The child: reads the request from standard input, answers with one line of JSON."""
    import ray

    from ray_runtime.ray_cluster import NAMESPACE

    request = json.load(sys.stdin)
    ray.init(request["ray_address"], namespace=NAMESPACE, log_to_driver=False, logging_level=logging.ERROR)
    created = _ensure(ConductorSettings.from_json(request["settings"]))
    sys.stdout.write(json.dumps({"created": created}) + "\n")


def _ensure(settings: ConductorSettings) -> bool:
    import ray

    from ray_runtime.ray_cluster import NAMESPACE

    try:
        running: Any = ray.get_actor(NAME, namespace=NAMESPACE)
        if ray.get(running.fingerprint.remote(), timeout=_CALL_SECONDS) == settings.fingerprint():
            return False
        ray.kill(running, no_restart=True)  # other settings or another version: a new one takes over
    except (ValueError, ray.exceptions.ActorDiedError):
        pass
    conductor = _create(settings)
    ray.get(conductor.fingerprint.remote(), timeout=_CALL_SECONDS)
    return True


def _create(settings: ConductorSettings) -> Any:
    import ray

    from ray_runtime.conductor import Conductor
    from ray_runtime.ray_cluster import NAMESPACE

    options: dict[str, Any] = {
        "name": NAME,
        "namespace": NAMESPACE,
        "lifetime": "detached",
        "get_if_exists": True,
        "num_cpus": 0,
        "max_restarts": -1,
        "max_task_retries": 3,
        "max_concurrency": 1000,
        # On the head: elsewhere it would be lost with a node, and Ray takes 15 s to notice that.
        "resources": {"node:__internal_head__": 0.001},
    }
    return ray.remote(Conductor).options(**options).remote(settings.to_json())


if __name__ == "__main__":
    main()
