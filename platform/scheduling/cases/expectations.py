"""What is expected of a case against what was seen: every difference, with its moment."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from scheduling.cases.document import Case
from scheduling.cases.fields import CaseError, Fields
from scheduling.cases.groups import PhraseError, Scene
from scheduling.cases.history import History, Seen
from scheduling.cases.meanings import reason_problem
from scheduling.cases.places import runs_there
from scheduling.cases.sentences import always_problem, holds
from scheduling.model import Eta


@dataclass(frozen=True, slots=True)
class Difference:
    """What differed, and at which second (None: over the whole case)."""

    t: int | None
    what: str


def last_moment(case: Case) -> int:
    """Until when the case has to be run: the last second that it speaks of."""
    checks = [check for check in case.expect.get("checks", []) if isinstance(check, Mapping)]
    starts = case.expect.get("starts", {})
    times = [check.get("t") for check in checks] + list(
        starts.values() if isinstance(starts, Mapping) else ()
    )
    return max(
        [time for time in times if isinstance(time, int)] + [event.t for event in case.events], default=0
    )


def differences(case: Case, history: History) -> Iterator[Difference]:
    """All of them, those over the whole case last."""
    scene, expect = Scene(case, history), Fields(case.expect, where="expect")
    yield from (Difference(t, what) for t, what in history.problems)
    for number, row in enumerate(expect.rows("checks")):
        yield from _of_check(scene, Fields(row, where=f"expect.checks[{number}]"))
    end = last_moment(case)
    yield from _whole(scene, expect, end=end)
    expect.finish()


def _of_check(scene: Scene, check: Fields) -> Iterator[Difference]:
    t = check.whole("t")
    seen = scene.history.at(t)
    problems = [
        *_running_problems(scene, seen, check.mapping("running")),
        *_pending_problems(scene, seen, check),
        *_usage_problems(seen, check.mapping("usage")),
        *_reason_problems(seen, check),
        *_eta_problems(seen, check.mapping("eta")),
        *_note_problems(scene, seen, check.get("note")),
    ]
    check.finish()
    yield from (Difference(t, what) for what in problems)


def _running_problems(scene: Scene, seen: Seen, wanted: Mapping[str, Any]) -> Iterator[str]:
    for words, where in wanted.items():
        for job in _jobs(scene, words):
            nodes = seen.running.get(job, [])
            found = f"runs on {', '.join(nodes)}" if nodes else "holds nothing"
            yield from _unless(
                lambda job=job, where=where: runs_there(scene, seen, job, where),  # type: ignore[misc]  # bound now
                f"{job} {found}, expected {_in_words(where)}",
            )


def _pending_problems(scene: Scene, seen: Seen, check: Fields) -> Iterator[str]:
    wanted = check.texts("pending")
    for words in wanted:
        yield from _unless(
            lambda words=words: _all_wait(scene, seen, words),  # type: ignore[misc]  # bound now
            f"not all of {words!r} wait; waiting: {_names(seen.pending)}",
        )
    if "pending" in check and not wanted and seen.pending:
        yield f"{_names(seen.pending)} wait, expected nobody"


def _all_wait(scene: Scene, seen: Seen, words: str) -> bool:
    some = scene.some_jobs(words)
    return some.agrees(sum(name in seen.pending for name in some.names))


def _usage_problems(seen: Seen, wanted: Mapping[str, Any]) -> Iterator[str]:
    for queue, amount in wanted.items():
        if queue not in seen.usage:
            yield f"there is no queue {queue!r}"
        elif seen.usage[queue] != amount:
            yield f"usage({queue}) is {seen.usage[queue]}, expected {amount}"


def _reason_problems(seen: Seen, check: Fields) -> Iterator[str]:
    for job, wanted in check.mapping("reason").items():
        problem = reason_problem(seen.reasons.get(job), wanted)
        yield from [] if problem is None else [f"{job}: {problem}"]
    for job in check.texts("reason_gone"):
        reason = seen.reasons.get(job)
        yield from [] if reason is None else [f"{job} still has the reason {reason.code}"]


def _eta_problems(seen: Seen, wanted: Mapping[str, Any]) -> Iterator[str]:
    for job, time in wanted.items():
        found = _seconds(seen.etas.get(job))
        if found != time:
            yield f"the expected start of {job} is {found}, expected {time}"


def _seconds(eta: Eta | None) -> int | None:
    return None if eta is None or eta.at_ms is None else -(-eta.at_ms // 1000)


def _note_problems(scene: Scene, seen: Seen, note: object) -> Iterator[str]:
    """A note is for the reader; what of it is understood has to hold all the same."""
    try:
        if isinstance(note, str) and not holds(scene, seen, note):
            yield f"does not hold: {note}"
    except PhraseError:
        return


def _whole(scene: Scene, expect: Fields, *, end: int) -> Iterator[Difference]:
    history = scene.history
    for words, time in expect.mapping("starts").items():
        found = {job: history.first_starts.get(job) for job in _jobs(scene, words)}
        yield from (
            Difference(time, f"{job} first starts at {start}, expected {time}")
            for job, start in found.items()
            if start != time
        )
    if "evictions" in expect:
        yield from _whole_case(_eviction_problems(scene, expect.mapping("evictions")))
    if "pods_removed" in expect:
        yield from _whole_case(_removal_problems(scene, expect.mapping("pods_removed")))
    for sentence in expect.texts("always"):
        yield from _always(scene, sentence, end=end)


def _whole_case(problems: Iterable[str]) -> Iterator[Difference]:
    yield from (Difference(None, what) for what in problems)


def _always(scene: Scene, sentence: str, *, end: int) -> Iterator[Difference]:
    try:
        problem = always_problem(scene, sentence, end=end)
    except PhraseError as error:
        yield Difference(None, f"not understood: {sentence!r} ({error})")
    else:
        yield from [] if problem is None else [Difference(*problem)]


def _eviction_problems(scene: Scene, wanted: Mapping[str, Any]) -> Iterator[str]:
    """A gang withdrawn because it lost pods may be counted or not."""
    counts, history = scene.history.evictions, scene.history
    named: set[str] = set()
    for words, number in wanted.items():
        some = _some(scene, words)
        if isinstance(some, str):
            yield some
            continue
        named |= set(some.names)
        rest = {name: counts[name] for name in some.names if counts[name]}
        fitting = [name for name in some.names if number in _possible(history, name)]
        if not some.agrees(len(fitting)) or rest.keys() - fitting:
            yield f"evictions of {words!r}: {rest or 'none'}, expected {number}"
    unnamed = {name: number for name, number in counts.items() if number and name not in named}
    yield from (f"{name} was evicted {number} times, expected 0" for name, number in sorted(unnamed.items()))


def _possible(history: History, name: str) -> set[int]:
    return {history.evictions[name], history.evictions[name] + history.withdrawals[name]}


def _removal_problems(scene: Scene, wanted: Mapping[str, Any]) -> Iterator[str]:
    removed = {name: number for name, number in scene.history.pods_removed.items() if number}
    expected: dict[str, Any] = {}
    for words, number in wanted.items():
        expected |= dict.fromkeys(_jobs(scene, words), number)
    for job in sorted(removed.keys() | expected.keys()):
        if removed.get(job, 0) != expected.get(job, 0):
            yield f"{removed.get(job, 0)} pods of {job} were taken, expected {expected.get(job, 0)}"


def _some(scene: Scene, words: str) -> Any:
    try:
        return scene.some_jobs(words)
    except PhraseError as error:
        return f"not understood: {words!r} ({error})"


def _jobs(scene: Scene, words: str) -> tuple[str, ...]:
    """The jobs named, or the words themselves as the name of a job that there is not."""
    try:
        return scene.job_names(words)
    except PhraseError as error:
        raise CaseError("expect", f"not understood: {words!r}: no job is called so") from error


def _unless(test: Callable[[], bool], problem: str) -> Iterator[str]:
    try:
        if not test():
            yield problem
    except PhraseError as error:
        yield f"not understood: {error}"


def _names(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "nobody"


def _in_words(where: object) -> str:
    return ", ".join(map(str, where)) if isinstance(where, list) else str(where)
