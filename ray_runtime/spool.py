"""Reports on disk while the portal is away, one file per incarnation. Blocking: call in threads."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from ray_runtime.protocol import Report


class Spool:
    """The unacknowledged reports of one incarnation, in order."""

    def __init__(self, folder: Path, *, incarnation: str) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.incarnation = incarnation
        self._path = folder / f"{incarnation}.jsonl"

    def append(self, reports: Iterable[Report]) -> None:
        """Add reports. They survive the conductor; a torn last line of a killed one is never read."""
        with self._path.open("a") as file:
            file.writelines(json.dumps(report.to_json()) + "\n" for report in reports)

    def read(self) -> list[Report]:
        """All reports that are held."""
        try:
            lines = self._path.read_text().splitlines()
        except FileNotFoundError:
            return []
        return [report for line in lines if (report := _parse(line)) is not None]

    def clear(self) -> None:
        """The portal has them all."""
        self._path.unlink(missing_ok=True)


def left_spools(folder: Path, *, except_for: str) -> Sequence[Spool]:
    """The spools of earlier incarnations, oldest first."""
    if not folder.is_dir():
        return []
    files = sorted(folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime)
    return [Spool(folder, incarnation=path.stem) for path in files if path.stem != except_for]


def _parse(line: str) -> Report | None:
    try:
        return Report.from_json(json.loads(line))
    except (ValueError, TypeError):
        return None
