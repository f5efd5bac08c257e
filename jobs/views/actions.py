"""The buttons of a job's page, and emptying a node: each calls one service and goes back to the page."""

from collections.abc import Callable
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from accounts.models import User
from accounts.requests import client_address, reader_of
from jobs.selectors import get_job
from jobs.services.change import change_priority
from jobs.services.drain import drain_node
from jobs.services.stop import Outcome, cancel_job, delete_job, hold_job, release_job
from refusals import Forbidden, Invalid, Problem, Refusal

MOST_DIGITS = 9
ACTS: dict[str, tuple[Callable[..., object], str | Promise]] = {
    "cancel": (
        cancel_job,
        gettext_lazy("The job is being cancelled; its devices are free once its processes are gone."),
    ),
    "hold": (hold_job, gettext_lazy("The job is set aside and will not start until it is released.")),
    "release": (release_job, gettext_lazy("The job is back in its queue.")),
}


@login_required
@require_POST
def act(request: HttpRequest, job_id: UUID, action: str) -> HttpResponse:
    """Cancel, hold or release."""
    service, done = ACTS[action]
    user = reader_of(request)
    return _answer(
        request, job_id, lambda: service(user=user, job_id=job_id, now=timezone.now()), done=str(done)
    )


@login_required
@require_POST
def set_priority(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Another priority."""
    user, given = reader_of(request), request.POST.get("priority", "")
    done = _("The priority was changed; the next decision takes it into account.")
    return _answer(request, job_id, lambda: _change_priority(user, job_id, given), done=done)


def _change_priority(user: User, job_id: UUID, given: str) -> None:
    if not (given.isascii() and given.isdecimal() and len(given) <= MOST_DIGITS):
        raise Invalid(details=[Problem("priority", _("The priority must be a whole number."))])
    change_priority(user=user, job_id=job_id, priority=int(given), now=timezone.now())


@login_required
@require_POST
def delete(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Take a job that has ended off the lists."""
    delete_job(user=reader_of(request), job_id=job_id, now=timezone.now())
    messages.success(request, _("The job was deleted. What it used stays in the record of usage."))
    return redirect("/jobs")


@login_required
@require_POST
def drain(request: HttpRequest, name: str) -> HttpResponse:
    """Give a node no new work, and have the jobs on it leave."""
    reason, address = request.POST.get("reason", "").strip(), client_address(request)
    try:
        told = drain_node(
            user=reader_of(request), name=name, reason=reason, address=address, now=timezone.now()
        )
    except Invalid as refusal:
        messages.error(request, " ".join(str(problem.problem) for problem in refusal.details))
    else:
        texts = {"node": name, "number": len(told)}
        messages.success(request, _("%(node)s gets no new work; %(number)s jobs were told to leave.") % texts)
    return redirect("/cluster")


def _told(outcome: object) -> str:
    """What the service itself says: of a repeat without effect, or of a cancel that was done at once."""
    if not isinstance(outcome, Outcome):
        return ""
    return str(outcome.notice) or (_("The job was cancelled.") if outcome.job.state == "cancelled" else "")


def _answer(request: HttpRequest, job_id: UUID, work: Callable[[], object], *, done: str) -> HttpResponse:
    """Do it and go back to the page, which says how it went; a job that may not be seen is a 404."""
    get_job(reader_of(request), job_id)
    try:
        outcome = work()
    except Forbidden:
        raise
    except Refusal as refusal:
        problems = " ".join(str(problem.problem) for problem in refusal.details)
        messages.error(request, problems or refusal.message)
    else:
        messages.success(request, _told(outcome) or done)
    return redirect(f"/jobs/{job_id}")
