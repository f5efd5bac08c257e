"""A new job: its document checked against what this user may use, then stored, waiting for devices."""

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID, uuid4

from django.conf import settings
from django.db import transaction
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.models import Role, Team, User
from accounts.permissions import Action, require
from accounts.selectors import role_of
from artifacts.models import Checkpoint, CheckpointState, CodeArchive
from artifacts.scratch import Readable
from artifacts.services import store_code
from eventlog.services import published_together
from jobs import spec
from jobs.lifecycle import Cause, State
from jobs.models import Dependency, Job, JobArray
from jobs.selectors import visible_jobs
from jobs.services.dependencies import FAILED
from jobs.services.predictions import PREDICTOR, features_of
from jobs.services.transition import store_new
from jobs.spec_model import MAX_PRIORITY, PRIORITIES, ArrayValue, JobSpec
from jobs.spec_scale import members
from quotas.models import Queue
from quotas.selectors import chain_rows, queues_for, visible_queues
from refusals import Invalid, Problem
from scheduling.model import LINK_LEVEL, NODE_LEVEL

# What a role may ask for at most; a queue may have a lower ceiling of its own.
ROLE_CEILINGS = {Role.MEMBER: PRIORITIES["urgent"], Role.TEAM_ADMIN: MAX_PRIORITY}


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A document that was found good, with the rows that it names."""

    spec: JobSpec
    queue: Queue
    team: Team
    code: CodeArchive | None


def submit_job(*, user: User, document: object, code: CodeArchive | None, now: datetime) -> Job:
    """Store a job for this user and wake the tick. `code`: an archive sent along.

    An array becomes all of its jobs at once; the first one is given back. Raises `Invalid` with every problem
    at once, `Forbidden` for a viewer.
    """
    submission = check_submission(user=user, document=document, code=code)
    jobs = _jobs_of(submission, owner=user, now=now)
    with transaction.atomic(), published_together(now=now):
        if jobs[0].array is not None:
            jobs[0].array.save(force_insert=True)
        for job in jobs:
            store_new(job, now=now, actor_id=user.pk, data=_submitted(job))
        needed = [UUID(key) for key in submission.spec.depends_on]
        Dependency.objects.bulk_create(Dependency(job=job, on_id=on) for job in jobs for on in needed)
    return jobs[0]


def submit_upload(*, user: User, document: object, upload: Readable | None, now: datetime) -> Job:
    """`submit_job` with a code archive that comes along. The rest is checked before its bytes are read."""
    if upload is None:
        return submit_job(user=user, document=document, code=None, now=now)
    if isinstance(document, dict):
        document = {key: value for key, value in document.items() if key != "code"}
    team = check_submission(user=user, document=document).team
    code = store_code(team=team, user=user, stream=upload, now=now)
    return submit_job(user=user, document=document, code=code, now=now)


def check_submission(*, user: User, document: object, code: CodeArchive | None = None) -> Submission:
    """Read the document and look up what it names. Raises as `submit_job` does; stores nothing."""
    wanted = spec.parse(document, levels=topology_levels())
    queue = find_queue(user, wanted.queue)
    team = queue.team
    if team is None:
        raise Invalid(details=[Problem("queue", _("belongs to no team; choose one of a team's queues"))])
    require(user, Action.SUBMIT_JOB, team=team, kind=_("queue"), id=queue.path)
    archive, problems = _find_code(wanted.code, code, team)
    problems += [*priority_problems(user, queue, wanted.priority), *_source_problems(wanted, team)]
    problems += _dependency_problems(user, wanted)
    if problems:
        raise Invalid(details=problems)
    named = replace(wanted, queue=queue.path, code=str(archive.id) if archive else None)
    return Submission(spec=named, queue=queue, team=team, code=archive)


def topology_levels() -> tuple[str, ...]:
    """The levels that a job may name: the cluster's, the node and the link domain."""
    return tuple(dict.fromkeys([*settings.ENV.topology_levels, NODE_LEVEL, LINK_LEVEL]))


def find_queue(user: User, path: str | None) -> Queue:
    """The queue that a document names; without a name, the only one that the user has."""
    if path is None:
        own = list(queues_for(user)[:2])
        if len(own) == 1:
            return own[0]
        raise _queue_problem(user, _("is required; yours are: %(yours)s"))
    queue = visible_queues(user).filter(path=path).first()
    if queue is None:
        raise _queue_problem(user, _("is not a queue of your teams; yours are: %(yours)s"))
    return queue


def _queue_problem(user: User, problem: str | Promise) -> Invalid:
    yours = ", ".join(queue.path for queue in queues_for(user)[:20]) or "–"
    return Invalid(details=[Problem("queue", str(problem) % {"yours": yours})])


