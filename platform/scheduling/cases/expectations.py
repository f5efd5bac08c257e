"""What is expected of a case against what was seen: every difference, with its moment."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from scheduling.cases.document import Case
from scheduling.cases.fields import Fields
from scheduling.cases.groups import PhraseError, Scene
from scheduling.cases.history import History, Seen
from scheduling.cases.meanings import reason_problem
from scheduling.cases.places import runs_there
from scheduling.cases.sentences import always_problem, holds, times_in


@dataclass(frozen=True, slots=True)
class Difference:
    """What differed, and at which second (None: over the whole case)."""

    t: int | None
    what: str


def last_moment(case: Case) -> int:
    """Until when the case has to be run: the last second that it speaks of."""
    expect = Fields(case.expect, where="expect")
    times: list[Any] = [check.get("t") for check in expect.rows("checks") if isinstance(check, Mapping)]
    times += expect.mapping("starts").values()
    times += [event.t for event in case.events] + times_in(expect.get("always"))
    return max((time for time in times if isinstance(time, int)), default=0)


def differences(case: Case, history: History) -> Iterator[Difference]:
    """All of them, those over the whole case last."""
    scene, expect = Scene(case, history), Fields(case.expect, where="expect")
    yield from (Difference(t, what) for t, what in history.problems)
    for number, row in enumerate(expect.rows("checks")):
        yield from _of_check(scene, Fields(row, where=f"expect.checks[{number}]"))
    for words, time in expect.mapping("starts").items():
        yield from (Difference(time, what) for what in _tell(_start_problem, scene, words, time))
    yield from (Difference(None, what) for what in _counts(scene, expect))
    for sentence in expect.texts("always"):
        yield from _always(scene, sentence, end=last_moment(case))
    expect.finish()


def _of_check(scene: Scene, check: Fields) -> Iterator[Difference]:
    t = check.whole("t")
    seen = scene.history.at(t)
    problems = [
        *_running_problems(scene, seen, check),
        *_pending_problems(scene, seen, check),
        *_usage_problems(seen, check.mapping("usage")),
        *_reason_problems(seen, check),
        *_eta_problems(seen, check.mapping("eta")),
        *_note_problems(scene, seen, check.get("note")),
    ]
    check.finish()
    yield from (Difference(t, what) for what in problems)


def _tell(compare: Callable[..., str | None], *about: object) -> Iterator[str]:
    """The problem that a comparison finds, if any. Words that are not understood are one."""
    try:
        problem = compare(*about)
    except PhraseError as error:
        problem = f"not understood: {error}"
    if problem is not None:
        yield problem


def _running_problems(scene: Scene, seen: Seen, check: Fields) -> Iterator[str]:
    wanted = check.mapping("running")
    for words, where in wanted.items():
        yield from _tell(_running_problem, scene, seen, words, where)
    if "running" in check and not wanted and seen.running:
        yield f"{_names(seen.running)} run, expected nobody"


def _running_problem(scene: Scene, seen: Seen, words: str, where: object) -> str | None:
    some = scene.some_jobs(words)
    there = [job for job in some.names if runs_there(scene, seen, job, where)]
    if some.agrees(len(there)):
        return None
    found = "; ".join(f"{job} {_whereabouts(seen, job)}" for job in some.names)
    return f"{found}; expected {words}: {', '.join(map(str, where)) if isinstance(where, list) else where}"


def _whereabouts(seen: Seen, job: str) -> str:
    nodes = seen.running.get(job, [])
    return f"runs on {', '.join(nodes)}" if nodes else "holds nothing"


def _pending_problems(scene: Scene, seen: Seen, check: Fields) -> Iterator[str]:
    wanted = check.texts("pending")
    for words in wanted:
        yield from _tell(_pending_problem, scene, seen, words)
    if "pending" in check and not wanted and seen.pending:
        yield f"{_names(seen.pending)} wait, expected nobody"


def _pending_problem(scene: Scene, seen: Seen, words: str) -> str | None:
    some = scene.some_jobs(words)
    if some.agrees(sum(name in seen.pending for name in some.names)):
        return None
    return f"waiting are {_names(seen.pending)}; expected {words}"


def _usage_problems(seen: Seen, wanted: Mapping[str, Any]) -> Iterator[str]:
    for queue, amount in wanted.items():
        used: object = seen.usage.get(queue)
        if isinstance(amount, Mapping):
            used = {name: seen.usage_by_type.get(queue, {}).get(name, 0) for name in amount}
        if used is None:
            yield f"there is no queue {queue!r}"
        elif used != amount:
            yield f"usage({queue}) is {used}, expected {amount}"


def _reason_problems(seen: Seen, check: Fields) -> Iterator[str]:
    for job, wanted in check.mapping("reason").items():
        problem = reason_problem(seen.reasons.get(job), wanted)
        yield from [] if problem is None else [f"{job}: {problem}"]
    for job in check.texts("reason_gone"):
        reason = seen.reasons.get(job)
        yield from [] if reason is None else [f"{job} still has the reason {reason.code}"]


def _eta_problems(seen: Seen, wanted: Mapping[str, Any]) -> Iterator[str]:
    for job, time in wanted.items():
        eta = seen.etas.get(job)
        found = None if eta is None or eta.at_ms is None else -(-eta.at_ms // 1000)
        if found != time:
            yield f"the expected start of {job} is {found}, expected {time}"


def _note_problems(scene: Scene, seen: Seen, note: object) -> Iterator[str]:
    """A note is for the reader; what of it is understood has to hold all the same."""
    try:
        if isinstance(note, str) and not holds(scene, seen, note):
            yield f"does not hold: {note}"
    except PhraseError:
        return


def _start_problem(scene: Scene, words: str, time: object) -> str | None:
    some = scene.some_jobs(words)
    starts = {job: scene.history.first_starts.get(job) for job in some.names}
    if some.agrees(sum(start == time for start in starts.values())):
        return None
    found = ", ".join(f"{job} at {start}" for job, start in starts.items())
    return f"first starts: {found}; expected {words} at {time}"


def _counts(scene: Scene, expect: Fields) -> Iterator[str]:
    """Evictions and pods taken, each only where the case says something of it."""
    if "evictions" in expect:
        yield from _eviction_problems(scene, expect.mapping("evictions"))
    if "pods_removed" in expect:
        yield from _count_problems(
            scene, expect.mapping("pods_removed"), scene.history.pods_removed, "pods taken"
        )


def _eviction_problems(scene: Scene, wanted: Mapping[str, Any]) -> Iterator[str]:
    """A gang that was withdrawn because it lost pods may be counted as evicted or not."""
    history = scene.history
    counts = dict(history.evictions)
    for name, number in history.withdrawals.items():
        if wanted.get(name) == counts.get(name, 0) + number:
            counts[name] = counts.get(name, 0) + number
    yield from _count_problems(scene, wanted, counts, "evictions")


def _count_problems(
    scene: Scene, wanted: Mapping[str, Any], counts: Mapping[str, int], of_what: str
) -> Iterator[str]:
    """Counts against the expected ones; jobs that are not named have none."""
    named: set[str] = set()
    for words, number in wanted.items():
        yield from _tell(_count_problem, scene, words, number, counts, of_what)
        named |= set(_named(scene, words))
    for name in sorted(counts.keys() - named):
        if counts[name]:
            yield f"{of_what} of {name}: {counts[name]}; expected 0"


def _count_problem(
    scene: Scene, words: str, number: object, counts: Mapping[str, int], of_what: str
) -> str | None:
    """As many of these jobs as the words say have that count, and the others none."""
    some = scene.some_jobs(words)
    found = {name: counts.get(name, 0) for name in some.names}
    num_fitting = sum(count == number for count in found.values())
    strays = [name for name, count in found.items() if count not in (0, number)]
    if some.agrees(num_fitting) and not strays:
        return None
    counted = ", ".join(f"{name} {count}" for name, count in found.items())
    return f"{of_what}: {counted}; expected {words}: {number}"


def _named(scene: Scene, words: str) -> tuple[str, ...]:
    try:
        return scene.some_jobs(words).names
    except PhraseError:
        return ()


def _always(scene: Scene, sentence: str, *, end: int) -> Iterator[Difference]:
    try:
        problem = always_problem(scene, sentence, end=end)
    except PhraseError as error:
        yield Difference(None, f"not understood: {sentence} ({error})")
    else:
        yield from [] if problem is None else [Difference(*problem)]


def _names(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "nobody"
