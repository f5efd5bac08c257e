"""Effects of transitions on attempts: opened with devices held and a launch order, told to stop, closed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from eventlog.models import Command
from eventlog.services import enqueue_command, enqueue_commands, mark_orders_done
from jobs.models import Attempt, Job
from jobs.services.dependencies import require_dependencies
from jobs.services.launch import launch_spec, placement_rows
from jobs.services.transition import Done, Effect, TogetherEffect
from quotas.services import Claim, hold_many, release
from ray_runtime.protocol import EndCause, LaunchSpec, OrderKind, StopIntent, StopOrder
from refusals import Refusal
from scheduling.model import Placement


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptEnd:
    """How an attempt ended, as reported; texts are already fit to be stored."""

    cause: EndCause
    finished: bool = False
    exit_code: int | None = None
    rank: int | None = None
    node: str = ""
    message: str = ""
    last_lines: list[str] = field(default_factory=list)


def live_attempt(job: Job) -> Attempt:
    """The attempt that holds the job's devices. There is one exactly while the job is placed."""
    return job.attempts.get(ended_at__isnull=True)


def open_attempt(placement: Placement, *, accelerator_type: str) -> Effect:
    """Hold the devices in the ledger and order the launch. Refuses with `LimitReached`, and with `Conflict`
    where a job that it depends on has not ended well.
    """

    def effect(job: Job, now: datetime) -> Done:
        place = Place(placement=placement, accelerator_type=accelerator_type)
        answer = open_attempts({job.id: place})([job], now)[job.id]
        if isinstance(answer, Refusal):
            raise answer
        return answer

    return effect


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where one job is to run."""

    placement: Placement
    accelerator_type: str


def open_attempts(places: Mapping[UUID, Place]) -> TogetherEffect:
    """`open_attempt` for several jobs, each in its place, in a few statements."""

    def effect(jobs: Sequence[Job], now: datetime) -> Mapping[UUID, Done | Refusal]:
        answers: dict[UUID, Done | Refusal] = {}
        opened: list[tuple[Job, Attempt, LaunchSpec]] = []
        for job in jobs:
            try:
                opened.append(_prepared(job, places[job.id], now))
            except Refusal as refusal:
                answers[job.id] = refusal
        limits = hold_many([_claim(job, attempt) for job, attempt, _launch in opened], now=now)
        held = [row for row in opened if limits[row[1].id] is None]
        answers |= {job.id: full for job, attempt, _l in opened if (full := limits[attempt.id])}
        Attempt.objects.bulk_create(attempt for _job, attempt, _launch in held)
        enqueue_commands([_launch_command(attempt, launch, now) for _job, attempt, launch in held])
        for job, attempt, _launch in held:
            job.num_attempts = attempt.number
            answers[job.id] = _opened(attempt, _total_milli(job, attempt))
        return answers

    return effect


def _prepared(job: Job, place: Place, now: datetime) -> tuple[Job, Attempt, LaunchSpec]:
    require_dependencies(job)
    attempt = Attempt(
        job=job,
        number=job.num_attempts + 1,
        placement=placement_rows(place.placement),
        accelerator_type=place.accelerator_type,
        ordered_at=now,
        command_seq=1,
    )
    return job, attempt, launch_spec(job, attempt)


def _claim(job: Job, attempt: Attempt) -> Claim:
    return Claim(
        holder_id=attempt.id,
        queue_id=job.queue_id,
        path=job.queue.path,
        amount_milli=_total_milli(job, attempt),
        accelerator_type=attempt.accelerator_type,
        user_id=job.owner_id,
    )


def _launch_command(attempt: Attempt, launch: LaunchSpec, now: datetime) -> Command:
    return Command(
        attempt_id=attempt.id,
        seq=1,
        kind=str(OrderKind.LAUNCH),
        payload=launch.to_json(),
        created_at=now,
    )


def _total_milli(job: Job, attempt: Attempt) -> int:
    """What the attempt holds: an elastic gang may have got fewer workers than it wants."""
    return len(attempt.placement) * job.accelerators_milli


def _opened(attempt: Attempt, total_milli: int) -> Done:
    nodes = sorted({worker["node"] for worker in attempt.placement})
    data = {"attempt": attempt.number, "nodes": nodes, "milli": total_milli}
    return Done(attempt_id=attempt.id, data=data)


def mark_running(job: Job, now: datetime) -> Done:
    """Every worker of the gang has been started. A repeat keeps the first time: the limit counts from it."""
    attempt = live_attempt(job)
    attempt.running_at = attempt.running_at or now
    attempt.save(update_fields=["running_at"])
    return Done(attempt_id=attempt.id, data={"attempt": attempt.number})


def order_stop(intent: StopIntent, *, reason: str, data: dict[str, Any] | None = None) -> Effect:
    """Send a stop order with the job's own grace; a later, stronger one is a further order."""

    def effect(job: Job, now: datetime) -> Done:
        attempt = live_attempt(job)
        order = StopOrder(intent=intent, grace_seconds=job.grace_seconds, reason=reason)
        attempt.stop_ordered_at = attempt.stop_ordered_at or now
        attempt.save(update_fields=["stop_ordered_at"])
        _order_stop(attempt, order, now=now)
        return Done(attempt_id=attempt.id, data={"attempt": attempt.number, **(data or {})})

    return effect


