"""The Pollux workloads: profiles as measured, how jobs progress, the published results, and the engine."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from scheduling.simulation.pollux import TRACE
from scheduling.simulation.pollux.batches import Batch, candidates, split
from scheduling.simulation.pollux.engine import EngineScheduler
from scheduling.simulation.pollux.estimates import Estimates, fit
from scheduling.simulation.pollux.profiles import Application, applications
from scheduling.simulation.pollux.training import TrainingJob, compact, shape_of
from scheduling.simulation.pollux.workload import load_jobs
from scheduling.simulation.report import Row, table
from scheduling.simulation.rounds import Allocation, Cluster, free_devices, simulate
from scheduling.simulation.traces import ReplayOptions

TRACES = Path(__file__).parents[4] / "shared" / "traces"
POLLUX = TRACES / "pollux"


@pytest.fixture(scope="module")
def profiles() -> Mapping[str, Application]:
    """The six applications."""
    return applications(POLLUX / "profiles")


def job(
    profiles: Mapping[str, Application],
    application: str = "cifar10",
    *,
    batch: int | None = 512,
    wanted: int = 4,
) -> TrainingJob:
    """One job, submitted at 0."""
    return TrainingJob("one", profiles[application], submitted_at_s=0, num_wanted=wanted, fixed_batch=batch)


class Constant:
    """Gives each job the same devices, or none, at each round."""

    def __init__(self, *allocations: Allocation) -> None:
        self._allocations = list(allocations)

    def allocate(
        self, jobs: Sequence[TrainingJob], *, cluster: Cluster, now_s: int
    ) -> Mapping[str, Allocation]:
        """The next one; the last one for ever."""
        allocation = self._allocations.pop(0) if len(self._allocations) > 1 else self._allocations[0]
        return {each.name: allocation for each in jobs}


class TestProfiles:
    """Step times and gradients between the points measured."""

    def test_a_measured_point_is_given_back(self, profiles: Mapping[str, Application]) -> None:
        """The first row of cifar10's placements."""
        assert profiles["cifar10"].step_times((1,), 32) == pytest.approx(
            (0.0427886962890625, 0.000499536), rel=1e-6
        )

    def test_a_placement_may_be_turned(self, profiles: Mapping[str, Application]) -> None:
        """Which node comes first makes no difference."""
        times = {profiles["bert"].step_times(shape, 8) for shape in [(1, 2, 4), (2, 4, 1), (4, 1, 2)]}
        assert len(times) == 1

    def test_between_measured_numbers_of_nodes_it_is_between_their_times(
        self, profiles: Mapping[str, Application]
    ) -> None:
        """Five full nodes lie half way between four and six."""
        four, five, six = (profiles["imagenet"].step_times((4,) * nodes, 100)[0] for nodes in (4, 5, 6))
        assert five == pytest.approx((four + six) / 2)

    def test_beyond_the_measured_batches_the_line_goes_on(self, profiles: Mapping[str, Application]) -> None:
        """More samples take more time, also where nobody measured."""
        application = profiles["deepspeech2"]
        assert application.step_times((4, 4, 4), 80)[0] > application.step_times((4, 4, 4), 57)[0]

    def test_a_larger_batch_gains_more_but_less_than_its_size(
        self, profiles: Mapping[str, Application]
    ) -> None:
        """Statistical efficiency falls with the batch size."""
        application = profiles["cifar10"]
        assert application.gain(128, 10) == 1.0
        assert 1.0 < application.gain(1024, 10) < 8.0

    def test_a_batch_that_was_never_validated_is_refused(self, profiles: Mapping[str, Application]) -> None:
        """Nothing is known about its gradients."""
        with pytest.raises(ValueError, match="8192"):
            profiles["cifar10"].gradient(8192, 0)


