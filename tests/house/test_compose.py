"""`docker-compose.yml` without a container engine: what it names exists, and what it starts runs."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from portal import local_platform
from portal.children import die_with
from portal.commands import RAY_SERVICES, SERVICES
from portal.env import read_env, variables
from portal.probe import PROBES
from portal.ray_commands import NODE_VARIABLES
from tests.support.code import ROOT
from tests.support.platform import SOURCE_PATH, wait_until
from tests.support.servers import TestServers

COMPOSE = ROOT / "docker-compose.yml"
REFERENCE = re.compile(r"(?<!\$)\$\{([A-Z_]+)(:[-?])?([^}]*)\}")
START = ["python", "-m", "portal.commands"]
RAY_VARIABLES = {"RAY_AUTH_MODE", "RAY_AUTH_TOKEN_PATH"}
SECRET_WORDS = ("PASSWORD", "SECRET", "TOKEN")
OURS = ("prepare", "web", "worker", "tick", "beat", "ray-head", "ray-worker")


def services() -> dict[str, dict[str, Any]]:
    """The services as written, anchors resolved."""
    found: dict[str, dict[str, Any]] = yaml.safe_load(COMPOSE.read_text())["services"]
    return found


def test_our_services_are_the_supervisors() -> None:
    """Each runs a command of `portal.commands`, and together they run all of them."""
    started = {name: service["command"] for name, service in services().items() if name in OURS}
    assert set(started) == set(OURS)
    assert all(command[:3] == START and len(command) == 4 for command in started.values())
    assert {command[3] for command in started.values()} == {*SERVICES, *RAY_SERVICES}


def test_every_file_exists() -> None:
    """The image's Dockerfile, and what it copies."""
    for service in services().values():
        if "build" in service:
            context = ROOT / service["build"]["context"]
            assert (context / service["build"]["dockerfile"]).is_file()
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text()
    for line in re.findall(r"^COPY (.+)$", dockerfile, re.MULTILINE):
        for source in line.split()[:-1]:
            assert (ROOT / source).exists(), f"the Dockerfile copies {source}"


def test_what_services_refer_to_is_declared() -> None:
    """Volumes, secrets and the services they wait for."""
    whole = yaml.safe_load(COMPOSE.read_text())
    for service in whole["services"].values():
        assert {volume.partition(":")[0] for volume in service.get("volumes", ())} <= set(whole["volumes"])
        assert set(service.get("secrets", ())) <= set(whole["secrets"])
        assert set(service.get("depends_on", ())) <= set(whole["services"])


def test_no_secret_has_a_default() -> None:
    """A secret that is not set stops `docker compose` with a message."""
    references = REFERENCE.findall(COMPOSE.read_text())
    assert references
    for name, kind, _text in references:
        if any(word in name for word in SECRET_WORDS):
            assert kind == ":?", f"{name} must be required"
    example = dict(
        line.split("=", 1)
        for line in (ROOT / "deploy" / "example.env").read_text().splitlines()
        if "=" in line and not line.startswith("#")
    )
    required = {name for name, kind, _text in references if kind == ":?"}
    assert set(example) == required
    assert set(example.values()) == {""}


def test_every_variable_is_one_that_the_code_reads() -> None:
    """The portal's form a whole environment; a Ray service gets nothing of the portal's."""
    for name in OURS:
        environ = environment(name)
        if name.startswith("ray-"):
            assert set(environ) <= set(NODE_VARIABLES) | RAY_VARIABLES
        else:
            assert set(environ) <= variables() | RAY_VARIABLES
            assert read_env(environ).public_url == "http://web:8000"


def test_every_service_of_ours_has_a_health_check_that_exists() -> None:
    """All but the one that runs once."""
    for name in OURS[1:]:
        check = services()[name]["healthcheck"]["test"]
        assert check[:4] == ["CMD", "python", "-m", "portal.probe"]
        assert check[4] in PROBES


