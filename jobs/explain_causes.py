"""Words for states and causes, and sentences about how an attempt or a job ended. Pure."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from jobs.lifecycle import Cause, State

STATE_LABELS: Mapping[State, str | Promise] = {
    State.QUEUED: _("queued"),
    State.HELD: _("held"),
    State.STARTING: _("starting"),
    State.RUNNING: _("running"),
    State.STOPPING: _("stopping"),
    State.SUCCEEDED: _("succeeded"),
    State.FAILED: _("failed"),
    State.CANCELLED: _("cancelled"),
}

CAUSE_LABELS: Mapping[Cause, str | Promise] = {
    Cause.SUBMITTED: _("submitted"),
    Cause.PLACED: _("devices were found"),
    Cause.STARTED: _("every worker has been started"),
    Cause.USER_CANCELLED: _("cancelled by a user"),
    Cause.USER_HELD: _("held by a user"),
    Cause.USER_RELEASED: _("released by a user"),
    Cause.PREEMPTED: _("preempted by a job of higher priority"),
    Cause.RECLAIMED: _("its devices were reclaimed by the queue they are guaranteed to"),
    Cause.INCOMPLETE: _("workers that it lost cannot be replaced now"),
    Cause.MAINTENANCE: _("its nodes are emptied for maintenance"),
    Cause.RESIZED: _("it starts again with another number of workers"),
    Cause.DEPENDENCY_FAILED: _("a job that it depends on failed or was cancelled"),
    Cause.TIME_LIMIT: _("its time limit was reached"),
    Cause.COMPLETED: _("its work is complete"),
    Cause.PROGRAM_FAILED: _("its program failed"),
    Cause.START_FAILED: _("its program could not be started"),
    Cause.STOPPED: _("the cluster stopped it without being asked"),
    Cause.NODE_LOST: _("a node was lost"),
    Cause.AGENT_LOST: _("the agent of a node was lost"),
    Cause.PLACEMENT_FAILED: _("its devices could not be reserved"),
    Cause.UNKNOWN: _("the cluster lost track of it"),
}

_ENDED: Mapping[Cause, str | Promise] = {
    Cause.NODE_LOST: _("Node %(node)s was lost."),
    Cause.AGENT_LOST: _("The agent of node %(node)s was lost, and its workers with it."),
    Cause.PLACEMENT_FAILED: _("Devices could not be reserved on node %(node)s: %(message)s"),
    Cause.START_FAILED: _("The program could not be started: %(message)s"),
    Cause.UNKNOWN: _("The cluster lost track of it, so it was taken for ended."),
    Cause.STOPPED: _("The cluster stopped it without being asked."),
    Cause.TIME_LIMIT: _("Its time limit (max_runtime) was reached."),
    Cause.PREEMPTED: _("It makes way for a job of higher priority."),
    Cause.RECLAIMED: _("Its devices are guaranteed to another queue, which asked for them."),
    Cause.INCOMPLETE: _("It lost workers that cannot be replaced now, so the others save and leave."),
    Cause.MAINTENANCE: _("Its nodes are emptied for maintenance; it goes on elsewhere from its checkpoint."),
    Cause.RESIZED: _("It saves and starts again with another number of workers."),
    Cause.DEPENDENCY_FAILED: _("A job that it depends on failed or was cancelled."),
    Cause.USER_CANCELLED: _("Cancelled by %(by)s."),
    Cause.USER_HELD: _("Held by %(by)s."),
}

_ENDED_HELP: Mapping[Cause, str | Promise] = {
    Cause.PROGRAM_FAILED: _("Look at the last lines of its log; set limits.retries to have it repeated."),
    Cause.START_FAILED: _("Check the command, the code archive and its paths, and submit it again."),
    Cause.NODE_LOST: _("Raise limits.node_retries to have it repeated on other nodes."),
    Cause.AGENT_LOST: _("Raise limits.node_retries to have it repeated."),
    Cause.PLACEMENT_FAILED: _("Raise limits.node_retries, or ask an administrator to look at the node."),
    Cause.UNKNOWN: _("Raise limits.node_retries to have it repeated."),
    Cause.TIME_LIMIT: _("Raise limits.max_runtime, or start from its newest checkpoint."),
    Cause.USER_HELD: _("Release it to let it wait for devices again."),
    Cause.DEPENDENCY_FAILED: _("Look at the jobs that it depends on, and submit it again."),
}


def state_label(state: str) -> str:
    """A state's word in the active language."""
    return str(STATE_LABELS[State(state)])


def cause_label(cause: str) -> str:
    """A cause in a few words."""
    return str(CAUSE_LABELS[Cause(cause)]) if cause else ""


def cause_sentence(cause: Cause, facts: Mapping[str, Any]) -> str:
    """Why a job left its devices. `facts`: exit_code, rank, node, message, by, as far as they are known."""
    if cause is Cause.PROGRAM_FAILED:
        return filled(_exit_template(facts), {"signal": -(facts.get("exit_code") or 0), **facts})
    template = _ENDED.get(cause)
    return filled(template, facts) if template else str(CAUSE_LABELS[cause])


def backoff_sentence(cause: Cause, *, until: datetime | None) -> str:
    """Why a job that is to be repeated does not start at once."""
    texts = {"why": cause_label(cause), "until": until.isoformat(timespec="seconds") if until else "–"}
    return filled(_("It is repeated after a failure (%(why)s), but not before %(until)s."), texts)


def cause_help(cause: Cause) -> str:
    """What its owner can do about such an ending; empty where nothing is to be done."""
    return str(_ENDED_HELP.get(cause, ""))


def _exit_template(facts: Mapping[str, Any]) -> str | Promise:
    code = facts.get("exit_code")
    if code is None:
        return _("The program failed on worker %(rank)s, node %(node)s: %(message)s")
    if code < 0:
        return _("Worker %(rank)s on node %(node)s was ended by signal %(signal)s.")
    return _("Worker %(rank)s on node %(node)s left with exit code %(exit_code)s.")


class _Known(dict[str, Any]):
    """Parameters of a sentence; one that is not known shows as a dash instead of failing the page."""

    def __missing__(self, key: str) -> str:
        return "–"


def filled(template: str | Promise, params: Mapping[str, Any]) -> str:
    """A sentence with its parameters; those that are None count as not known."""
    return str(template) % _Known({key: value for key, value in params.items() if value is not None})
