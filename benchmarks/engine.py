"""The engine alone: every case of `python -m scheduling bench`, and victims against brute force."""

import resource
from dataclasses import replace
from statistics import fmean
from timeit import default_timer

import numpy as np

from benchmarks.figures import Figure
from scheduling.bench.registry import Case, Clocks
from scheduling.bench_command import CASES
from scheduling.decide import decide
from scheduling.model import Job, JobPhase, Placement, Policy
from scheduling.snapshot import Snapshot
from tests.scheduling import brute
from tests.scheduling.building import job, node, queue, snapshot

NOW_MS = 100_000
NUM_CASES = 300


def measure() -> list[Figure]:
    """All figures; times are of the processor, wall time stands beside them."""
    clocks = Clocks(cpu_s=_cpu_seconds, wall_s=default_timer)
    return [*(_figure(case, clocks) for case in CASES), *victim_costs()]


def victim_costs() -> list[Figure]:
    """The engine's victims on small random clusters, beside the cheapest lawful ones of all."""
    ratios, num_missed, num_needless = [], 0, 0
    for seed in range(NUM_CASES):
        rows, claimant = _small_case(np.random.default_rng(seed))
        best = brute.cheapest_victims(rows, claimant, now_ms=NOW_MS)
        chosen = _victims(rows)
        num_missed += bool(best and best[1]) != bool(chosen)
        if best is None or not chosen:
            continue
        num_needless += _has_needless(rows, claimant, chosen)
        ratios.append(_cost(chosen) / best[0])
    note = f"mean of {len(ratios)} cases of {NUM_CASES} that need victims; worst {max(ratios):.2f}"
    return [
        Figure(
            bench="engine", name="victim cost / cheapest", value=fmean(ratios), unit="x", bar=1.05, peer=note
        ),
        Figure(bench="engine", name="cases not solved as brute force does", value=num_missed, unit="", bar=0),
        Figure(bench="engine", name="cases with a needless victim", value=num_needless, unit="", bar=0),
    ]


def _figure(case: Case, clocks: Clocks) -> Figure:
    measured = case.measured(clocks)
    wall = "" if measured.wall is None else f"wall {measured.wall:.3g} {case.unit}"
    beside = "; ".join(part for part in (wall, measured.detail, case.peer) if part)
    return Figure(
        bench="engine",
        name=case.name,
        value=measured.value,
        unit=case.unit,
        bar=case.bar,
        at_least=case.at_least,
        peer=beside,
    )


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _small_case(random: np.random.Generator) -> tuple[Snapshot, Job]:
    """Two to four full nodes of four devices, one gang of higher priority, another queue to reclaim from."""
    nodes = [node(f"n{number}", 4, rack="rs"[number % 2]) for number in range(int(random.integers(2, 5)))]
    running: list[Job] = []
    for _ in range(int(random.integers(4, 11))):
        row = job(
            f"r{len(running)}",
            int(random.choice((1, 1, 2, 4))),
            workers=int(random.choice((1, 1, 1, 2))),
            priority=int(random.integers(0, 3)),
            queue=str(random.choice(("own", "own", "other"))),
        )
        place = brute.any_place(nodes, running, row)
        if place is not None:
            since = int(random.integers(0, 100)) * 1000
            running.append(_placed(row, place, since))
    claimant = job(
        "w", int(random.choice((1, 2, 4))), workers=int(random.choice((1, 2, 3))), priority=2, queue="own"
    )
    queues = [queue("own", guarantee=8), queue("other", guarantee=1)]
    return snapshot(nodes, [*running, claimant], queues), claimant


def _placed(row: Job, place: Placement, since: int) -> Job:
    return replace(row, phase=JobPhase.PLACED, placement=place, placed_at_ms=since)


def _victims(rows: Snapshot) -> list[Job]:
    gone = {eviction.job for eviction in decide(rows, NOW_MS, Policy()).evictions}
    return [row for row in rows.jobs if row.id in gone]


def _cost(victims: list[Job]) -> int:
    return sum(brute.lost(victim, NOW_MS) for victim in victims)


def _has_needless(rows: Snapshot, claimant: Job, victims: list[Job]) -> bool:
    return any(
        brute.can_start_without(rows, claimant, [other for other in victims if other is not victim])
        for victim in victims
    )