def priority_problems(user: User, queue: Queue, priority: int) -> list[Problem]:
    """Whether the priority is within the ceilings of the user's role and of the queue with all above it."""
    role = role_of(user, queue.team) if queue.team else None
    ceiling = min(ROLE_CEILINGS.get(role, MAX_PRIORITY) if role else MAX_PRIORITY, _queue_ceiling(queue))
    if priority <= ceiling:
        return []
    texts = {"ceiling": ceiling, "queue": queue.path, "priority": priority}
    problem = _("of %(priority)s is above %(ceiling)s, the most that you may use in queue %(queue)s") % texts
    return [Problem("priority", problem)]


def _queue_ceiling(queue: Queue) -> int:
    return min(row.max_priority for row in chain_rows(queue.path))


def _find_code(
    named: str | None, uploaded: CodeArchive | None, team: Team
) -> tuple[CodeArchive | None, list[Problem]]:
    """The uploaded archive wins over what the document says: `code: .` names a folder of the sender."""
    if uploaded is not None or named is None:
        return uploaded, []
    key = _uuid(named)
    found = CodeArchive.objects.filter(id=key, team=team).first() if key else None
    problem = _("is not an archive of this team; upload the folder or archive along with the job")
    return found, [] if found else [Problem("code", problem)]


def _source_problems(wanted: JobSpec, team: Team) -> list[Problem]:
    if wanted.checkpoint.source is None:
        return []
    key = _uuid(wanted.checkpoint.source)
    found = Checkpoint.objects.filter(id=key, state=CheckpointState.WHOLE).first() if key else None
    if found and Job.objects.filter(id=found.job_id, team=team).exists():
        return []
    return [Problem("checkpoint.from", _("is not a whole checkpoint of a job of this team"))]


def _dependency_problems(user: User, wanted: JobSpec) -> list[Problem]:
    """Each has to be a job that the user may see, and that can still end well."""
    ids = [UUID(key) for key in wanted.depends_on]
    states = dict(visible_jobs(user).filter(id__in=ids).values_list("id", "state"))
    problems = []
    for index, key in enumerate(ids):
        if key not in states:
            problem = _("is not a job of your teams: %(id)s")
        elif states[key] in FAILED:
            problem = _("has failed or was cancelled, so nothing can start after it: %(id)s")
        else:
            continue
        problems.append(Problem(f"depends_on[{index}]", problem % {"id": key}))
    return problems


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _jobs_of(submission: Submission, *, owner: User, now: datetime) -> list[Job]:
    """The job, or those of the array. These are submitted at one moment, and of equals the engine takes the
    smaller id first: so ids rise in the array's order.
    """
    wanted = submission.spec
    if not wanted.array:
        return [_job_of(submission, wanted, job_id=uuid4(), owner=owner, now=now)]
    jobs = members(wanted)
    ids = sorted((uuid4() for _ in jobs), key=str)
    array = JobArray(
        name=wanted.name,
        team=submission.team,
        owner=owner,
        spec=spec.to_document(wanted),
        size=len(jobs),
        cap=wanted.concurrent,
        submitted_at=now,
    )
    return [
        _job_of(submission, own, job_id=job_id, owner=owner, now=now, array=array, values=values)
        for job_id, (values, own) in zip(ids, jobs, strict=True)
    ]


def _job_of(
    submission: Submission,
    wanted: JobSpec,
    *,
    job_id: UUID,
    owner: User,
    now: datetime,
    array: JobArray | None = None,
    values: dict[str, ArrayValue] | None = None,
) -> Job:
    return Job(
        id=job_id,
        name=wanted.name,
        team=submission.team,
        queue=submission.queue,
        owner=owner,
        code=submission.code,
        spec=spec.to_document(wanted),
        priority=wanted.priority,
        predicted_ms=predicted_ms(submission, wanted, user=owner, now=now),
        num_workers=wanted.workers.want,
        min_workers=wanted.workers.least,
        max_workers=wanted.workers.most,
        array=array,
        array_values=values,
        accelerators_milli=wanted.resources.accelerators_milli,
        cpus_milli=wanted.resources.cpus_milli,
        memory_bytes=wanted.resources.memory_bytes,
        max_runtime_seconds=wanted.limits.max_runtime_seconds,
        grace_seconds=wanted.limits.grace_seconds,
        retries=wanted.limits.retries,
        node_retries=wanted.limits.node_retries,
        state=State.QUEUED,
        cause=Cause.SUBMITTED,
        changed_by=owner,
        submitted_at=now,
        changed_at=now,
    )


def predicted_ms(submission: Submission, wanted: JobSpec, *, user: User, now: datetime) -> int | None:
    """How long it is expected to run, from such jobs before; None where too few are known."""
    features = features_of(wanted, user=user.username, queue=submission.queue.path)
    return PREDICTOR.predict(features, now=now)


def _submitted(job: Job) -> dict[str, object]:
    return {
        "state": job.state,
        "version": job.version,
        "name": job.name,
        "queue": job.queue.path,
        "priority": job.priority,
        "workers": job.num_workers,
        "milli": job.num_workers * job.accelerators_milli,
    }
