"""How many workers each elastic job should have."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.marginal import Wish, target_sizes, value

LINEAR = Wish(sizes=(1, 2, 3, 4), speeds=(1.0, 2.0, 3.0, 4.0), weight=1.0, devices=1)
FLAT = Wish(sizes=(1, 2, 3, 4), speeds=(1.0, 1.1, 1.15, 1.2), weight=1.0, devices=1)


def running(wish: Wish, size: int, *, change_cost: float = 0.0) -> Wish:
    """The same job, running at this size."""
    return Wish(wish.sizes, wish.speeds, wish.weight, wish.devices, current=size, change_cost=change_cost)


@st.composite
def wishes(draw: st.DrawFn) -> Wish:
    """A job whose speed never falls with its size."""
    sizes = sorted(draw(st.sets(st.integers(1, 6), min_size=1, max_size=4)))
    speeds = list(itertools.accumulate(draw(st.floats(0.1, 4.0)) for _ in sizes))
    return Wish(
        sizes=tuple(sizes),
        speeds=tuple(speeds),
        weight=draw(st.floats(0.1, 10.0)),
        devices=draw(st.sampled_from([1, 1, 2])),
        current=draw(st.sampled_from([0, *sizes])),
        change_cost=draw(st.sampled_from([0.0, 0.3, 2.0])),
    )


def test_equal_jobs_share_alike() -> None:
    """Two jobs that scale alike get half of the devices each."""
    assert target_sizes([LINEAR, LINEAR], 4) == [2, 2]


def test_devices_go_to_whom_they_are_worth_more() -> None:
    """Who gains nothing from a second device leaves it to who does."""
    assert target_sizes([LINEAR, FLAT], 4) == [3, 1]


def test_everybody_gets_one_device_before_somebody_gets_two() -> None:
    """Starting is worth more than the second device of a job of equal weight is to it per device."""
    assert target_sizes([LINEAR] * 4, 4) == [1, 1, 1, 1]


def test_a_heavier_job_gets_more() -> None:
    """The one with little left to do counts more."""
    heavy = Wish(LINEAR.sizes, LINEAR.speeds, weight=4.0, devices=1)
    assert target_sizes([running(heavy, 1), running(LINEAR, 1)], 5) == [4, 1]


def test_a_change_has_to_be_worth_its_restart() -> None:
    """A gain that a restart eats up is left alone, a larger one is not."""
    assert target_sizes([running(FLAT, 1, change_cost=0.5)], 4) == [1]
    assert target_sizes([running(LINEAR, 1, change_cost=0.5)], 4) == [4]


def test_a_running_job_keeps_its_least_size() -> None:
    """However heavy the others are, nobody who runs is sent away."""
    heavy = Wish(LINEAR.sizes, LINEAR.speeds, weight=1000.0, devices=1)
    assert target_sizes([running(LINEAR, 4), heavy], 4) == [1, 3]


def test_what_does_not_fit_leaves_the_rest_to_others() -> None:
    """A job that needs more than is left is passed over."""
    large = Wish(sizes=(4,), speeds=(4.0,), weight=9.0, devices=1)
    assert target_sizes([large, LINEAR], 3) == [0, 3]


@given(jobs=st.lists(wishes(), min_size=1, max_size=5), capacity=st.integers(0, 20))
@settings(max_examples=300, deadline=None)
def test_targets_fit_and_are_allowed_sizes(jobs: list[Wish], capacity: int) -> None:
    """Sizes come from the wishes, running jobs keep some, and what is given fits where what runs does."""
    sizes = target_sizes(jobs, capacity)
    for job, size in zip(jobs, sizes, strict=True):
        assert size in job.sizes or (size == 0 and job.current == 0)
    least = sum(job.sizes[0] * job.devices for job in jobs if job.current)
    assert sum(size * job.devices for job, size in zip(jobs, sizes, strict=True)) <= max(capacity, least)


@given(jobs=st.lists(wishes(), min_size=1, max_size=4), spare=st.integers(0, 8))
@settings(max_examples=300, deadline=None)
def test_what_is_found_is_never_worse_than_what_is(jobs: list[Wish], spare: int) -> None:
    """In the sum of values, restarts counted."""
    capacity = sum(job.current * job.devices for job in jobs) + spare
    sizes = target_sizes(jobs, capacity)
    before = sum(value(job, job.current) for job in jobs)
    assert sum(value(job, size) for job, size in zip(jobs, sizes, strict=True)) >= before


@given(jobs=st.lists(wishes(), min_size=1, max_size=3), capacity=st.integers(0, 12))
@settings(max_examples=200, deadline=None)
def test_devices_of_one_size_are_shared_as_well_as_can_be(jobs: list[Wish], capacity: int) -> None:
    """Against brute force: what is lost is at most the last step that did not fit."""
    jobs = [Wish(job.sizes, job.speeds, job.weight, 1) for job in jobs]
    sizes = target_sizes(jobs, capacity)
    choices = itertools.product(*((0, *job.sizes) for job in jobs))
    best = max(
        sum(value(job, size) for job, size in zip(jobs, choice, strict=True))
        for choice in choices
        if sum(choice) <= capacity
    )
    found = sum(value(job, size) for job, size in zip(jobs, sizes, strict=True))
    largest_step = max(value(job, job.sizes[-1]) for job in jobs)
    assert best - found <= max(largest_step, *(job.weight for job in jobs)) + 1e-9
