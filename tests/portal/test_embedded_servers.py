"""The embedded PostgreSQL: its data folder is whole or not there, its own version or refused."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest

from portal import embedded_postgres
from portal.data_folder import DataFolderError, load_secrets, locked
from tests.support.servers import PASSWORD, TestServers


def test_a_folder_of_another_major_version_is_refused(tmp_path: Path) -> None:
    """With what to do about it; nothing in it is touched."""
    place = embedded_postgres.Place(binaries=tmp_path, data=tmp_path / "postgres", account=None)
    place.data.mkdir()
    (place.data / "PG_VERSION").write_text("17\n")
    with pytest.raises(DataFolderError, match="written by PostgreSQL 17"):
        embedded_postgres.prepare(place, password="x")
    assert [path.name for path in place.data.iterdir()] == ["PG_VERSION"]


def test_a_start_that_fails_leaves_nothing_that_looks_like_a_database(tmp_path: Path) -> None:
    """The next start begins anew; the password's file is gone too."""
    (tmp_path / "initdb").write_text("#!/bin/sh\necho no space left\nexit 1\n")
    (tmp_path / "initdb").chmod(0o755)
    place = embedded_postgres.Place(binaries=tmp_path, data=tmp_path / "postgres", account=None)
    with pytest.raises(DataFolderError, match="no space left"):
        embedded_postgres.prepare(place, password="x")
    assert not place.data.exists()
    assert not (tmp_path / ".postgres-password").exists()


def test_a_closed_parent_is_seen() -> None:
    """The database's account cannot pass through it, so the data must be elsewhere."""
    with TemporaryDirectory(dir="/tmp") as name:
        parent = Path(name)
        (parent / "data").mkdir(mode=0o711)
        parent.chmod(0o711)
        assert embedded_postgres.passable(parent / "data")
        parent.chmod(0o700)
        assert not embedded_postgres.passable(parent / "data")


def test_without_the_password_nobody_comes_in(servers: TestServers) -> None:
    """Loopback is every local user's."""
    if not servers.postgres_port:
        return
    address = embedded_postgres.url("wrong", port=servers.postgres_port, database="postgres")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(address, connect_timeout=5)
    assert embedded_postgres.answers(PASSWORD, port=servers.postgres_port)


def test_secrets_are_made_once_and_closed(tmp_path: Path) -> None:
    """A restart must not log everybody out."""
    with locked(tmp_path / "data"):
        first = load_secrets(tmp_path / "data")
        assert load_secrets(tmp_path / "data") == first
    assert (tmp_path / "data" / "secrets.json").stat().st_mode & 0o777 == 0o600
    assert len({first.secret_key, first.conductor_token, first.ray_token}) == 3


def test_a_folder_has_one_platform(tmp_path: Path) -> None:
    """The second is told who has it; when the first is gone the folder is free."""
    told = f"in use by process {os.getpid()}"
    with (
        locked(tmp_path / "data"),
        pytest.raises(DataFolderError, match=told),
        locked(tmp_path / "data"),
    ):
        pass
    with locked(tmp_path / "data"):
        assert (tmp_path / "data" / "lock").read_text() == str(os.getpid())
