"""Taking nodes out of use and back. The page that shows the nodes is with the jobs on them."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.requests import client_address, reader_of
from cluster.services import cordon_node, uncordon_node
from refusals import Invalid


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
