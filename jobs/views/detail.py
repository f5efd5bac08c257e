"""One job's page: a frame (name, state, buttons, tabs) and what is under each tab."""

from typing import Any
from uuid import UUID

import yaml
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from accounts.models import User
from accounts.requests import reader_of
from artifacts.models import Checkpoint, Output
from eventlog.models import Event
from jobs.explain import event_sentence
from jobs.models import Attempt, Job
from jobs.selectors import get_job
from jobs.services.change import clone_document
from jobs.spec_model import PRIORITIES
from jobs.views.allowed_actions import allowed_actions
from jobs.views.log_pages import log_choice, log_tail
from jobs.views.metric_pages import curve, measured
from jobs.views.overview import overview

TABS: dict[str, str | Promise] = {
    "overview": _("Overview"),
    "logs": _("Logs"),
    "metrics": _("Metrics"),
    "events": _("Events"),
    "checkpoints": _("Checkpoints"),
    "files": _("Files"),
    "spec": _("Spec"),
}
MAX_EVENTS = 500
EVENT_TONES = {
    "submitted": "queued",
    "placed": "starting",
    "forming": "starting",
    "started": "running",
    "stop_ordered": "stopping",
    "requeued": "queued",
    "held": "held",
    "released": "queued",
    "succeeded": "succeeded",
    "failed": "failed",
    "checkpoint_saved": "succeeded",
    "checkpoint_damaged": "failed",
}


@never_cache
@login_required
@require_GET
def show_job(request: HttpRequest, job_id: UUID, tab: str = "overview") -> HttpResponse:
    """A tab of the page; for htmx only the parts of it that change while one looks."""
    user = reader_of(request)
    job = get_job(user, job_id)
    frame = _frame(user, job, tab=tab) | {"address": request.get_full_path()}
    if request.headers.get("HX-Request") == "true":
        return render(request, "jobs/_live.html", frame | _LIVE[tab](request, frame))
    return render(request, f"jobs/{tab}.html", frame | _CONTENT[tab](request, frame))


def _frame(user: User, job: Job, *, tab: str) -> dict[str, Any]:
    return {
        "section": "jobs",
        "now": timezone.now(),
        "job": job,
        "attempts": list(job.attempts.order_by("number")),
        "can": allowed_actions(user, job),
        "tabs": TABS.items(),
        "tab": tab,
        "num_checkpoints": Checkpoint.objects.filter(job_id=job.id, state="whole").count(),
        "priorities": sorted({*PRIORITIES.values(), job.priority}),
        "num_outputs": Output.objects.filter(job_id=job.id).count(),
    }


def _overview(request: HttpRequest, frame: dict[str, Any]) -> dict[str, Any]:
    job, attempts = frame["job"], frame["attempts"]
    return _overview_live(request, frame) | _log(request, attempts) | {"curve": curve(job, "loss")}


def _overview_live(request: HttpRequest, frame: dict[str, Any]) -> dict[str, Any]:
    return overview(frame["job"], frame["attempts"], now=frame["now"]) | _logs_live(request, frame)


def _logs(request: HttpRequest, frame: dict[str, Any]) -> dict[str, Any]:
    return _log(request, frame["attempts"])


def _logs_live(request: HttpRequest, frame: dict[str, Any]) -> dict[str, Any]:
    return {"log": log_choice(request.GET, frame["attempts"])}


def _log(request: HttpRequest, attempts: list[Attempt]) -> dict[str, Any]:
    choice = log_choice(request.GET, attempts)
    return {"log": choice, "log_tail": log_tail(choice)}


def _metrics(_request: HttpRequest, frame: dict[str, Any]) -> dict[str, Any]:
    return {"measured": measured(frame["job"])}


def _events(_request: HttpRequest, frame: dict[str, Any]) -> dict[str, Any]:
    events = list(Event.objects.filter(job_id=frame["job"].id).order_by("-seq")[:MAX_EVENTS])
    actors = User.objects.in_bulk({event.actor_id for event in events if event.actor_id is not None})
    return {"events": [_event_row(event, actors.get(event.actor_id or 0)) for event in events]}


def _event_row(event: Event, actor: User | None) -> dict[str, Any]:
    name = (actor.display_name or actor.username) if actor else ""
    tone = EVENT_TONES.get(event.kind, "cancelled")
    return {"event": event, "sentence": event_sentence(event, actor=name), "tone": tone}


def _checkpoints(_request: HttpRequest, frame: dict[str, Any]) -> dict[str, Any]:
    rows = Checkpoint.objects.filter(job_id=frame["job"].id).order_by("-step", "-saved_at")[:200]
    return {"checkpoints": rows}


def _files(_request: HttpRequest, frame: dict[str, Any]) -> dict[str, Any]:
    numbers = {attempt.id: attempt.number for attempt in frame["attempts"]}
    outputs = Output.objects.filter(job_id=frame["job"].id).order_by("-created_at", "path")[:500]
    rows = [{"output": output, "attempt": numbers.get(output.attempt_id)} for output in outputs]
    return {"outputs": rows, "code": frame["job"].code}


def _spec(_request: HttpRequest, frame: dict[str, Any]) -> dict[str, Any]:
    return {"document": as_yaml(clone_document(frame["job"]))}


def as_yaml(document: object) -> str:
    """A document as people write it: keys in their order, any script as it is."""
    return yaml.safe_dump(document, allow_unicode=True, sort_keys=False, width=100)


def _nothing(_request: HttpRequest, _frame: dict[str, Any]) -> dict[str, Any]:
    return {}


_CONTENT = {
    "overview": _overview,
    "logs": _logs,
    "metrics": _metrics,
    "events": _events,
    "checkpoints": _checkpoints,
    "files": _files,
    "spec": _spec,
}
_LIVE = _CONTENT | {"overview": _overview_live, "logs": _logs_live, "metrics": _nothing, "spec": _nothing}
