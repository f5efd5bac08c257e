"""Why a job waits: the code, the numbers that its sentence shows, and what would help."""

from dataclasses import replace

import pytest

from scheduling.model import Help, Job, Node, Queue, ReasonCode
from tests.scheduling.building import job, leaving, node, on, plan, queue, required, running

NODES = [node("n1", rack="a"), node("n2", rack="a"), node("n3", rack="b")]
BUSY = [running(job(f"b{n}", 2), f"n{n}:0,1") for n in (1, 2, 3)]
FULL = [running(job(f"f{n}", 4), f"n{n}:0,1,2,3") for n in (1, 2, 3)]
OTHERS = [replace(row, queue=queue("v").path) for row in FULL]
KEEPER = job("keeper", 4, workers=2, priority=5, kept=on("n1:0,1,2,3", "n2:0,1,2,3"))
VICTIM = leaving(running(job("victim", 4), "n1:0,1,2,3"))

Expected = dict[str, int | str]
ROWS: dict[str, tuple[list[Node], list[Queue], list[Job], Job, ReasonCode, Expected, Help]] = {
    "larger than any node": (
        NODES,
        [],
        [],
        job("j", 5),
        ReasonCode.NEVER_FITS,
        {"workers": 1, "largest_workers": 0, "accelerators_milli": 5000, "free_milli": 12000, "level": ""},
        Help.ASK_FOR_LESS,
    ),
    "larger than any rack": (
        NODES,
        [],
        [],
        job("j", 4, workers=3, topology=required("rack")),
        ReasonCode.NEVER_FITS,
        {"level": "rack", "largest_workers": 2, "workers": 3},
        Help.RELAX_TOPOLOGY,
    ),
    "inside a level that no node has": (
        NODES,
        [],
        [],
        job("j", 4, topology=(*required("pod"), *required("rack"))),
        ReasonCode.NEVER_FITS,
        {"level": "pod", "largest_workers": 0},
        Help.RELAX_TOPOLOGY,
    ),
    "of a type that there is not": (
        NODES,
        [],
        [],
        job("j", 4, types=("y", "z")),
        ReasonCode.NEVER_FITS,
        {"types": "y, z"},
        Help.ALLOW_MORE_TYPES,
    ),
    "more than a limit above allows": (
        NODES,
        [queue("p", limit=3), queue("q", limit=5, parent="p")],
        [],
        job("j", 4),
        ReasonCode.OVER_LIMIT,
        {"queue": "p", "limit_milli": 3000, "wanted_milli": 4000},
        Help.RAISE_LIMIT,
    ),
    "more than the limit leaves now": (
        NODES,
        [queue("q", limit=8)],
        BUSY,
        job("j", 4),
        ReasonCode.LIMIT_NOW,
        {
            "queue": "q",
            "used_milli": 6000,
            "claimed_milli": 0,
            "limit_milli": 8000,
            "wanted_milli": 4000,
        },
        Help.WAIT_FOR_QUEUE,
    ),
    "devices are being freed for it": (
        NODES,
        [],
        [VICTIM, FULL[2]],
        replace(KEEPER, id=job("j").id),
        ReasonCode.WAITS_VICTIMS,
        {"job": "victim", "num_leaving": 1, "awaited_milli": 4000},
        Help.STARTS_WHEN_FREED,
    ),
    "they are kept for another": (
        NODES,
        [],
        [VICTIM, KEEPER, FULL[2]],
        job("j", 2),
        ReasonCode.KEPT_FOR_OTHER,
        {"job": "keeper", "kept_milli": 4000, "free_milli": 0, "wanted_milli": 2000},
        Help.STARTS_AFTER_OTHER,
    ),
    "free on three nodes but not on one": (
        NODES,
        [],
        BUSY,
        job("j", 4),
        ReasonCode.FRAGMENTED,
        {"free_milli": 6000, "wanted_milli": 4000, "workers": 1, "largest_workers": 0, "level": ""},
        Help.SMALLER_WORKERS,
    ),
    "free in two racks but not in one": (
        NODES,
        [],
        BUSY,
        job("j", 2, workers=3, topology=required("rack")),
        ReasonCode.FRAGMENTED,
        {"level": "rack", "free_milli": 6000, "workers": 3, "largest_workers": 2},
        Help.RELAX_TOPOLOGY,
    ),
    "others hold them and are within their guarantee": (
        NODES,
        [queue("q", guarantee=4), queue("v", guarantee=12)],
        OTHERS,
        job("j", 4),
        ReasonCode.SHARE,
        {
            "queue": "q",
            "used_milli": 0,
            "guarantee_milli": 4000,
            "other": "v",
            "free_milli": 0,
            "wanted_milli": 4000,
        },
        Help.RAISE_GUARANTEE,
    ),
    "others hold them beyond their guarantee, but this one has none": (
        NODES,
        [queue("q"), queue("v")],
        OTHERS,
        job("j", 4),
        ReasonCode.SHARE,
        {"queue": "q", "other": "v", "guarantee_milli": 0},
        Help.RAISE_GUARANTEE,
    ),
    "others hold them, may be reclaimed from, but will not be preempted": (
        NODES,
        [queue("q", guarantee=4), queue("v")],
        [replace(row, preemptible=False) for row in OTHERS],
        job("j", 4),
        ReasonCode.NO_CAPACITY,
        {"queue": "q", "free_milli": 0},
        Help.WAIT_FOR_DEVICES,
    ),
    "the own queue holds them": (
        NODES,
        [queue("q", guarantee=12)],
        FULL,
        job("j", 4),
        ReasonCode.NO_CAPACITY,
        {"queue": "q", "free_milli": 0, "wanted_milli": 4000, "largest_workers": 0},
        Help.WAIT_FOR_DEVICES,
    ),
    "another type is free": (
        [*NODES, node("n4", accelerator_type="y")],
        [queue("q", guarantee=12)],
        FULL,
        job("j", 4, types=("x",)),
        ReasonCode.NO_CAPACITY,
        {"types": "x"},
        Help.ALLOW_MORE_TYPES,
    ),
    "no processors are free": (
        [node("n1", cpus_milli=4000)],
        [],
        [running(job("r", 0, cpus_milli=4000), "n1:")],
        job("j", 0, cpus_milli=1000),
        ReasonCode.NO_CAPACITY,
        {"cpus_milli": 1000, "wanted_milli": 0},
        Help.WAIT_FOR_DEVICES,
    ),
    "enough processors are free, but on two nodes": (
        [node("n1", cpus_milli=4000), node("n2", cpus_milli=4000)],
        [],
        [running(job(f"r{n}", 0, cpus_milli=2000), f"n{n}:") for n in (1, 2)],
        job("j", 0, cpus_milli=3000),
        ReasonCode.FRAGMENTED,
        {"cpus_milli": 3000},
        Help.WAIT_FOR_DEVICES,
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_reason(name: str) -> None:
    """Its code, its numbers (those named here), its help."""
    nodes, queues, others, row, code, params, advice = ROWS[name]
    reason = plan(nodes, [*others, row], queues).reasons[row.id]
    assert (reason.code, reason.help) == (code, advice)
    assert {key: reason.params[key] for key in params} == params


PRECEDENCE: dict[str, tuple[list[Queue], list[Job], Job, ReasonCode]] = {
    "never fits before over the limit": ([queue("q", limit=1)], [], job("j", 5), ReasonCode.NEVER_FITS),
    "over the limit before limit now": ([queue("q", limit=3)], BUSY[:1], job("j", 4), ReasonCode.OVER_LIMIT),
    "limit now before waiting for victims": (
        [queue("q", limit=8)],
        [VICTIM],
        KEEPER,
        ReasonCode.LIMIT_NOW,
    ),
    "limit now before fragmented": ([queue("q", limit=8)], BUSY, job("j", 3), ReasonCode.LIMIT_NOW),
    "kept for another before too few": (
        [],
        [VICTIM, KEEPER, FULL[2]],
        job("j", 4),
        ReasonCode.KEPT_FOR_OTHER,
    ),
    "fragmented before share": (
        [queue("q"), queue("v")],
        [replace(row, queue=queue("v").path) for row in BUSY],
        job("j", 4),
        ReasonCode.FRAGMENTED,
    ),
}


@pytest.mark.parametrize("name", PRECEDENCE)
def test_the_first_that_holds_is_given(name: str) -> None:
    """Several reasons hold at once."""
    queues, others, row, code = PRECEDENCE[name]
    assert plan(NODES, [*others, row], queues).reasons[row.id].code is code


def test_parameters_are_plain_numbers_and_text() -> None:
    """They are stored as JSON and shown by name."""
    jobs = [*OTHERS, job("never", 9), job("share", 4), job("cpu", 0, cpus_milli=10**9)]
    reasons = plan(NODES, jobs, [queue("q"), queue("v")]).reasons
    assert len(reasons) == 3
    values = [value for reason in reasons.values() for value in reason.params.values()]
    assert {type(value) for value in values} <= {int, str}
