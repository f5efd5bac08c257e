"""How files are refused."""

from django.template.defaultfilters import filesizeformat
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from refusals import Problem, Refusal


class ArchiveRefused(Refusal):
    """A code archive with one member that is not allowed, or that cannot be read, is refused as a whole."""

    code = "archive_refused"
    status = 422
    template = _("The archive was refused as a whole, nothing of it was kept. “%(member)s”: %(why)s")

    @classmethod
    def of(cls, member: str, why: str | Promise) -> "ArchiveRefused":
        """The refusal for this member."""
        shown = "".join(char if char.isprintable() else "�" for char in member[:200])
        return cls(member=shown, why=str(why), details=[Problem(f"code: {shown}", why)])


class TooLarge(Refusal):
    """More bytes, or more files, than this installation accepts."""

    code = "too_large"
    status = 413
    template = _("%(what)s is larger than the %(limit)s that this portal accepts. Send less.")

    @classmethod
    def of(cls, what: str | Promise, *, limit_bytes: int) -> "TooLarge":
        """The refusal of something that has more than this many bytes."""
        return cls(what=what, limit=filesizeformat(limit_bytes), limit_bytes=limit_bytes)


class DamagedUpload(Refusal):
    """What arrived has another checksum than what was sent."""

    code = "damaged_upload"
    status = 422
    template = _("What arrived is not what was sent: its SHA-256 is %(found)s, not %(sent)s. Send it again.")


class StreamClosed(Refusal):
    """A stream got its last byte already."""

    code = "stream_closed"
    status = 409
    template = _("The stream “%(name)s” was closed at %(size)s bytes and takes no more.")
