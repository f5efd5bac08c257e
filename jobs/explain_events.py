"""One sentence per event of a job, in the reader's language. Pure."""

from collections.abc import Mapping
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from eventlog.models import Event
from jobs.explain_causes import cause_sentence, filled
from jobs.lifecycle import Cause

SENTENCES: Mapping[str, str | Promise] = {
    "submitted": _("Submitted by %(actor)s to queue %(queue)s with priority %(priority)s."),
    "placed": _("Attempt %(attempt)s got %(devices)s accelerators on %(nodes)s."),
    "forming": _("Attempt %(attempt)s: devices are reserved, workers are being started."),
    "started": _("Attempt %(attempt)s: every worker has been started."),
    "stop_ordered": _("Told to stop: %(why)s"),
    "held": _("Held: %(why)s"),
    "released": _("Released by %(actor)s; it waits for devices again."),
    "requeued": _("Waits for devices again: %(why)s"),
    "succeeded": _("Succeeded: its work is complete."),
    "failed": _("Failed: %(why)s"),
    "cancelled": _("Cancelled by %(actor)s."),
    "priority_changed": _("%(actor)s changed the priority from %(from)s to %(priority)s."),
    "checkpoint_saved": _("Checkpoint of step %(step)s saved."),
    "checkpoint_damaged": _("Checkpoint of step %(step)s is damaged and is passed over: %(why)s"),
    "decision_dropped": _("A decision about it came too late and was dropped (%(decision)s: %(why)s)."),
    "deleted": _("Its record was deleted by %(actor)s."),
}


def event_sentence(event: Event, *, actor: str = "") -> str:
    """What happened, as one sentence. `actor`: the name of the user behind it; empty for the platform."""
    template = SENTENCES.get(event.kind)
    if template is None:
        return event.kind
    return filled(template, _params(event, actor or str(_("the platform"))))


def _params(event: Event, actor: str) -> Mapping[str, Any]:
    data = event.data
    return {
        **data,
        "actor": actor,
        "why": data.get("why") or _why(event, actor),
        "devices": f"{data.get('milli', 0) / 1000:g}",
        "nodes": ", ".join(data.get("nodes", [])),
    }


def _why(event: Event, actor: str) -> str:
    if event.cause not in list(Cause):
        return event.cause
    return cause_sentence(Cause(event.cause), {**event.data, "by": actor})
