"""The refusals of this app; those that fit every app are in `refusals`."""

from django.utils.translation import gettext_lazy as _

from refusals import Conflict, Refusal


class WrongState(Conflict):
    """The job's state has no edge for what was asked."""

    code = "wrong_state"
    template = _("The job is %(state)s, so this is not possible. Look at it again and decide anew.")


class LostRace(Conflict):
    """The job changed after the decision about it was made."""

    code = "lost_race"
    template = _("The job changed meanwhile. Look at it again and decide anew.")


class CheckpointGone(Conflict):
    """The checkpoint that a job was to start from is damaged or deleted."""

    code = "checkpoint_gone"
    template = _("Checkpoint %(id)s cannot be started from any more. Choose another one.")


class NoToken(Refusal):
    """A call of the cluster side without the token that its path asks for."""

    code = "unauthorized"
    status = 401
    template = _("This path takes the conductor's token, or the attempt's own.")


class StreamGap(Conflict):
    """Bytes of a stream arrived that do not follow on what is there."""

    code = "stream_gap"
    template = _("The stream has %(size)s bytes; send on from there.")
