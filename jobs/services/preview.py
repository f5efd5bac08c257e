"""What would become of a document if submitted now: the engine decides on a copy of the snapshot."""

from dataclasses import dataclass
from datetime import datetime

from accounts.models import User
from jobs.explain_times import moment_of
from jobs.live import LIVE
from jobs.services.policy import live_policy
from jobs.services.submit import Submission, check_submission
from jobs.snapshot import jobs_asked_for, milliseconds
from refusals import Invalid, Problem
from scheduling.decide import decide
from scheduling.model import Eta, Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The problems of a document; of one without any, whether it would start at once or why it would wait."""

    problems: tuple[Problem, ...] = ()
    starts_now: bool = False
    reason: Reason | None = None
    starts_at: datetime | None = None  # None where nothing bounds the wait
    eta: Eta | None = None

    @property
    def is_valid(self) -> bool:
        """Whether it would be accepted."""
        return not self.problems


def preview_job(*, user: User, document: object, now: datetime) -> Preview:
    """A dry run; stores nothing. Raises `Forbidden` as the submission would."""
    try:
        submission = check_submission(user=user, document=document)
    except Invalid as invalid:
        return Preview(problems=invalid.details)
    return _predict(submission, user=user, now=now)


def _predict(submission: Submission, *, user: User, now: datetime) -> Preview:
    """Of an array, what becomes of its first job."""
    asked, reading = next(jobs_asked_for(submission, user=user, now=now)), LIVE.read(now=now)
    if (barred := reading.bars(asked)) is not None:
        return Preview(reason=barred)
    plan = decide(reading.snapshot.with_event(jobs=[asked]), milliseconds(now), live_policy())
    if any(start.job == asked.id for start in plan.starts):
        return Preview(starts_now=True, starts_at=now)
    eta = plan.etas.get(asked.id)
    starts_at = moment_of(eta.at_ms) if eta and eta.at_ms is not None else None
    return Preview(reason=plan.reasons.get(asked.id), starts_at=starts_at, eta=eta)
