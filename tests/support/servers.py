"""PostgreSQL and Valkey for one run of the tests: addresses at once, processes when a test needs them."""

import atexit
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from portal import embedded_postgres, embedded_redis
from portal.children import Command, die_with
from portal.local_platform import free_port

PASSWORD = "of-one-test-run"
SECONDS = 60


@dataclass(slots=True)
class TestServers:
    """The servers of this run. Those that the environment already names are left alone."""

    __test__ = False

    folder: Path
    postgres_port: int | None = None
    redis_port: int | None = None
    _processes: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    def start(self) -> None:
        """Start what is ours; once."""
        if self._processes:
            return
        if self.postgres_port:
            self._start_postgres(self.postgres_port)
        if self.redis_port:
            self._start_redis(self.redis_port)

    def stop(self) -> None:
        """Stop what was started, and delete the folder."""
        for process in self._processes:
            process.send_signal(signal.SIGINT)  # PostgreSQL's fast stop; Valkey takes it as well
        for process in self._processes:
            process.wait(SECONDS)
        self._processes.clear()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start_postgres(self, port: int) -> None:
        place = embedded_postgres.find_place(self.folder)
        embedded_postgres.prepare(place, password=PASSWORD)
        self._run(
            embedded_postgres.command(place, port=port, fsync=False),
            until=lambda: embedded_postgres.answers(PASSWORD, port=port),
        )
        embedded_postgres.create_database(PASSWORD, port=port)

    def _start_redis(self, port: int) -> None:
        configuration = embedded_redis.prepare(self.folder, port=port, password=PASSWORD)
        self._run(
            embedded_redis.command(configuration),
            until=lambda: embedded_redis.answers(embedded_redis.url(PASSWORD, port=port)),
        )

    def _run(self, command: Command, *, until: Callable[[], bool]) -> None:
        process = subprocess.Popen(
            list(command.argv),
            env=dict(command.environ),
            cwd=command.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C ends pytest, which then stops them in its own order
            preexec_fn=die_with(os.getpid(), signal.SIGINT),  # noqa: PLW1509  # one system call
            user=command.account.uid if command.account else None,
            group=command.account.gid if command.account else None,
            extra_groups=[] if command.account else None,
        )
        self._processes.append(process)
        ends_at = time.monotonic() + SECONDS
        while not until():
            if process.poll() is not None or time.monotonic() > ends_at:
                raise RuntimeError(f"{command.argv[0]} did not start (code {process.returncode})")
            time.sleep(0.05)


def plan_servers() -> TestServers:
    """Choose addresses, and put them into the environment before Django's settings read it."""
    folder = Path(tempfile.mkdtemp(prefix="gl-test-"))
    folder.chmod(0o711 if os.geteuid() == 0 else 0o700)
    servers = TestServers(folder)
    if not os.environ.get("DATABASE_URL"):
        servers.postgres_port = free_port()
        os.environ["DATABASE_URL"] = embedded_postgres.url(PASSWORD, port=servers.postgres_port)
    if not os.environ.get("REDIS_URL"):
        servers.redis_port = free_port()
        os.environ["REDIS_URL"] = embedded_redis.url(PASSWORD, port=servers.redis_port)
    for name, value in _settings(folder).items():
        os.environ.setdefault(name, value)
    atexit.register(servers.stop)
    return servers


def _settings(folder: Path) -> dict[str, str]:
    data_dir = folder / "data"
    data_dir.mkdir(mode=0o700)
    return {
        "DJANGO_SETTINGS_MODULE": "portal.settings",
        "GANGLINE_SECRET_KEY": "secret-key-of-one-test-run",
        "GANGLINE_CONDUCTOR_TOKEN": "conductor-token-of-one-test-run",
        "GANGLINE_DATA_DIR": str(data_dir),
        "GANGLINE_ALLOWED_HOSTS": "testserver,127.0.0.1,localhost",
    }
