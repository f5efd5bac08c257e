"""What a job measured: figures, and curves that read without JavaScript."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from jobs.models import Job
from telemetry.selectors import latest_values, series

MAX_POINTS = 240
WIDTH, HEIGHT = 600, 180
LABELS: dict[str, str | Promise] = {
    "loss": _("Loss"),
    "mfu": _("MFU"),
    "tokens_per_second": _("Tokens per second"),
    "samples_per_second": _("Samples per second"),
    "step_seconds": _("Seconds per step"),
    "learning_rate": _("Learning rate"),
    "lr": _("Learning rate"),
    "grad_norm": _("Gradient norm"),
    "data_seconds": _("Seconds waiting for data"),
    "communication_seconds": _("Seconds of communication"),
}
ORDER = tuple(LABELS)
PERCENTAGES = frozenset({"mfu"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One series, as points of an SVG polyline and with its range."""

    name: str
    label: str
    points: str
    first: float
    last: float
    low: float
    high: float
    last_step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """The newest value of one metric."""

    name: str
    label: str
    text: str


def curve(job: Job, name: str) -> Curve | None:
    """The curve of one metric, None where nothing was measured."""
    found = series(job.id, names=[name], max_points=MAX_POINTS)
    return _curve(name, found.get(name, []))


def measured(job: Job) -> list[Curve]:
    """A curve for everything that the job measures, the well-known first."""
    names = sorted(latest_values(job.id), key=_rank)
    found = series(job.id, names=names, max_points=MAX_POINTS)
    curves = [_curve(name, found.get(name, [])) for name in names]
    return [curve for curve in curves if curve is not None]


def figures(job: Job) -> list[Figure]:
    """The newest value of everything that the job measures, the well-known first."""
    values = latest_values(job.id)
    return [
        Figure(name=name, label=label_of(name), text=_text(name, values[name]))
        for name in sorted(values, key=_rank)
    ]


def _text(name: str, value: float | None) -> str:
    if value is None:
        return "NaN"
    if name in PERCENTAGES:
        return f"{value:.1%}"
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"


def label_of(name: str) -> str:
    """The word for a metric; a program's own keep their names."""
    return str(LABELS.get(name, name))


def _rank(name: str) -> tuple[int, str]:
    return (ORDER.index(name) if name in ORDER else len(ORDER), name)


def _curve(name: str, points: Sequence[Sequence[float | None]]) -> Curve | None:
    finite = [(point[0], point[1]) for point in points if point[0] is not None and point[1] is not None]
    if not finite:
        return None
    steps, values = [step for step, _value in finite], [value for _step, value in finite]
    low, high = min(values), max(values)
    return Curve(
        name=name,
        label=label_of(name),
        points=_polyline(steps, values, low=low, high=high),
        first=values[0],
        last=values[-1],
        low=low,
        high=high,
        last_step=int(steps[-1]),
    )


def _polyline(steps: Sequence[float], values: Sequence[float], *, low: float, high: float) -> str:
    across, up = (steps[-1] - steps[0]) or 1, (high - low) or 1
    pairs = (
        (WIDTH * (step - steps[0]) / across, HEIGHT - HEIGHT * (value - low) / up)
        for step, value in zip(steps, values, strict=True)
    )
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in pairs)
