"""Numbers that jobs report, and the history that survives their restarts."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from telemetry.models import MetricPoint
from telemetry.selectors import first_and_last, latest, latest_values, series
from telemetry.services import record_points
from tests.accounts.builders import NOW

pytestmark = pytest.mark.django_db
SECOND = timedelta(seconds=1)


class History:
    """One job, whose attempts report losses."""

    def __init__(self) -> None:
        self.job_id = uuid4()
        self.clock = NOW

    def attempt(self, *losses: tuple[int, float]) -> UUID:
        """A new attempt that reports these steps, a second apart."""
        attempt_id = uuid4()
        for step, loss in losses:
            self.report(attempt_id, step, {"loss": loss})
        return attempt_id

    def report(self, attempt_id: UUID, step: int, values: dict[str, Any], *, rank: int = 0) -> int:
        """One point."""
        self.clock += SECOND
        return record_points(
            job_id=self.job_id,
            attempt_id=attempt_id,
            rank=rank,
            points=[(step, self.clock, values)],
            now=self.clock,
        )

    def losses(self) -> list[tuple[Any, Any]]:
        """Step and loss of the surviving history."""
        return [(step, value) for step, value, _at in series(self.job_id, names=["loss"])["loss"]]


@pytest.fixture
def history() -> History:
    """An empty one."""
    return History()


def test_points_come_back_in_step_order_with_their_times(history: History) -> None:
    """In milliseconds."""
    history.attempt((1, 5.0), (2, 4.5))
    assert series(history.job_id, names=["loss"]) == {
        "loss": [
            [1, 5.0, int((NOW + SECOND).timestamp() * 1000)],
            [2, 4.5, int((NOW + 2 * SECOND).timestamp() * 1000)],
        ]
    }


def test_a_resumed_attempt_replaces_the_steps_that_it_goes_over_again(history: History) -> None:
    """What the first one did beyond its checkpoint did not survive."""
    history.attempt((1, 5.0), (2, 4.0), (3, 3.0), (4, 2.0))
    history.attempt((3, 3.1), (5, 1.0))
    assert history.losses() == [(1, 5.0), (2, 4.0), (3, 3.1), (5, 1.0)]


def test_a_start_from_the_beginning_replaces_everything(history: History) -> None:
    """However far the earlier attempts came."""
    history.attempt((1, 5.0), (9, 1.0))
    history.attempt((5, 2.0))
    history.attempt((1, 4.0))
    assert history.losses() == [(1, 4.0)]


def test_an_attempt_without_a_point_replaces_nothing(history: History) -> None:
    """It did no step."""
    history.attempt((1, 5.0), (2, 4.0))
    history.attempt()
    assert history.losses() == [(1, 5.0), (2, 4.0)]


def test_points_that_arrive_late_are_still_the_earlier_attempts(history: History) -> None:
    """They were spooled while the portal was away; their own times count."""
    first = uuid4()
    history.report(first, 1, {"loss": 5.0})
    history.attempt((2, 3.9))
    late = [(2, NOW + SECOND, {"loss": 4.0}), (3, NOW + 2 * SECOND, {"loss": 3.0})]
    record_points(job_id=history.job_id, attempt_id=first, rank=0, points=late, now=history.clock)
    assert history.losses() == [(1, 5.0), (2, 3.9)]


def test_a_repeat_changes_nothing_and_a_later_value_of_the_step_joins(history: History) -> None:
    """Delivery is at least once; a step's throughput may come after its loss."""
    attempt_id = history.attempt((1, 5.0), (1, 5.0))
    history.report(attempt_id, 1, {"mfu": 0.4})
    assert MetricPoint.objects.get().values == {"loss": 5.0, "mfu": 0.4}


def test_a_diverged_loss_is_a_gap_and_no_error(history: History) -> None:
    """JSON knows no NaN."""
    history.attempt((1, 5.0), (2, float("nan")), (3, float("inf")), (4, 4.0))
    assert history.losses() == [(1, 5.0), (2, None), (3, None), (4, 4.0)]


@pytest.mark.parametrize(
    "values",
    [
        {"loss": "5"},
        {"loss": True},
        {"loss": [1]},
        {"": 1},
        {"x" * 61: 1},
        {"a\nb": 1},
        {"a\0": 1},
        {},
        [1],
        "loss",
        None,
    ],
)
def test_what_is_no_number_is_left_out(history: History, values: Any) -> None:
    """User code wrote it: nothing is believed, nothing breaks."""
    assert history.report(uuid4(), 1, values) == 0
    assert not MetricPoint.objects.exists()


@pytest.mark.parametrize("step", [-1, 2**63, 1.5, "1", True, None])
def test_what_is_no_step_is_left_out(history: History, step: Any) -> None:
    """The same."""
    assert history.report(uuid4(), step, {"loss": 1.0}) == 0


def test_the_usable_part_of_a_point_is_kept(history: History) -> None:
    """Huge integers become gaps; at most 64 names."""
    values = {"loss": 1, "bad": "x", "huge": 10**400, **{f"n{number}": number for number in range(100)}}
    assert history.report(uuid4(), 1, values) == 1
    kept = MetricPoint.objects.get().values
    assert (kept["loss"], kept["huge"], len(kept)) == (1.0, None, 64)


def test_a_clock_that_is_ahead_cannot_put_a_point_into_the_future(history: History) -> None:
    """It would win over every later attempt."""
    record_points(
        job_id=history.job_id,
        attempt_id=uuid4(),
        rank=0,
        points=[(1, NOW + timedelta(days=1), {"loss": 1.0})],
        now=NOW,
    )
    assert MetricPoint.objects.get().at == NOW


def test_latest_joins_what_recent_steps_report(history: History) -> None:
    """Not every step reports every number."""
    attempt_id = history.attempt((1, 5.0))
    history.report(attempt_id, 2, {"loss": 4.0, "mfu": 0.3})
    history.report(attempt_id, 3, {"loss": 3.0})
    assert latest(history.job_id) == {"loss": 3.0, "mfu": 0.3, "step": 3}
    assert latest_values(history.job_id) == {"loss": 3.0, "mfu": 0.3}


def test_before_the_first_point_there_is_nothing(history: History) -> None:
    """And no error."""
    assert latest(history.job_id) == {}
    assert series(history.job_id, names=None) == {}
    assert series(history.job_id, names=["loss"]) == {"loss": []}
    assert first_and_last(history.job_id, "loss") == (None, None)


def test_first_and_last_are_of_the_surviving_history(history: History) -> None:
    """As the demo's table shows them."""
    history.attempt((1, 5.0), (2, 4.0), (3, 9.0))
    history.attempt((3, 3.0))
    assert first_and_last(history.job_id, "loss") == (5.0, 3.0)


def test_ranks_are_kept_apart(history: History) -> None:
    """Rank 0 speaks unless another is asked for."""
    attempt_id = history.attempt((1, 5.0))
    history.report(attempt_id, 1, {"loss": 6.0}, rank=1)
    assert history.losses() == [(1, 5.0)]
    other = series(history.job_id, names=["loss"], rank=1)["loss"]
    assert [value for _step, value, _at in other] == [6.0]


def test_many_points_are_thinned_out(history: History) -> None:
    """To what was asked for, ends included."""
    points = [(step, NOW, {"loss": float(step)}) for step in range(5000)]
    record_points(job_id=history.job_id, attempt_id=uuid4(), rank=0, points=points, now=NOW)
    thinned = series(history.job_id, names=["loss"], max_points=100)["loss"]
    assert len(thinned) <= 100
    assert (thinned[0][0], thinned[-1][0]) == (0, 4999)
