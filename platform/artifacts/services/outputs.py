"""Files that workers leave: kept under their exact names, which never become names on our disk."""

import io
from contextlib import closing
from datetime import datetime
from typing import IO
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext_lazy as _

from artifacts.blobs import Reader, blobs
from artifacts.errors import DamagedUpload
from artifacts.models import Output
from artifacts.paths import path_problem
from artifacts.scratch import Readable, copy_within, scratch_file
from refusals import Conflict, Invalid, Problem

MOST_OUTPUTS = 10_000  # per attempt


def save_output(
    *, job_id: UUID, attempt_id: UUID, path: str, sha256: str, body: Readable | bytes, now: datetime
) -> Output:
    """Keep one file under its path; a later one of the same path takes its place. Repeats are harmless.

    Raises `Invalid` for a path that leads elsewhere, `TooLarge`, and `DamagedUpload` for another checksum.
    """
    if problem := path_problem(path):
        raise Invalid(details=[Problem("path", problem)])
    _check_room(attempt_id, path)
    source = io.BytesIO(body) if isinstance(body, bytes) else body
    with closing(scratch_file()) as file:
        found = copy_within(source, file, limit_bytes=settings.ENV.max_upload_bytes, what=_("The file"))
        if found != sha256.lower():
            raise DamagedUpload(found=found, sent=sha256[:64])
        size = file.tell()
        _keep(file, attempt_id, found)
    return _record(job_id, attempt_id, path, size=size, sha256=found, now=now)


def open_output(output: Output, *, offset: int = 0) -> Reader:
    """The file's bytes."""
    return blobs().open(_key(output.attempt_id, output.sha256), offset=offset)


def _check_room(attempt_id: UUID, path: str) -> None:
    others = Output.objects.filter(attempt_id=attempt_id).exclude(path=path)
    if others.count() >= MOST_OUTPUTS:
        raise Conflict(why=_("the attempt has left as many files as are kept of one; pack them into one."))


def _keep(file: IO[bytes], attempt_id: UUID, sha256: str) -> None:
    if not blobs().exists(_key(attempt_id, sha256)):
        file.seek(0)
        blobs().put(_key(attempt_id, sha256), file)


def _record(job_id: UUID, attempt_id: UUID, path: str, *, size: int, sha256: str, now: datetime) -> Output:
    with transaction.atomic():
        output, _created = Output.objects.update_or_create(
            attempt_id=attempt_id,
            path=path,
            defaults={"job_id": job_id, "size_bytes": size, "sha256": sha256},
            create_defaults={"job_id": job_id, "size_bytes": size, "sha256": sha256, "created_at": now},
        )
    return output


def _key(attempt_id: UUID, sha256: str) -> str:
    return f"outputs/{attempt_id}/{sha256}"