class TestBatches:
    """How a batch is split."""

    def test_what_does_not_fit_a_device_is_added_up_over_several_passes(
        self, profiles: Mapping[str, Application]
    ) -> None:
        """yolov3 holds eight samples per device."""
        assert split(profiles["yolov3"], 64, 4) == Batch(local=8, extra_passes=1)

    def test_one_device_takes_two_passes_to_measure_noise(self, profiles: Mapping[str, Application]) -> None:
        """Only above the least batch."""
        assert split(profiles["cifar10"], 128, 1) == Batch(local=128)
        assert split(profiles["cifar10"], 256, 1) == Batch(local=128, extra_passes=1)

    @pytest.mark.parametrize("num_devices", [1, 3, 4, 8, 64])
    def test_every_candidate_is_within_what_was_validated(
        self, profiles: Mapping[str, Application], num_devices: int
    ) -> None:
        """Neither below the least batch nor above the most."""
        for application in profiles.values():
            if num_devices * application.least_local_batch <= application.most_batch:
                local, extra = candidates(application, num_devices)
                total = num_devices * local * (extra + 1)
                assert total.min() >= application.least_batch
                assert total.max() <= application.most_batch

    def test_too_many_devices_for_a_batch_are_refused(self, profiles: Mapping[str, Application]) -> None:
        """bert's 384 samples do not reach 100 devices."""
        with pytest.raises(ValueError, match="bert"):
            candidates(profiles["bert"], 100)


class TestTraining:
    """How one job progresses."""

    def test_a_change_of_devices_costs_thirty_seconds(self, profiles: Mapping[str, Application]) -> None:
        """One restart more makes the job end that much later."""
        ends = []
        for allocations in [((0, 0, 0, 0),), ((0, 0, 0, 0), (0, 0, 0, 0), (1, 1, 1, 1))]:
            one = job(profiles)
            simulate([one], Constant(*allocations), cluster=Cluster())
            ends.append(one.completed_at_s or 0)
        assert ends[1] - ends[0] == pytest.approx(30, abs=2)

    def test_it_ends_after_its_ideal_time_and_one_start(self, profiles: Mapping[str, Application]) -> None:
        """A round until it is seen, a start, and the epochs, each rounded to a second."""
        one = job(profiles)
        simulate([one], Constant((0, 0, 0, 0)), cluster=Cluster())
        assert one.completed_at_s == pytest.approx(60 + 30 + one.ideal_s((4,)), abs=50)
        assert one.num_restarts == 0
        assert one.paused_device_s == 4 * 30

    def test_an_adapting_job_ends_sooner_than_with_the_least_batch(
        self, profiles: Mapping[str, Application]
    ) -> None:
        """On eight devices a larger batch is worth it."""
        ends = []
        for batch in (256, None):
            one = job(profiles, batch=batch)
            simulate([one], Constant((0, 0, 0, 0, 1, 1, 1, 1)), cluster=Cluster())
            ends.append(one.completed_at_s or 0)
        assert ends[1] < 0.8 * ends[0]

    def test_shapes_are_runs_of_equal_nodes(self) -> None:
        """As the artifact counts placements."""
        assert shape_of((7, 7, 3)) == (2, 1)
        assert shape_of(()) == ()
        assert compact(6, 4) == (4, 2)


class TestEstimates:
    """What a job learns about itself."""

    def test_unmeasured_links_are_believed_to_be_free(self) -> None:
        """One device alone tells nothing about synchronising."""
        model = fit({(1, 1, 32): (0.1, 0.0)})
        assert model.step_s(1, 4, np.array([32.0])) == pytest.approx([0.1])

    def test_what_was_measured_is_predicted(self, profiles: Mapping[str, Application]) -> None:
        """After four sizes the model is within a fifth of every one of them."""
        estimates, application = Estimates(), profiles["imagenet"]
        shapes = [(1,), (4,), (4, 4), (4, 4, 4, 4)]
        for shape in shapes:
            estimates.measure(len(shape), sum(shape), 100, application.step_times(shape, 100))
        assert estimates.model is not None
        for shape in shapes:
            predicted = estimates.model.step_s(len(shape), sum(shape), np.array([100.0]))[0]
            assert predicted == pytest.approx(application.step_times(shape, 100)[0], rel=0.2)

    def test_the_same_again_teaches_nothing(self) -> None:
        """The version counts what is new."""
        estimates = Estimates()
        for _ in range(3):
            estimates.measure(1, 1, 32, (0.1, 0.0))
        assert (estimates.version, estimates.most_devices) == (1, 1)


