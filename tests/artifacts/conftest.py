"""A data folder of one's own, and an S3 server on loopback."""

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

LIMIT = 2**20


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, settings: Any) -> Path:
    """Each test has its own; uploads may have a MiB."""
    folder = tmp_path / "data"
    settings.ENV = dataclasses.replace(
        settings.ENV,
        data_dir=folder,
        blob_url=(folder / "blobs").as_uri(),
        max_upload_bytes=LIMIT,
    )
    return folder


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """A real S3 server, on a free port."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(s3_endpoint: str, settings: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """The store is a bucket, with a prefix."""
    import boto3

    monkeypatch.setitem(os.environ, "AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setitem(os.environ, "AWS_SECRET_ACCESS_KEY", "test")
    client = boto3.client("s3", endpoint_url=s3_endpoint, region_name="us-east-1")
    client.create_bucket(Bucket="gangline-test")
    url = f"s3://gangline-test/some/prefix?endpoint={s3_endpoint}"
    settings.ENV = dataclasses.replace(settings.ENV, blob_url=url)
    return url