def close_attempt(end: AttemptEnd) -> Effect:
    """Note how it ended and give its devices back to the ledger: no process of it is alive any more."""

    def effect(job: Job, now: datetime) -> Done:
        attempt = live_attempt(job)
        attempt.ended_at = now
        attempt.end_cause = end.cause
        attempt.exit_code = end.exit_code
        attempt.failed_rank = end.rank
        attempt.failed_node = end.node
        attempt.message = end.message
        attempt.last_lines = end.last_lines
        attempt.save()
        release(holder_id=attempt.id, now=now)
        job.attained_milli_ms += _service(job, attempt, now)
        _close_orders(attempt, now=now)
        told = {"exit_code": end.exit_code, "rank": end.rank, "node": end.node, "message": end.message}
        given = {key: value for key, value in told.items() if value not in (None, "")}
        return Done(attempt_id=attempt.id, data={"attempt": attempt.number, "end_cause": end.cause, **given})

    return effect


def _service(job: Job, attempt: Attempt, now: datetime) -> int:
    """Milli-accelerators x milliseconds: what the engine's order by attained service counts."""
    held_ms = max(timedelta(), now - attempt.ordered_at) // timedelta(milliseconds=1)
    return held_ms * len(attempt.placement) * job.accelerators_milli


def stop_again(attempt: Attempt, *, now: datetime) -> None:
    """Order the cluster to drop an attempt that has ended here; the ledger has nothing of it any more."""
    order = StopOrder(intent=StopIntent.CANCEL, grace_seconds=0, reason="ended")
    _order_stop(attempt, order, now=now)


def is_live(attempt_id: UUID) -> bool:
    """Whether the attempt has not ended. Certain only under its job's lock."""
    return Attempt.objects.filter(id=attempt_id, ended_at__isnull=True).exists()


def _close_orders(attempt: Attempt, *, now: datetime) -> None:
    """What was not acknowledged has nothing to act on any more; a new conductor must not launch it again."""
    orders = Command.objects.filter(attempt_id=attempt.id, done_at__isnull=True)
    mark_orders_done(orders.values_list("id", flat=True), now=now)


def _order_stop(attempt: Attempt, order: StopOrder, *, now: datetime) -> None:
    """The attempt's next order. The caller holds the job's lock, so numbers are given out one at a time."""
    attempt.command_seq += 1
    attempt.save(update_fields=["command_seq"])
    enqueue_command(
        attempt_id=attempt.id,
        seq=attempt.command_seq,
        kind=OrderKind.STOP,
        payload=order.to_json(),
        now=now,
    )
