"""Sentences about jobs in the reader's language: why one waits and what would help. Pure.

How it ended is in `explain_causes.py`, what happened in `explain_events.py`; all is imported from here.
"""

from collections.abc import Mapping
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from jobs.explain_causes import cause_help, cause_label, cause_sentence, filled, state_label
from jobs.explain_events import event_sentence
from jobs.explain_times import moment_of, moment_text
from jobs.units import render_milli
from scheduling.model import Help, ReasonCode

__all__ = [
    "cause_help",
    "cause_label",
    "cause_sentence",
    "event_sentence",
    "help_sentence",
    "reason_params",
    "reason_sentence",
    "state_label",
]

_REASONS: Mapping[ReasonCode, str | Promise] = {
    ReasonCode.NEVER_FITS: _(
        "It can never start as it is: it asks for %(workers)s workers of %(accelerators)s accelerators each, "
        "and even the empty cluster has room for %(largest_workers)s of them%(place)s."
    ),
    ReasonCode.OVER_LIMIT: _(
        "It asks for %(wanted)s accelerators, but queue %(queue)s may never use more than %(limit)s."
    ),
    ReasonCode.WAITS_JOB: _(
        "It is to start after other jobs; %(num_jobs)s still have to end, job %(job)s among them."
    ),
    ReasonCode.ARRAY_CAP: _("At most %(cap)s jobs of its array may hold devices at once, and as many do."),
    ReasonCode.LIMIT_NOW: _(
        "Queue %(queue)s has used up its quota: %(used)s of %(limit)s accelerators are in use, "
        "and this job asks for %(wanted)s."
    ),
    ReasonCode.WAITS_VICTIMS: _(
        "Devices are being freed for it: %(num_leaving)s jobs are leaving, "
        "%(awaited)s accelerators are awaited."
    ),
    ReasonCode.KEPT_FOR_OTHER: _(
        "%(free)s accelerators are free, but %(kept)s of them are kept for another job that comes first; "
        "this job asks for %(wanted)s."
    ),
    ReasonCode.IN_ORDER: _("It would fit, but strict order in queue %(queue)s puts another job first."),
    ReasonCode.FRAGMENTED: _(
        "%(free)s accelerators are free and %(wanted)s are wanted, but scattered: "
        "room for %(largest_workers)s of %(workers)s workers%(place)s."
    ),
    ReasonCode.SHARE: _(
        "%(free)s accelerators are free and %(wanted)s are wanted. Queue %(queue)s uses %(used)s of the "
        "%(guarantee)s guaranteed to it, so it may not take any from queue %(other)s."
    ),
    ReasonCode.NO_CAPACITY: _("%(free)s accelerators are free, and it asks for %(wanted)s."),
}

# The same reasons where the limit is one accelerator type's or one user's, or the other job only has a time.
_OVER_TYPE_LIMIT = _(
    "It asks for %(wanted)s accelerators of type %(type)s, but queue %(queue)s may never use more than "
    "%(limit)s of that type."
)
_OVER_USER_LIMIT = _(
    "It asks for %(wanted)s accelerators, but in queue %(queue)s no user may ever use more than %(limit)s."
)
_TYPE_LIMIT_NOW = _(
    "Queue %(queue)s has used up its quota of type %(type)s: %(used)s of %(limit)s are in use, "
    "and this job asks for %(wanted)s."
)
_USER_LIMIT_NOW = _(
    "In queue %(queue)s each user may use %(limit)s accelerators at once: %(user)s uses %(used)s, "
    "and this job asks for %(wanted)s."
)
_KEPT_FOR_RESERVATION = _(
    "%(free)s accelerators are free, but %(kept)s of them are kept for another job that starts about "
    "%(starts_at)s, and this one might not have ended by then; it asks for %(wanted)s."
)

_HELP: Mapping[Help, str | Promise] = {
    Help.ASK_FOR_LESS: _("Ask for fewer or smaller workers."),
    Help.RELAX_TOPOLOGY: _("It would fit without its topology rule: make the rule preferred, or drop it."),
    Help.ALLOW_MORE_TYPES: _("It would fit on other accelerator types: allow more of them."),
    Help.RAISE_LIMIT: _("Ask for less, or ask an admin to raise the limit of queue %(queue)s."),
    Help.WAIT_FOR_QUEUE: _("Other jobs of queue %(queue)s have to end first, or its limit has to be raised."),
    Help.STARTS_WHEN_FREED: _("Nothing to do: it starts as soon as they are free."),
    Help.STARTS_AFTER_OTHER: _("Nothing to do: its turn comes after the other job."),
    Help.SMALLER_WORKERS: _("With fewer accelerators in each worker it would fit sooner."),
    Help.RAISE_GUARANTEE: _("Wait until others end, or ask an admin to raise the queue's guarantee."),
    Help.WAIT_FOR_DEVICES: _("Running jobs have to end first."),
    Help.WAIT_FOR_JOB: _("Job %(job)s has to end first."),
    Help.SHORTER_LIMIT: _(
        "With a limits.max_runtime that ends before the other job starts, it would start now."
    ),
}


def reason_sentence(reason: Mapping[str, Any]) -> str:
    """Why a job has no devices, with the engine's numbers. `reason`: a stored `scheduling.Reason`."""
    return filled(_template(ReasonCode(reason["code"]), reason.get("params", {})), _worded(reason))


def help_sentence(reason: Mapping[str, Any]) -> str:
    """What would let the job start sooner."""
    return filled(_HELP[Help(reason["help"])], _worded(reason))


def reason_params(reason: Mapping[str, Any]) -> dict[str, Any]:
    """The engine's numbers for programs: devices (`used`), not milli-units (`used_milli`); moments, not
    milliseconds.
    """
    params: Mapping[str, Any] = reason.get("params", {})
    return dict(_param(key, value) for key, value in params.items())


def _param(key: str, value: Any) -> tuple[str, Any]:
    if key.endswith("_milli"):
        return key.removesuffix("_milli"), render_milli(value)
    if key.endswith("_at_ms"):
        return key.removesuffix("_ms"), moment_of(value) if value else None
    return key, value


def _template(code: ReasonCode, params: Mapping[str, Any]) -> str | Promise:
    """The sentence for the code, in the form that fits what else is known."""
    match code:
        case ReasonCode.OVER_LIMIT if "type" in params:
            return _OVER_TYPE_LIMIT
        case ReasonCode.OVER_LIMIT if "user" in params:
            return _OVER_USER_LIMIT
        case ReasonCode.LIMIT_NOW if "type" in params:
            return _TYPE_LIMIT_NOW
        case ReasonCode.LIMIT_NOW if "user" in params:
            return _USER_LIMIT_NOW
        case ReasonCode.KEPT_FOR_OTHER if params.get("starts_at_ms"):
            return _KEPT_FOR_RESERVATION
    return _REASONS[code]


def _worded(reason: Mapping[str, Any]) -> dict[str, Any]:
    """The same for a sentence, with the place where one is named."""
    params = reason_params(reason)
    level, starts_at = params.get("level"), params.get("starts_at")
    if starts_at is not None:
        params["starts_at"] = moment_text(starts_at)
    return {**params, "place": _(" within one %(level)s") % {"level": level} if level else ""}
