"""A case file: its cases, each with cluster, queues, events and what is expected."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scheduling.cases.fields import CaseError, Fields, shown
from scheduling.cases.rows import (
    CaseJob,
    CaseNode,
    read_job,
    read_nodes,
    read_policy,
    read_queues,
    refuse_repeats,
)
from scheduling.model import Policy, Queue

JOB_OPS = ("running", "submit", "pods", "want", "pod_done", "restart", "cancel", "end", "remove")
NODE_OPS = ("fail", "recover", "drain", "undrain")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happens at second `t` to the job or the nodes named.

    `job` is the row of a new one. `number` of pods: wanted, known or finished.
    """

    t: int
    op: str
    name: str = ""
    job: CaseJob | None = None
    nodes: tuple[str, ...] = ()
    number: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One case, read and in itself consistent; `expect` is read where it is compared."""

    id: str
    nodes: tuple[CaseNode, ...]
    queues: tuple[Queue, ...]
    policy: Policy
    events: tuple[Event, ...]  # by time, then in the order of the file
    expect: Mapping[str, Any]

    @property
    def job_names(self) -> frozenset[str]:
        """All jobs that appear in it."""
        return frozenset(event.name for event in self.events if event.name)


def read_file(text: str) -> list[Any]:
    """The cases of a file as they stand, each an object with an id."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise CaseError(f"line {error.lineno}, column {error.colno}", f"not JSON: {error.msg}") from error
    fields = Fields(document, where="the file")
    cases = fields.required("cases")
    if not isinstance(cases, list):
        raise CaseError("cases", f"a list is expected, not {shown(cases)}")
    names = [Fields(case, where=f"cases[{number}]").text("id") for number, case in enumerate(cases)]
    refuse_repeats(names, where="cases")
    return cases


def read_case(row: object) -> Case:
    """One case. What it refers to has to be defined in it."""
    fields = Fields(row, where="case")
    cluster = Fields(fields.required("cluster"), where="cluster")
    cluster.required("nodes")
    nodes = read_nodes(cluster.rows("nodes"), where="cluster.nodes")
    policy = read_policy(cluster.get("policy"), where="cluster.policy")
    cluster.finish()
    case = Case(
        id=fields.text("id", default="case"),
        nodes=nodes,
        queues=read_queues(fields.rows("queues"), where="queues"),
        policy=policy,
        events=_read_events(fields.rows("events"), names={node.row.name for node in nodes}),
        expect=fields.mapping("expect"),
    )
    fields.finish()
    return case


def _read_events(rows: list[Any], *, names: set[Any]) -> tuple[Event, ...]:
    events: list[Event] = []
    jobs: dict[str, CaseJob] = {}
    for number, row in enumerate(rows):
        event = _read_event(Fields(row, where=f"events[{number}]"), jobs)
        for name in event.nodes:
            if name not in names:
                raise CaseError(f"events[{number}]", f"{name!r} is no node of the case")
        events.append(event)
    return tuple(sorted(events, key=lambda event: event.t))


def _read_event(fields: Fields, jobs: dict[str, CaseJob]) -> Event:
    op, t = fields.text("op"), fields.whole("t")
    if op in NODE_OPS:
        nodes = fields.texts("nodes") or fields.texts("node")
        if not nodes:
            raise CaseError(fields.where, "the field 'node' is missing")
        event = Event(t=t, op=op, nodes=nodes)
    elif op in JOB_OPS:
        event = _read_job_event(fields, op, t, jobs)
    else:
        known = ", ".join((*JOB_OPS, *NODE_OPS))
        raise CaseError(fields.where, f"unknown op {shown(op)}; known are {known}")
    fields.finish()
    return event


def _read_job_event(fields: Fields, op: str, t: int, jobs: dict[str, CaseJob]) -> Event:
    job, name = _job_of(fields, op, jobs)
    match op:
        case "running":
            fields.required("on")
            nodes = fields.texts("on")
            return Event(t=t, op=op, name=name, job=_running_on(fields, job, nodes), nodes=nodes)
        case "want":
            return Event(t=t, op=op, name=name, number=fields.whole("n"))
        case "pods":
            return Event(t=t, op=op, name=name, job=jobs[name], number=fields.whole("known"))
        case "pod_done":
            nodes = fields.texts("node") or fields.texts("on")
            return Event(t=t, op=op, name=name, nodes=nodes, number=fields.whole("n", 1))
    return Event(t=t, op=op, name=name, job=job)


def _job_of(fields: Fields, op: str, jobs: dict[str, CaseJob]) -> tuple[CaseJob | None, str]:
    """The row of a new job, or the name of one that an earlier event brought."""
    value = fields.required("job")
    if isinstance(value, str):
        if op in ("running", "submit") or value not in jobs:
            raise CaseError(fields.where, f"no earlier event says what {value!r} is")
        return None, value
    job = read_job(Fields(value, where=f"{fields.where}.job"))
    if job.row.id in jobs:
        raise CaseError(fields.where, f"there is a job {job.row.id!r} already")
    if op not in ("running", "submit", "pods"):
        raise CaseError(fields.where, f"the op {op!r} takes the name of a job")
    jobs[job.row.id] = job
    return job, job.row.id


def _running_on(fields: Fields, job: CaseJob | None, nodes: tuple[str, ...]) -> CaseJob | None:
    """A running job has one node for each pod; an elastic one has as many pods as nodes are given."""
    if job is None:
        return None
    least = job.row.num_workers if job.row.min_workers is None else job.row.min_workers
    most = job.row.max_workers or job.row.num_workers
    if not least <= len(nodes) <= most:
        raise CaseError(fields.where, f"{job.row.id} has {least} to {most} pods, on {len(nodes)} nodes")
    return job
