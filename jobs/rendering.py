"""Jobs and what belongs to them as JSON-ready built-ins, in the reader's language."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from artifacts.models import Checkpoint, Output
from eventlog.models import Event
from jobs.explain import (
    cause_help,
    cause_sentence,
    event_sentence,
    help_sentence,
    reason_params,
    reason_sentence,
)
from jobs.explain_causes import backoff_sentence
from jobs.explain_times import eta_sentence, moment_of
from jobs.lifecycle import Cause, State
from jobs.models import Attempt, Job
from jobs.units import render_milli
from telemetry.selectors import first_and_last, latest

Json = dict[str, Any]


def job_json(job: Job, attempt: Attempt | None, *, now: datetime) -> Json:
    """A job as lists show it. `attempt`: its newest one."""
    return {
        "id": str(job.id),
        "name": job.name,
        "team": job.team.slug,
        "queue": job.queue.path,
        "owner": job.owner.username,
        "state": job.state,
        "intent": job.intent or None,
        "cause": job.cause,
        "changed_by": job.changed_by.username if job.changed_by else None,
        "priority": job.priority,
        "workers": job.num_workers,
        "min_workers": job.min_workers,
        "max_workers": job.max_workers,
        "array": array_json(job),
        "resources": {
            "accelerators": render_milli(job.accelerators_milli),
            "cpus": render_milli(job.cpus_milli),
            "memory_bytes": job.memory_bytes,
            "types": job.spec["resources"].get("types", []),
        },
        "accelerators_total": render_milli(job.num_workers * job.accelerators_milli),
        "step": job.step,
        "total_steps": job.total_steps,
        "reason": job_reason(job, attempt, now=now),
        "eta": eta_json(job.eta) if job.eta else None,
        "submitted_at": job.submitted_at,
        "changed_at": job.changed_at,
        "first_started_at": job.first_started_at,
        "finished_at": job.finished_at,
        "saved_at": job.saved_at,
        "attempt": attempt_json(attempt) if attempt else None,
        "num_attempts": job.num_attempts,
        "retries_used": job.retries_used,
        "node_retries_used": job.node_retries_used,
    }


def job_detail_json(job: Job, attempts: list[Attempt], *, now: datetime) -> Json:
    """A job with its document and, once it has ended, what it came to. `attempts`: all, the newest first."""
    newest = attempts[0] if attempts else None
    summary = summary_json(job, attempts) if job.finished_at else None
    return {
        **job_json(job, newest, now=now),
        "spec": job.spec,
        "depends_on": dependencies_json(job),
        "planned": planned_json(job),
        "summary": summary,
    }


def array_json(job: Job) -> Json | None:
    """Which array the job is of, and by which values it differs from the others."""
    return {"id": str(job.array_id), "values": job.array_values} if job.array_id else None


def dependencies_json(job: Job) -> list[Json]:
    """The jobs that have to end first, and how far they are."""
    others = job.dependencies.order_by("on_id").values_list("on_id", "on__state")
    return [{"id": str(job_id), "state": state} for job_id, state in others]


def eta_json(eta: Mapping[str, Any]) -> Json:
    """A `scheduling.Eta` as it is stored, with its sentence."""
    at = None if eta["at_ms"] is None else moment_of(eta["at_ms"])
    return {"at": at, "basis": eta["basis"], "text": eta_sentence(eta)}


def planned_json(job: Job) -> Json | None:
    """What the plan holds for a waiting job: devices kept for it now, and a place at a later time."""
    if not job.kept and not job.reserved:
        return None
    reserved = job.reserved and {
        "starts_at": moment_of(job.reserved["starts_at_ms"]),
        "basis": job.reserved["basis"],
        "accelerator_type": job.reserved["accelerator_type"],
        "placement": job.reserved["placement"],
    }
    return {"kept": job.kept, "reserved": reserved}


def summary_json(job: Job, attempts: list[Attempt]) -> Json:
    """Loss from first to last, MFU as last reported, and how long an ended job waited and ran."""
    ended_at = job.finished_at or job.changed_at
    held = [(attempt.ended_at or ended_at) - attempt.ordered_at for attempt in attempts]
    ran = [(attempt.ended_at or ended_at) - attempt.running_at for attempt in attempts if attempt.running_at]
    first, last = first_and_last(job.id, "loss")
    return {
        "loss_first": first,
        "loss_last": last,
        "mfu": latest(job.id).get("mfu"),
        "wait_seconds": max(0.0, (ended_at - job.submitted_at - sum(held, timedelta())).total_seconds()),
        "run_seconds": sum(ran, timedelta()).total_seconds(),
    }


def job_reason(job: Job, attempt: Attempt | None, *, now: datetime) -> Json | None:
    """Why the job is where it is: why it waits, leaves or ended; None where there is nothing to say."""
    match State(job.state):
        case State.QUEUED if job.not_before and job.not_before > now:
            return _backoff(job)
        case State.QUEUED:
            return reason_json(job.reason) if job.reason else None
        case State.HELD | State.STOPPING | State.FAILED | State.CANCELLED:
            return _cause(job, attempt)
    return None


def reason_json(reason: Mapping[str, Any]) -> Json:
    """A `scheduling.Reason` as it is stored, with its sentences."""
    return {
        "code": reason["code"],
        "params": reason_params(reason),
        "text": reason_sentence(reason),
        "help": help_sentence(reason),
    }


def attempt_json(attempt: Attempt) -> Json:
    """One run of a job."""
    return {
        "id": str(attempt.id),
        "number": attempt.number,
        "placement": attempt.placement,
        "accelerator_type": attempt.accelerator_type,
        "ordered_at": attempt.ordered_at,
        "running_at": attempt.running_at,
        "stop_ordered_at": attempt.stop_ordered_at,
        "ended_at": attempt.ended_at,
        "end_cause": attempt.end_cause or None,
        "exit_code": attempt.exit_code,
        "failed_rank": attempt.failed_rank,
        "failed_node": attempt.failed_node or None,
        "message": attempt.message,
        "last_lines": attempt.last_lines,
        "resumed_step": attempt.resumed_step,
    }


def event_json(event: Event, *, actors: Mapping[int, str]) -> Json:
    """One event with its sentence. `actors`: user id to name."""
    actor = actors.get(event.actor_id) if event.actor_id is not None else None
    return {
        "seq": event.seq,
        "kind": event.kind,
        "cause": event.cause or None,
        "actor": actor,
        "attempt_id": str(event.attempt_id) if event.attempt_id else None,
        "data": event.data,
        "at": event.at,
        "text": event_sentence(event, actor=actor or ""),
    }


def checkpoint_json(checkpoint: Checkpoint) -> Json:
    """One checkpoint of a job."""
    return {
        "id": str(checkpoint.id),
        "attempt_id": str(checkpoint.attempt_id),
        "step": checkpoint.step,
        "path": checkpoint.path,
        "size_bytes": checkpoint.size_bytes,
        "state": checkpoint.state,
        "problem": checkpoint.problem,
        "saved_at": checkpoint.saved_at,
    }


def output_json(output: Output) -> Json:
    """One file that a job left."""
    return {
        "id": str(output.id),
        "attempt_id": str(output.attempt_id),
        "path": output.path,
        "size_bytes": output.size_bytes,
        "sha256": output.sha256,
        "created_at": output.created_at,
    }


def _backoff(job: Job) -> Json:
    cause = Cause(job.cause)
    text = backoff_sentence(cause, until=job.not_before)
    return {"code": "backoff", "params": {"until": job.not_before, "cause": cause}, "text": text, "help": ""}


def _cause(job: Job, attempt: Attempt | None) -> Json:
    cause = Cause(job.cause)
    facts = _facts(job, attempt)
    return {
        "code": cause,
        "params": facts,
        "text": cause_sentence(cause, facts),
        "help": cause_help(cause),
    }


def _facts(job: Job, attempt: Attempt | None) -> Json:
    """What is known about how it ended; of a job that waits again or never ran, only who acted."""
    facts: Json = {"by": job.changed_by.username} if job.changed_by else {}
    if attempt is not None and attempt.ended_at is not None:
        told = {
            "exit_code": attempt.exit_code,
            "rank": attempt.failed_rank,
            "node": attempt.failed_node,
            "message": attempt.message,
        }
        facts |= {key: value for key, value in told.items() if value not in (None, "")}
    return facts