@pytest.mark.platform
def test_each_services_own_command_runs_and_is_healthy(servers: TestServers, tmp_path: Path) -> None:
    """With the file's environment, but for addresses and folders: outside containers they are others."""
    here = _here(tmp_path)
    _run_to_end("prepare", here)
    assert (tmp_path / "data" / "admin.json").exists()
    with _running("ray-head", here), _running("web", here), _running("worker", here):
        with _running("tick", here), _running("beat", here):
            for name in ("web", "worker", "tick", "beat", "ray-head"):
                _wait_healthy(name, here)
        with _running("ray-worker", {**here, "GANGLINE_NODE_ADDRESS": "127.0.0.3"}):
            _wait_healthy("ray-worker", here)


def environment(name: str) -> dict[str, str]:
    """The service's environment as Compose would make it, every required variable given a value."""
    values = services()[name]["environment"]
    return {key: REFERENCE.sub(_filled_in, str(value)) for key, value in values.items()}


def _filled_in(found: "re.Match[str]") -> str:
    _name, kind, text = found.groups()
    return text if kind == ":-" else "a-long-random-text-for-this-test"


def _here(folder: Path) -> dict[str, str]:
    """What is different outside containers."""
    token = folder / "ray-token"
    token.write_text("a-long-random-text-for-this-test")
    token.chmod(0o600)
    return {
        "DATABASE_URL": _fresh_database("compose_test"),
        "REDIS_URL": os.environ["REDIS_URL"],
        "GANGLINE_DATA_DIR": str(folder / "data"),
        "GANGLINE_CHECKPOINT_ROOT": str(folder / "checkpoints"),
        "GANGLINE_HOST": "127.0.0.1",
        "GANGLINE_PORT": str(local_platform.free_port()),
        "GANGLINE_RAY_ADDRESS": f"127.0.0.2:{local_platform.free_port('127.0.0.2')}",
        "GANGLINE_NODE_ADDRESS": "127.0.0.2",
        "GANGLINE_RAY_DIR": str(folder),
        "RAY_AUTH_TOKEN_PATH": str(token),
    }


def _fresh_database(name: str) -> str:
    """A database of its own on the test run's server."""
    address = os.environ["DATABASE_URL"]
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {name}")
    return f"{address.rpartition('/')[0]}/{name}"


def _environ(name: str, here: Mapping[str, str]) -> dict[str, str]:
    ours = environment(name)
    changed = {key: value for key, value in here.items() if key in ours or key in _allowed(name)}
    kept = {key: os.environ[key] for key in ("PATH", "HOME", "LANG") if key in os.environ}
    return {**kept, "PYTHONPATH": SOURCE_PATH, **ours, **changed}


def _allowed(name: str) -> set[str]:
    return set(NODE_VARIABLES) if name.startswith("ray-") else set(variables())


def _argv(command: list[str]) -> list[str]:
    assert command[0] == "python"
    return [sys.executable, *command[1:]]


def _run_to_end(name: str, here: Mapping[str, str]) -> None:
    done = subprocess.run(
        _argv(services()[name]["command"]),
        env=_environ(name, here),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@contextmanager
def _running(name: str, here: Mapping[str, str]) -> Iterator[None]:
    with (Path(here["GANGLINE_RAY_DIR"]) / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            _argv(services()[name]["command"]),
            env=_environ(name, here),
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=die_with(os.getpid(), signal.SIGTERM),  # noqa: PLW1509  # one system call
        )
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


def _wait_healthy(name: str, here: Mapping[str, str]) -> None:
    check = _argv(services()[name]["healthcheck"]["test"][1:])

    def healthy() -> bool:
        done = subprocess.run(check, env=_environ(name, here), capture_output=True, timeout=60, check=False)
        return done.returncode == 0

    wait_until(healthy, seconds=90, every=0.5, what=f"{name} is healthy")
