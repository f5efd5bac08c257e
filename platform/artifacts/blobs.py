"""Where finished files are kept: a local folder or an S3 bucket, chosen by `GANGLINE_BLOB_URL`.

Keys are ours (made of ids and checksums), never a name that came from outside.
"""

import functools
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Protocol, cast
from urllib.parse import parse_qsl, unquote, urlsplit

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from artifacts.scratch import Readable
from refusals import NotFound


class Blobs(Protocol):
    """A store of immutable files."""

    is_remote: bool

    def put(self, key: str, source: IO[bytes]) -> None:
        """Keep the bytes from the file's present position on; whole or not at all."""

    def open(self, key: str, *, offset: int = 0) -> "Reader":
        """The bytes from `offset` on; `NotFound` if there are none."""

    def exists(self, key: str) -> bool:
        """Whether the key is there."""

    def delete(self, key: str) -> None:
        """Forget the key; nothing happens if it is not there."""


class Reader(Readable, Protocol):
    """An open file of a store."""

    def close(self) -> None:
        """Let go of it."""


def blobs() -> Blobs:
    """This installation's store."""
    return store_at(settings.ENV.blob_url)


@functools.lru_cache(maxsize=8)
def store_at(url: str) -> Blobs:
    """The store of a `file:///folder` or `s3://bucket/prefix?endpoint=https://…` URL."""
    parts = urlsplit(url)
    if parts.scheme == "s3":
        return BucketBlobs(parts.netloc, parts.path.strip("/"), dict(parse_qsl(parts.query)))
    return FolderBlobs(Path(unquote(parts.path)))


class FolderBlobs:
    """Files in a folder."""

    is_remote = False

    def __init__(self, root: Path) -> None:
        self._root = root

    def put(self, key: str, source: IO[bytes]) -> None:
        """Write beside, then rename: a reader sees the whole file or none."""
        target = self._root / key
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".new-", delete=False) as file:
            try:
                shutil.copyfileobj(source, file)
                file.flush()
                os.fsync(file.fileno())
                Path(file.name).replace(target)
            except BaseException:
                Path(file.name).unlink(missing_ok=True)
                raise

    def open(self, key: str, *, offset: int = 0) -> Reader:
        """The file, wound forward."""
        try:
            file = (self._root / key).open("rb")
        except FileNotFoundError:
            raise NotFound(kind=_("file"), id=key) from None
        file.seek(offset)
        return file

    def exists(self, key: str) -> bool:
        """Whether the file is there."""
        return (self._root / key).is_file()

    def delete(self, key: str) -> None:
        """Remove the file."""
        (self._root / key).unlink(missing_ok=True)


class BucketBlobs:
    """Objects in a bucket of anything that speaks S3; credentials by the usual AWS variables or files."""

    is_remote = True

    def __init__(self, bucket: str, prefix: str, options: Mapping[str, str]) -> None:
        self._bucket = bucket
        self._prefix = prefix
        self._options = options

    def put(self, key: str, source: IO[bytes]) -> None:
        """Upload, in parts if it is large; the object appears when it is whole."""
        from boto3.s3.transfer import TransferConfig

        # The library closes what it uploads, and the caller's file is the caller's.
        self._client.upload_fileobj(
            _Unclosing(source), self._bucket, self._name(key), Config=TransferConfig(use_threads=False)
        )

    def open(self, key: str, *, offset: int = 0) -> Reader:
        """The object's body, from a range request."""
        from botocore.exceptions import ClientError

        span = {"Range": f"bytes={offset}-"} if offset else {}
        try:
            answer = self._client.get_object(Bucket=self._bucket, Key=self._name(key), **span)
        except ClientError as error:
            if _status_of(error) in (404, 416):
                raise NotFound(kind=_("file"), id=key) from None
            raise
        return cast(Reader, answer["Body"])

    def exists(self, key: str) -> bool:
        """Whether the object is there."""
        from botocore.exceptions import ClientError

        try:
            self._client.head_object(Bucket=self._bucket, Key=self._name(key))
        except ClientError as error:
            if _status_of(error) == 404:
                return False
            raise
        return True

    def delete(self, key: str) -> None:
        """Delete the object."""
        self._client.delete_object(Bucket=self._bucket, Key=self._name(key))

    def _name(self, key: str) -> str:
        return f"{self._prefix}/{key}" if self._prefix else key

    @functools.cached_property
    def _client(self) -> Any:
        # Imported late: only installations with a bucket pay for the library.
        import boto3
        from botocore.config import Config

        return boto3.client(
            "s3",
            endpoint_url=self._options.get("endpoint"),
            region_name=self._options.get("region", "us-east-1"),
            config=Config(connect_timeout=5, read_timeout=60, retries={"max_attempts": 4}),
        )


class _Unclosing:
    """A file that others may read and not close."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        return self._file.read(size)


def _status_of(error: Any) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
