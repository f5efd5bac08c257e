"""Taking nodes out of use and back, and planning for it. The page that shows them is with the jobs."""

from datetime import datetime
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.requests import client_address, reader_of
from cluster.services import cancel_window, cordon_node, plan_window, uncordon_node
from refusals import Invalid, Problem


@login_required
@require_POST
def cordon(request: HttpRequest, name: str) -> HttpResponse:
    """Give the node no new work, for the reason that the form gives."""
    reason = request.POST.get("reason", "").strip()
    try:
        cordon_node(
            user=reader_of(request),
            name=name,
            reason=reason,
            address=client_address(request),
            now=timezone.now(),
        )
    except Invalid as refusal:
        messages.error(request, " ".join(str(problem.problem) for problem in refusal.details))
    else:
        messages.success(request, _("%(node)s gets no new work; what runs there goes on.") % {"node": name})
    return redirect("/cluster")


@login_required
@require_POST
def uncordon(request: HttpRequest, name: str) -> HttpResponse:
    """Let the node have work again."""
    uncordon_node(user=reader_of(request), name=name, address=client_address(request), now=timezone.now())
    messages.success(request, _("%(node)s can be given work again.") % {"node": name})
    return redirect("/cluster")


@login_required
@require_POST
def plan_maintenance(request: HttpRequest) -> HttpResponse:
    """A maintenance window of some nodes, its times as the reader's clock shows them."""
    names = [name.strip() for name in request.POST.get("nodes", "").split(",") if name.strip()]
    try:
        plan_window(
            user=reader_of(request),
            nodes=names,
            starts_at=_moment(request, "starts_at"),
            ends_at=_moment(request, "ends_at"),
            reason=request.POST.get("reason", ""),
            address=client_address(request),
            now=timezone.now(),
        )
    except Invalid as refusal:
        told = (f"{problem.path}: {problem.problem}" for problem in refusal.details)
        messages.error(request, " ".join(told))
    else:
        messages.success(request, _("The maintenance is planned."))
    return redirect("/cluster")


@login_required
@require_POST
def cancel_maintenance(request: HttpRequest, window_id: UUID) -> HttpResponse:
    """Take a window back."""
    cancel_window(
        user=reader_of(request), window_id=window_id, address=client_address(request), now=timezone.now()
    )
    messages.success(request, _("The maintenance is cancelled."))
    return redirect("/cluster")


def _moment(request: HttpRequest, field: str) -> datetime:
    try:
        return timezone.make_aware(datetime.fromisoformat(request.POST.get(field, "")))
    except ValueError:
        raise Invalid(details=[Problem(field, _("must be a date and a time"))]) from None
