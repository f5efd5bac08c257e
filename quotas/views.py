"""Changing what a queue is promised and allowed. The page that shows the queues is with the jobs in them."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.models import User
from accounts.requests import client_address, reader_of
from quotas.arithmetic import devices, milli
from quotas.selectors import QueueRow, queue_row
from quotas.services import set_quota
from refusals import Forbidden, Invalid, Problem

TYPE_FIELDS = ("type_guarantees", "type_limits")
FIELDS = ("guarantee", "limit", "weight", "max_priority", "user_limit", *TYPE_FIELDS)
MOST_DIGITS = 18


@never_cache
@login_required
@require_http_methods(["GET", "POST"])
def edit_quota(request: HttpRequest, path: str) -> HttpResponse:
    """The form, and what it sends."""
    user = reader_of(request)
    row = queue_row(user, path)
    if not row.is_manageable:
        raise Forbidden(action=gettext_lazy("divide this quota"))
    if request.method == "GET":
        return _form(request, row, _present(row), {})
    try:
        _change(user, row, request.POST, address=client_address(request))
    except Invalid as refusal:
        problems = {problem.path.partition(".")[0]: _told(problem) for problem in refusal.details}
        return _form(request, row, request.POST.dict(), problems)
    messages.success(request, _("The quota of %(queue)s was changed.") % {"queue": row.path})
    if _is_part(request):
        return HttpResponse(status=204, headers={"HX-Redirect": "/queues"})
    return redirect("/queues")


def _told(problem: Problem) -> str:
    """With the accelerator type in front where it is one's: the form has one field for all of them."""
    name = problem.path.partition(".")[2]
    return f"{name}: {problem.problem}" if name else str(problem.problem)


def _is_part(request: HttpRequest) -> bool:
    """Whether htmx asks, for the dialog on the queues page."""
    return request.headers.get("HX-Request") == "true"


def _change(user: User, row: QueueRow, given: QueryDict, *, address: str | None) -> None:
    reading = _Reading(given)
    guarantee, limit = reading.amount("guarantee"), reading.amount("limit", may_be_empty=True)
    weight, ceiling = reading.whole("weight"), reading.whole("max_priority")
    others: dict[str, Any] = {key: reading.types(key) for key in TYPE_FIELDS if key in given}
    if "user_limit" in given:
        others["user_limit_milli"] = reading.amount("user_limit", may_be_empty=True)
    if reading.problems:
        raise Invalid(details=reading.problems)
    set_quota(
        user=user,
        path=row.path,
        guarantee_milli=guarantee or 0,
        limit_milli=limit,
        weight=weight,
        max_priority=ceiling,
        **others,
        address=address,
        now=timezone.now(),
    )


class _Reading:
    """Reads the fields of the form and keeps what is wrong with them."""

    def __init__(self, given: QueryDict) -> None:
        self._given = given
        self.problems: list[Problem] = []

    def amount(self, name: str, *, may_be_empty: bool = False) -> int | None:
        """A number of devices as milli-units; None for an empty field."""
        text = self._given.get(name, "").strip()
        if not text and may_be_empty:
            return None
        amount = self._milli(text)
        if amount is None:
            self.problems.append(Problem(name, _("must be a number of devices, with at most three decimals")))
        return amount or 0

    def _milli(self, text: str) -> int | None:
        try:
            return milli(Decimal(text) if len(text) <= MOST_DIGITS else Decimal("NaN"))
        except (ArithmeticError, ValueError):  # no number, infinity, or too fine a fraction
            return None

    def types(self, name: str) -> dict[str, int]:
        """Numbers of devices by accelerator type, as `h100=4, a100=8`."""
        amounts = {}
        for part in filter(None, map(str.strip, self._given.get(name, "").split(","))):
            key, equals, number = (text.strip() for text in part.partition("="))
            amount = self._milli(number) if equals else None
            if amount is None or key in amounts:
                rule = _("must name each type once with a number of devices: h100=4, a100=8")
                self.problems.append(Problem(name, rule))
                return {}
            amounts[key] = amount
        return amounts

    def whole(self, name: str) -> int:
        """A whole number."""
        text = self._given.get(name, "").strip()
        if text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS:
            return int(text)
        self.problems.append(Problem(name, _("must be a whole number")))
        return 1


def _present(row: QueueRow) -> dict[str, object]:
    return {
        "guarantee": devices(row.guarantee_milli),
        "limit": "" if row.limit_milli is None else devices(row.limit_milli),
        "weight": row.weight,
        "max_priority": row.max_priority,
        "user_limit": "" if row.user_limit_milli is None else devices(row.user_limit_milli),
        "type_guarantees": _types_text(row.type_guarantees),
        "type_limits": _types_text(row.type_limits),
    }


def _types_text(amounts: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={devices(amount)}" for name, amount in sorted(amounts.items()))


def _form(
    request: HttpRequest, row: QueueRow, values: dict[str, object] | dict[str, str], problems: dict[str, str]
) -> HttpResponse:
    others = [problem for path, problem in problems.items() if path not in FIELDS]
    context = {
        "section": "queues",
        "queue": row,
        "values": values,
        "problems": problems,
        "other_problems": others,
    }
    if _is_part(request):  # which shows nothing but answers of 200
        return render(request, "queues/_quota_form.html", context | {"in_dialog": True})
    return render(request, "queues/quota.html", context, status=422 if problems else 200)
