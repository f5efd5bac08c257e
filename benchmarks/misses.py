"""Why a figure misses its bar, and what was tried: a sentence for each, printed below the results' table."""

from collections.abc import Iterable, Iterator, Mapping

from benchmarks.figures import Figure

UNWRITTEN = "no reason written down yet"
_EACH_WAITING = (
    "a profile shows half of the pass asking each waiting job whether it can start and half finding its"
    " reason, in Python, some 50 microseconds a job; docs/decisions/engine-speed.md has what was tried"
)
_RESERVATIONS = (
    "a profile shows reservations, each sought anew in each plan, as the largest part, and expected times"
    " next; docs/decisions/engine-speed.md has what was tried elsewhere, nothing was against this"
)
REASONS: Mapping[str, str] = {
    "full pass, 10,000 nodes x 8, 10,000 waiting gangs": _EACH_WAITING,
    "full pass, 10,000 nodes x 8, 40,000 waiting gangs": _EACH_WAITING,
    "one event, 10,000 nodes, 100 waiting gangs": _RESERVATIONS,
    "one event, 64 nodes, 20 waiting gangs": _RESERVATIONS,
    "plain starts of 1-device jobs": (
        "some 100 microseconds a start, spread over placing, booking and counting again; runs on the same"
        " machine vary between 8,600 and 10,900 a second"
    ),
    "reclaim plan for a 2,000-device gang, 500 nodes, 4,000 running jobs": (
        "the median is at the bar (44 to 59 ms alone), the 95th percentile of five runs is their worst"
    ),
    "reclaim plan for a 2,000-device gang, 10,000 nodes, 80,000 running jobs": (
        "sorting 80,000 candidates in two orders and the ends of as many jobs are the larger part;"
        " docs/decisions/engine-speed.md has what was tried"
    ),
    "of torchrun's time to first step": (
        "each rank imports torch by itself, four at once on two cores; forking ranks from a process that has"
        " torch imported already is the way, and not in the runtime yet"
    ),
    "100 commands, first submit to last running": (
        "submissions, ticks, reports and log streams share two cores, and the cluster's side alone does 40 to"
        " 54 a second; docs/decisions/live-snapshot.md has what a kept snapshot and starts in bulk changed"
    ),
    "preempt order to devices free, 200 MB state saved, 4 workers": (
        "four ranks on two cores finish their step, agree, write and checksum 200 MB, and the first save also"
        " imports torch's checkpoint modules"
    ),
}


def notes(figures: Iterable[Figure], reasons: Mapping[str, str] = REASONS) -> Iterator[str]:
    """A heading and a line for each figure that misses its bar; nothing if none does."""
    missed = [figure for figure in figures if figure.met is False]
    if missed:
        yield from ("## Bars that are missed, and why", "")
    for figure in missed:
        yield f"- **{figure.bench}, {figure.name}**: {reasons.get(figure.name, UNWRITTEN)}."
