"""Submitting a job: form and job file side by side, checked by the server while one types."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import yaml
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accounts.models import User
from accounts.requests import reader_of
from artifacts.scratch import Readable
from cluster.selectors import totals
from jobs.document import read_yaml
from jobs.models import Job
from jobs.rendering import reason_json
from jobs.selectors import get_job
from jobs.services.change import clone_document
from jobs.services.preview import preview_job
from jobs.services.submit import submit_upload, topology_levels
from jobs.spec_model import PRIORITIES
from jobs.views.recipe_fields import recipe_fields
from jobs.views.submit_fields import document_of, fields_of
from quotas.selectors import queues_for
from refusals import Problem, Refusal
from scheduling.model import Reason

STARTER_PARAMS = {"steps": 200}


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What was typed: the job file's text, and the document it means; None where it cannot be read."""

    text: str
    document: dict[str, Any] | None
    problems: tuple[Problem, ...] = ()


@never_cache
@login_required
@require_http_methods(["GET", "POST"])
def new_job(request: HttpRequest) -> HttpResponse:
    """The form; and what it sends: a redirect to the new job, or the form again with all that is wrong."""
    user = reader_of(request)
    if request.method == "GET":
        document = _first_document(request, user)
        return _page(request, user, Draft(text=as_yaml(document), document=document))
    draft = _draft(request.POST)
    try:
        job = _submit(user, draft, request.FILES.get("code"), now=timezone.now())
    except Refusal as refusal:
        return _page(request, user, draft, refusal=refusal, key=request.POST.get("idempotency_key"))
    messages.success(request, _("The job was submitted."))
    return redirect(f"/jobs/{job.id}")


@never_cache
@login_required
@require_POST
def check(request: HttpRequest) -> HttpResponse:
    """What is wrong with what was typed, or when it would start; and the other side, brought up to date."""
    user, draft = reader_of(request), _draft(request.POST)
    context: dict[str, Any] = {"source": request.POST.get("source", "form"), "draft": draft}
    if draft.document is None:
        return render(request, "jobs/_checked.html", context | {"problems": draft.problems})
    try:
        preview = preview_job(user=user, document=_without_upload(draft, request.POST), now=timezone.now())
        context |= {"problems": preview.problems, "preview": preview, "reason": _reason(preview.reason)}
    except Refusal as refusal:
        context |= _refused(refusal)
    return render(request, "jobs/_checked.html", context | _form(user, draft))


def as_yaml(document: object) -> str:
    """A document as people write it: keys in their order, any script as it is, long texts as blocks."""
    return yaml.dump(document, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=100)


class _Dumper(yaml.SafeDumper):
    """Shows text of several lines as a block."""


def _block(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _block)


def _draft(given: Mapping[str, Any]) -> Draft:
    """The side that was edited last is what counts; the form keeps what the job file has beyond it."""
    text = str(given.get("spec", ""))
    written, problems = _read(text)
    if given.get("source") == "yaml":
        return Draft(text=text, document=written, problems=problems)
    document = document_of({name: str(value) for name, value in given.items()}, written)
    return Draft(text=as_yaml(document), document=document)


def _read(text: str) -> tuple[dict[str, Any] | None, tuple[Problem, ...]]:
    try:
        document = read_yaml(text.encode("utf-8", "surrogatepass"))
    except Refusal as refusal:
        return None, refusal.details
    if not isinstance(document, dict):
        return None, (Problem("", _("The job file must have keys with values, for example name: first")),)
    return document, ()


def _submit(user: User, draft: Draft, upload: Readable | None, *, now: datetime) -> Job:
    if draft.document is None:
        raise _Unreadable(details=draft.problems)
    return submit_upload(user=user, document=draft.document, upload=upload, now=now)


class _Unreadable(Refusal):
    """The job file is no document at all."""

    code = "invalid"
    status = 422


def _without_upload(draft: Draft, given: Mapping[str, Any]) -> dict[str, Any]:
    """An archive that will be sent with the job stands for whatever the job file says of the code."""
    document = dict(draft.document or {})
    if given.get("has_upload"):
        document.pop("code", None)
    return document


def _reason(reason: Reason | None) -> dict[str, Any] | None:
    if reason is None:
        return None
    return reason_json({"code": reason.code, "params": dict(reason.params), "help": reason.help})


def _first_document(request: HttpRequest, user: User) -> dict[str, Any]:
    """A clone of a job, also from one of its checkpoints, or a small run of a recipe to begin with."""
    if source := request.GET.get("clone"):
        document = dict(clone_document(get_job(user, _uuid(source))))
        if checkpoint := request.GET.get("checkpoint"):
            document["checkpoint"] = {**document.get("checkpoint", {}), "from": checkpoint}
        return document
    queue = request.GET.get("queue") or queues_for(user).values_list("path", flat=True).first()
    return {
        "name": "gpt-pretrain",
        **({"queue": queue} if queue else {}),
        "workers": 1,
        "resources": {"accelerators": 1},
        "recipe": "gpt-pretrain",
        "params": dict(STARTER_PARAMS),
    }


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        return uuid.UUID(int=0)  # no job has it, so it is not found


def _page(
    request: HttpRequest,
    user: User,
    draft: Draft,
    *,
    refusal: Refusal | None = None,
    key: str | None = None,
) -> HttpResponse:
    context = {
        "section": "submit",
        "draft": draft,
        "source": request.POST.get("source", "form"),
        "key": key or str(uuid.uuid4()),
        "max_upload_bytes": settings.ENV.max_upload_bytes,
        **_form(user, draft),
        **(_refused(refusal) if refusal else {}),
    }
    return render(request, "jobs/new.html", context, status=refusal.status if refusal else 200)


def _form(user: User, draft: Draft) -> dict[str, Any]:
    fields = fields_of(draft.document)
    return {
        "fields": fields,
        "queues": list(queues_for(user)),
        "priorities": PRIORITIES,
        "extra_priority": _unnamed(fields["priority"]),
        "levels": topology_levels(),
        "types": totals().by_type,
        "recipes": recipe_fields(fields),
    }


def _unnamed(priority: str) -> str:
    """A priority that has no name and so needs a choice of its own."""
    named = {*PRIORITIES, *map(str, PRIORITIES.values()), ""}
    return "" if priority in named else priority


def _refused(refusal: Refusal) -> dict[str, Any]:
    """Every problem with the path of its key; a refusal without any says it in one sentence."""
    return {"problems": refusal.details or (Problem("", refusal.message),)}
