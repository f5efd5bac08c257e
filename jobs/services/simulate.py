"""What would happen if: the engine decides on a changed copy of the live state. Stores nothing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from django.utils.translation import gettext_lazy as _

from accounts.models import User
from jobs.live import LIVE
from jobs.selectors import least_sizes
from jobs.services.policy import live_policy
from jobs.services.submit import check_submission
from jobs.snapshot import jobs_asked_for, milliseconds
from jobs.spec_model import MAX_ARRAY_SIZE
from quotas.selectors import queue_by_path
from refusals import Invalid, NotFound, Problem
from scheduling.decide import decide
from scheduling.model import Job, JobId, JobPhase, Node, Plan, Queue
from scheduling.snapshot import Snapshot

MOST_JOBS = 100  # documents; with the jobs of arrays as many as one array may have


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is to be supposed: more jobs, other quotas, nodes that are gone or take nothing new."""

    jobs: Sequence[object] = ()  # documents
    quotas: Mapping[str, Mapping[str, object]] = field(default_factory=dict)  # path -> columns of a queue
    removed: Sequence[str] = ()
    cordoned: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The plan for the supposed state and the one for the state as it is. `added`: the jobs supposed, in
    order; `interrupted`: jobs that lose a node.
    """

    plan: Plan
    present: Plan
    added: tuple[JobId, ...]
    interrupted: tuple[JobId, ...]


def simulate(*, user: User, question: Question, now: datetime) -> Answer:
    """Decide on the live state as it is and as it is supposed to be.

    Raises `Invalid` for documents, queues and nodes that are wrong, all at once, `Forbidden` for a viewer.
    """
    reading = LIVE.read(now=now)
    live = reading.snapshot
    added = _jobs(user, question.jobs, now=now)
    _check_names(user, question, live)
    lost = frozenset(question.removed)
    barred = {job.id: why for job in added if (why := reading.bars(job)) is not None}
    interrupted = [job for job in live.jobs if any(worker.node in lost for worker in job.placement)]
    supposed = live.with_event(
        jobs=[*(job for job in added if job.id not in barred), *_requeued(interrupted)],
        gone=[job.id for job in interrupted if job.phase is JobPhase.LEAVING],
        nodes=_nodes(live.nodes, question),
        queues=[_queue(queue, question.quotas) for queue in live.queues],
    )
    policy, now_ms = live_policy(), milliseconds(now)
    plan = decide(supposed, now_ms, policy)
    return Answer(
        plan=replace(plan, reasons={**plan.reasons, **barred}),
        present=decide(live, now_ms, policy),
        added=tuple(job.id for job in added),
        interrupted=tuple(job.id for job in interrupted),
    )


def _jobs(user: User, documents: Sequence[object], *, now: datetime) -> list[Job]:
    problems: list[Problem] = []
    jobs: list[Job] = []
    if len(documents) > MOST_JOBS:
        raise Invalid(details=[Problem("jobs", _("must be at most %(most)d jobs") % {"most": MOST_JOBS})])
    for index, document in enumerate(documents):
        try:
            submission = check_submission(user=user, document=document)
        except Invalid as invalid:
            problems += [_below(f"jobs[{index}]", problem) for problem in invalid.details]
        else:
            jobs += jobs_asked_for(submission, user=user, now=now)
    if len(jobs) > MAX_ARRAY_SIZE:
        problem = _("must be at most %(most)d jobs") % {"most": MAX_ARRAY_SIZE}
        problems.append(Problem("jobs", problem))
    if problems:
        raise Invalid(details=problems)
    return jobs


def _below(path: str, problem: Problem) -> Problem:
    return Problem(f"{path}.{problem.path}" if problem.path else path, problem.problem)


def _check_names(user: User, question: Question, live: Snapshot) -> None:
    names = {node.name for node in live.nodes}
    problems = []
    for key, given in (("remove_nodes", question.removed), ("cordon_nodes", question.cordoned)):
        unknown = [name for name in given if name not in names]
        problems += [Problem(key, _("there is no node “%(name)s”") % {"name": name[:60]}) for name in unknown]
    for path in question.quotas:
        try:
            queue_by_path(user, path)
        except NotFound:
            problems.append(Problem(f"quotas.{path}", _("is not a queue that you can see")))
    if problems:
        raise Invalid(details=problems)


def _requeued(jobs: Sequence[Job]) -> Iterator[Job]:
    """As they wait again after the loss: each goes on from its checkpoint, and from its least size on."""
    least = least_sizes(UUID(job.id) for job in jobs)
    for job in jobs:
        yield replace(
            job,
            phase=JobPhase.WAITING,
            placement=(),
            releasing=(),
            placed_at_ms=None,
            min_workers=least[UUID(job.id)],
        )


def _nodes(nodes: Iterable[Node], question: Question) -> list[Node]:
    removed, cordoned = set(question.removed), set(question.cordoned)
    return [
        replace(node, usable=node.usable and node.name not in cordoned)
        for node in nodes
        if node.name not in removed
    ]


def _queue(queue: Queue, quotas: Mapping[str, Mapping[str, object]]) -> Queue:
    return replace(queue, **quotas.get(queue.path, {}))  # type: ignore[arg-type]  # columns read by the edge
