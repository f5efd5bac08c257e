"""Judges from the records whether the demo's story really happened. Pure: records in, findings out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from gangline.demo.evidence import Json, Record
from gangline.words import mark, say

MEAN_OF = 5  # losses at either end: one step's loss is noisy


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that had to happen, whether it did, and what was seen."""

    claim: str
    holds: bool
    seen: str


def judge(
    pretraining: Record, guaranteed: Record, urgent: Record, *, last_steps: Mapping[int, int]
) -> tuple[Finding, ...]:
    """Every claim that the demo makes. `last_steps`: attempt of the first job to the last step seen of it."""
    return (
        *(_succeeded(record) for record in (pretraining, guaranteed, urgent)),
        _borrowed_everything(pretraining),
        _told(pretraining, "reclaimed", mark("{name} was told to give back what it had borrowed")),
        _told(pretraining, "preempted", mark("{name} was told to leave for the urgent job")),
        _gave_way(pretraining, guaranteed, 0),
        _gave_way(pretraining, urgent, 1),
        _resumed_where_it_left(pretraining, last_steps),
        _lost_nothing(pretraining),
        *(_every_step_once(record) for record in (pretraining, guaranteed, urgent)),
        *(_loss_fell(record) for record in (pretraining, guaranteed, urgent)),
    )


def mean_losses(record: Record) -> tuple[float, float] | None:
    """The mean of the first and of the last few losses; None without any."""
    losses = [point.loss for point in record.losses]
    if not losses:
        return None
    return _mean(losses[:MEAN_OF]), _mean(losses[-MEAN_OF:])


def _succeeded(record: Record) -> Finding:
    return Finding(
        say("{name} succeeded", name=record.job["name"]),
        record.job["state"] == "succeeded",
        str(record.job["state"]),
    )


def _borrowed_everything(record: Record) -> Finding:
    placement = record.attempts[0]["placement"] if record.attempts else []
    nodes, slots = {slot["node"] for slot in placement}, sum(len(slot["devices"]) for slot in placement)
    claim = say("{name} first ran on 4 nodes and 16 slots", name=record.job["name"])
    return Finding(
        claim,
        (len(nodes), slots) == (4, 16),
        say("{nodes} nodes, {slots} slots", nodes=len(nodes), slots=slots),
    )


def _told(record: Record, cause: str, claim: str) -> Finding:
    told = record.stops(cause)
    return Finding(
        say(claim, name=record.job["name"]),
        len(told) == 1,
        say("{count} stop orders ({cause})", count=len(told), cause=cause),
    )


def _gave_way(left: Record, came: Record, number: int) -> Finding:
    """The newcomer started when that attempt had ended, and the next attempt when the newcomer had."""
    claim = say("{name} ran while {other} was away", name=came.job["name"], other=left.job["name"])
    if len(left.attempts) <= number + 1 or not came.attempts:
        return Finding(claim, False, say("{a} and {b} attempts", a=len(left.attempts), b=len(came.attempts)))
    times = [
        left.attempts[number]["ended_at"],
        came.attempts[0]["running_at"],
        came.attempts[-1]["ended_at"],
        left.attempts[number + 1]["running_at"],
    ]
    return Finding(
        claim,
        None not in times and times == sorted(times, key=_time),
        " < ".join(_clock(time) for time in times),
    )


def _resumed_where_it_left(record: Record, last_steps: Mapping[int, int]) -> Finding:
    """Each attempt began at the very last step of the one before, which that one had saved."""
    resumed = [attempt["resumed_step"] for attempt in record.attempts[1:]]
    left = [last_steps.get(attempt["number"]) for attempt in record.attempts[:-1]]
    holds = len(resumed) == 2 and resumed == left and set(resumed) <= record.saved_steps()
    claim = say("{name} saved on leaving and resumed from there", name=record.job["name"])
    return Finding(claim, holds, say("left at {left}, resumed at {resumed}", left=left, resumed=resumed))


def _lost_nothing(record: Record) -> Finding:
    """The steps up to a saved one were done before that attempt ended, later ones after the next had begun:
    no step was trained and thrown away, none was done twice.
    """
    wrong = [
        point.step
        for before, after in zip(record.attempts, record.attempts[1:], strict=False)
        for point in record.losses
        if not _is_in_its_attempt(point.step, point.at, before, after)
    ]
    holds = len(record.attempts) > 1 and not wrong
    return Finding(
        say("{name} did no step twice", name=record.job["name"]),
        holds,
        say("steps in the wrong attempt: {steps}", steps=wrong[:10]),
    )


def _is_in_its_attempt(step: int, at: datetime, before: Json, after: Json) -> bool:
    if None in (after["resumed_step"], before["ended_at"], after["ordered_at"]):
        return False
    if step <= after["resumed_step"]:
        return at <= _time(before["ended_at"])
    return at >= _time(after["ordered_at"])


def _every_step_once(record: Record) -> Finding:
    steps = [point.step for point in record.losses]
    expected = list(range(1, (record.job["total_steps"] or 0) + 1))
    holds = bool(steps) and steps == expected
    return Finding(
        say("{name} reported every step once", name=record.job["name"]),
        holds,
        say("{steps} of {total}", steps=_ranges(steps), total=len(expected)),
    )


def _loss_fell(record: Record) -> Finding:
    means = mean_losses(record)
    seen = (
        say("no loss") if means is None else say("{first:.4f} to {last:.4f}", first=means[0], last=means[1])
    )
    return Finding(
        say("the loss of {name} fell", name=record.job["name"]),
        means is not None and means[1] < means[0],
        seen,
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _clock(text: str | None) -> str:
    return "?" if text is None else _time(text).astimezone().strftime("%H:%M:%S.%f")[:-4]


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _ranges(steps: Iterable[int]) -> str:
    """Steps in short: 1-60, 62-100."""
    ranges: list[list[int]] = []
    for step in steps:
        if ranges and step == ranges[-1][1] + 1:
            ranges[-1][1] = step
        else:
            ranges.append([step, step])
    return ", ".join(f"{first}-{last}" for first, last in ranges[:10]) or say("none")