class TestPublished:
    """The artifact's results on workload-6, with its rules and an interpolation of our own."""

    @pytest.mark.parametrize(
        ("policy", "published_s", "within"),
        [("tiresias", 3469.7, 0.02), ("fifo", 15050.8, 0.02), ("fifo_backfill", 6261.8, 0.02)],
    )
    def test_the_published_average_is_reached(self, policy: str, published_s: float, within: float) -> None:
        """Tiresias as in the artifact's README; the others as measured with its simulator."""
        assert _average_s(policy) == pytest.approx(published_s, rel=within)

    def test_oracles_rank_as_published(self) -> None:
        """Preemption helps, and both are within a tenth: one long job's fate decides the rest."""
        shortest, remaining = _average_s("sjf_oracle_nonpreemptive"), _average_s("srtf_oracle_preemptive")
        assert shortest == pytest.approx(4451.3, rel=0.1)
        assert remaining == pytest.approx(2907.9, rel=0.02)


class TestEngine:
    """`decide` as the policy."""

    @pytest.mark.parametrize("declares", [False, True])
    def test_the_first_jobs_end_sooner_than_under_tiresias(
        self, profiles: Mapping[str, Application], declares: bool
    ) -> None:
        """Twelve jobs of workload-6 at their own batch sizes."""
        jobs = load_jobs(POLLUX / "workloads" / "workload-6.csv", profiles, adapts=False)[:12]
        simulate(jobs, EngineScheduler(declares=declares), cluster=Cluster())
        average_s = sum((each.completed_at_s or 0) - each.submitted_at_s for each in jobs) / len(jobs)
        assert average_s < _average_s("tiresias", max_jobs=12)

    def test_no_job_runs_on_more_than_twice_what_it_has_measured(
        self, profiles: Mapping[str, Application]
    ) -> None:
        """Speeds are learned online: nobody knows what was never tried."""
        one = job(profiles, "imagenet", batch=None)
        scheduler, sizes = EngineScheduler(declares=False), [0]
        for now_s in range(0, 3600, 60):
            one.advance(60)
            allocation = scheduler.allocate([one], cluster=Cluster(), now_s=now_s)["one"]
            if allocation != one.allocation:
                one.reallocate(allocation)
            sizes.append(len(allocation))
        assert max(later / earlier for earlier, later in itertools.pairwise(sizes[1:])) <= 2
        assert sizes[-1] == 64

    def test_a_single_device_job_stays_on_one(self, profiles: Mapping[str, Application]) -> None:
        """ncf, as in the artifact."""
        one = job(profiles, "ncf", batch=32768, wanted=1)
        allocation = EngineScheduler(declares=True).allocate([one], cluster=Cluster(), now_s=60)["one"]
        assert len(allocation) == 1


def test_devices_given_away_twice_are_noticed(profiles: Mapping[str, Application]) -> None:
    """A policy's mistake ends the simulation."""
    assert free_devices([(0, 0, 1)], Cluster(num_nodes=2, devices_per_node=4)) == [2, 3]
    with pytest.raises(ValueError, match="twice"):
        simulate([job(profiles)], Constant((0,) * 5), cluster=Cluster())


def test_failures_are_refused() -> None:
    """They are another experiment."""
    with pytest.raises(ValueError, match="failures"):
        TRACE.run(TRACES, ReplayOptions(policy="fifo", failures_per_device_day=0.1))


def test_the_table_tells_which_bars_are_met() -> None:
    """A figure without a bar is neither met nor missed."""
    row = Row(work="w", policy="p", metric="average JCT", value=3000.0, unit="s")
    assert [row.held_to(at_most=bar).met for bar in (2999.0, 3000.0)] == [False, True]
    assert [row.held_to(at_least=bar).met for bar in (3000.0, 3001.0)] == [True, False]
    lines = table([row, row.held_to(at_most=2999.0)]).splitlines()
    assert [line.split()[-1] for line in lines] == ["met", "s", "NO"]


def _average_s(policy: str, *, max_jobs: int | None = None) -> float:
    result = TRACE.run(TRACES, ReplayOptions(policy=policy, workload="workload-6", max_jobs=max_jobs))
    metrics = result["metrics"]
    assert isinstance(metrics, dict)
    return float(metrics["jct_s"]["avg"])
