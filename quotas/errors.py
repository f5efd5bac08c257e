"""How the ledger refuses."""

from django.utils.translation import gettext_lazy as _

from quotas.arithmetic import QueueAmounts, devices
from refusals import Refusal


class LimitReached(Refusal):
    """The limit of the queue or of one above it does not bear the request now. Numbers are devices."""

    code = "limit_reached"
    status = 409
    template = _(
        "Queue “%(queue)s” has %(used)s of %(limit)s accelerators%(whose)s in use, so %(asked)s more do not "
        "fit. Wait until some are released, or ask an admin to raise the limit."
    )

    @classmethod
    def of(cls, queue: QueueAmounts, *, asked_milli: int) -> "LimitReached":
        """The refusal for this queue, with its numbers."""
        return cls.beside(queue.path, queue.used_milli, queue.limit_milli or 0, asked_milli)

    @classmethod
    def beside(
        cls, path: str, used_milli: int, limit_milli: int, asked_milli: int, *, whose: str = ""
    ) -> "LimitReached":
        """The same where the limit is one accelerator type's or one user's."""
        return cls(
            queue=path,
            used=devices(used_milli),
            limit=devices(limit_milli),
            asked=devices(asked_milli),
            whose=whose,
        )
