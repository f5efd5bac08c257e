"""Code archives: taken in whole or not at all, kept once by content."""

from contextlib import closing
from datetime import datetime

from django.conf import settings

from accounts.models import Team, User
from artifacts.archives import Limits, canonicalise
from artifacts.blobs import Reader, blobs
from artifacts.models import CodeArchive
from artifacts.scratch import Readable, scratch_file

EXPANSION = 4  # an archive may unpack to so many times the largest upload
KEPT = 2  # and compress again to so many times
MOST_MEMBERS = 50_000


def store_code(*, team: Team, user: User, stream: Readable, now: datetime) -> CodeArchive:
    """Take in a zip, tar or tar.gz of code for the team; the archive, which is an older one if equal.

    Raises `ArchiveRefused` for the first member that is not allowed, and `TooLarge`; nothing is kept then.
    """
    with closing(scratch_file()) as file:
        canonical = canonicalise(stream, file, limits=code_limits())
        if not blobs().exists(_key(canonical.sha256)):
            blobs().put(_key(canonical.sha256), file)
    archive, _created = CodeArchive.objects.get_or_create(
        team=team,
        sha256=canonical.sha256,
        defaults={
            "size_bytes": canonical.size_bytes,
            "num_files": canonical.num_files,
            "created_by": user,
            "created_at": now,
        },
    )
    return archive


def open_code(archive: CodeArchive | str) -> Reader:
    """The stored tar.gz of an archive, or of its SHA-256."""
    return blobs().open(_key(archive if isinstance(archive, str) else archive.sha256))


def code_limits() -> Limits:
    """What this installation accepts."""
    most: int = settings.ENV.max_upload_bytes
    return Limits(
        sent_bytes=most,
        unpacked_bytes=EXPANSION * most,
        kept_bytes=KEPT * most,
        num_members=MOST_MEMBERS,
    )


def _key(sha256: str) -> str:
    return f"code/{sha256}.tar.gz"
