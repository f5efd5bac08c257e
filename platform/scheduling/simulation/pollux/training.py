"""A training job as simulated: how it progresses on what it holds, and what it measures meanwhile.

The rules are those of the Pollux artifact's simulator (petuum/adaptdl, branch osdi21-artifact, Apache-2.0): a
change of devices costs a fixed pause; an epoch's end is rounded to a whole second; the job ends with its last
epoch; a batch too large for a device is accumulated over several steps.
"""

from collections.abc import Sequence

from scheduling.simulation.pollux.batches import Batch, least, split
from scheduling.simulation.pollux.estimates import Estimates
from scheduling.simulation.pollux.goodput import Outlook
from scheduling.simulation.pollux.profiles import Application, Shape

SINGLE_DEVICE = {"ncf"}  # trains on one device at one batch size under every policy, as in the artifact


class TrainingJob:
    """One job of a workload. With `fixed_batch` it always trains at that batch size, else it adapts."""

    def __init__(
        self,
        name: str,
        application: Application,
        *,
        submitted_at_s: int,
        num_wanted: int,
        fixed_batch: int | None,
        restart_s: int = 30,
    ) -> None:
        self.name = name
        self.application = application
        self.submitted_at_s = submitted_at_s
        self.num_wanted = num_wanted
        self.fixed_batch = fixed_batch
        self.estimates = Estimates()
        self.allocation: tuple[int, ...] = ()  # the node of each device, in rank order
        self.completed_at_s: int | None = None
        self.started_at_s: int | None = None
        self.service_device_s = 0.0
        self.paused_device_s = 0.0
        self.num_restarts = 0
        self.epoch = 0
        self.progress = 0.0
        self.gradient: tuple[float, float] | None = None  # as last measured
        self._restart_s = restart_s
        self._pause_s = 0
        self._now_s = 0
        self._shape: Shape = ()
        self._batch = Batch(local=0)
        self._chosen_for: tuple[Shape, int, int] | None = None

    @property
    def shape(self) -> Shape:
        """Devices on each node held, in rank order."""
        return self._shape

    @property
    def batch(self) -> Batch:
        """The batch in use; it has no meaning while nothing is held."""
        return self._batch

    def advance(self, seconds: int) -> None:
        """Trains for so long on what it holds."""
        if not self._shape or self.completed_at_s is not None:
            self._now_s += seconds
            return
        pause = min(self._pause_s, seconds)
        self.paused_device_s += pause * sum(self._shape)
        self._pause_s -= pause
        self._spend(pause)
        left = seconds - pause
        while left > 0 and self.completed_at_s is None:
            left -= self._train(left)
            self._choose_batch()
        self._now_s += left

    def reallocate(self, allocation: Sequence[int]) -> None:
        """Goes on with these devices, after a pause; with none it waits."""
        self.allocation = tuple(allocation)
        self._shape = shape_of(self.allocation)
        if not self._shape:
            return
        self._choose_batch()
        self._pause_s = self._restart_s
        if self.started_at_s is None:
            self.started_at_s = self._now_s
        else:
            self.num_restarts += 1

    def remaining_steps(self) -> float:
        """The work left, in steps at the application's least batch size. Needs the number of epochs."""
        return self.application.epoch_end(self.application.num_epochs - 1) - self.progress

    def ideal_s(self, shape: Shape) -> float:
        """Seconds that the whole job would take on these devices without a pause."""
        return self._duration_s(shape, epoch=0, progress=0.0)

    def remaining_s(self, shape: Shape) -> float:
        """The same for the work left: what an oracle knows."""
        return self._duration_s(shape, epoch=self.epoch, progress=self.progress)

    def _duration_s(self, shape: Shape, *, epoch: int, progress: float) -> float:
        application = self.application
        batch = self.fixed_batch_on(sum(shape))
        step_s = _total_step_s(application.step_times(shape, batch.local), batch)
        seconds = 0.0
        for number in range(epoch, application.num_epochs):
            end = application.epoch_end(number)
            seconds += (end - progress) * step_s / application.gain(batch.total(sum(shape)), number)
            progress = end
        return seconds

    def fixed_batch_on(self, num_devices: int) -> Batch:
        """How the job's own batch, or else its least one, is split over so many devices."""
        if self.fixed_batch is None:
            return least(self.application, num_devices)
        return split(self.application, self.fixed_batch, num_devices)

    def expected_goodputs(self, sizes: Sequence[tuple[int, int]]) -> list[float]:
        """Progress per second on each number of nodes and devices, by what it measured; nothing before the
        first measurement.
        """
        outlook = self._outlook()
        if outlook is None:
            return []
        if self.fixed_batch is None:
            return [float(each) for each in outlook.goodputs(sizes)]
        batches = [self.fixed_batch_on(num_devices) for _, num_devices in sizes]
        return [float(each) for each in outlook.goodputs_with(sizes, batches)]

    @property
    def most_devices(self) -> int:
        """The most that its batch can be split over."""
        total = self.application.most_batch if self.fixed_batch is None else self.fixed_batch
        return 1 if self.application.name in SINGLE_DEVICE else total // self.application.least_local_batch

    def _train(self, seconds: int) -> int:
        """Trains until the epoch or the time is over; returns the seconds that it took."""
        application, shape, batch = self.application, self._shape, self._batch
        num_devices = sum(shape)
        times = application.step_times(shape, batch.local)
        total = batch.total(num_devices)
        self.estimates.measure(len(shape), num_devices, batch.local, times)
        self.gradient = application.gradient(total, self.epoch)
        speed = application.gain(total, self.epoch) / _total_step_s(times, batch)
        end = application.epoch_end(self.epoch)
        if self.progress + speed * seconds < end:
            self.progress += speed * seconds
            self._spend(seconds)
            return seconds
        taken = round((end - self.progress) / speed)
        self.progress = end
        self.epoch += 1
        self._spend(taken)
        if self.epoch == application.num_epochs:
            self.completed_at_s = self._now_s
        return taken

    def _spend(self, seconds: int) -> None:
        self._now_s += seconds
        self.service_device_s += seconds * sum(self._shape)

    def _choose_batch(self) -> None:
        """The fixed batch, or the best one by what was measured; before that, the least."""
        num_devices = sum(self._shape)
        outlook = self._outlook()
        if self.fixed_batch is not None or outlook is None:
            self._batch = self.fixed_batch_on(num_devices)
            return
        basis = (self._shape, self.epoch, self.estimates.version)
        if basis != self._chosen_for:
            self._chosen_for = basis
            self._batch = outlook.best_batch(len(self._shape), num_devices)

    def _outlook(self) -> Outlook | None:
        model = self.estimates.model
        if model is None or self.gradient is None:
            return None
        return Outlook(self.application, model, self.gradient)


def shape_of(allocation: Sequence[int]) -> Shape:
    """Devices on each node: the lengths of the runs of equal nodes."""
    runs: list[int] = []
    for index, node in enumerate(allocation):
        if index and node == allocation[index - 1]:
            runs[-1] += 1
        else:
            runs.append(1)
    return tuple(runs)


def compact(num_devices: int, devices_per_node: int) -> Shape:
    """So many devices on as few nodes as can be."""
    full, rest = divmod(num_devices, devices_per_node)
    return (devices_per_node,) * full + ((rest,) if rest else ())


def _total_step_s(times: tuple[float, float], batch: Batch) -> float:
    step_s, sync_s = times
    return step_s + batch.extra_passes * (step_s - sync_s)
