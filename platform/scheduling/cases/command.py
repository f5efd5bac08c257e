"""`python -m scheduling cases FILE [--json]`: plays every case of a file and says what differs from it.

Exit 0 if all hold, 1 if one does not, 2 if the file cannot be read.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scheduling.cases.cluster import VirtualCluster
from scheduling.cases.document import read_case, read_file
from scheduling.cases.expectations import Difference, differences, last_moment
from scheduling.cases.fields import CaseError

Result = Mapping[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The file, and how to print."""
    parser.add_argument("file", type=Path, help="a case file (JSON)")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")


def run(args: argparse.Namespace) -> int:
    """Plays the cases, prints, and returns the exit status."""
    try:
        rows = read_file(args.file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, CaseError) as error:
        sys.stderr.write(f"{args.file}: {error}\n")
        return 2
    results = [play(row) for row in rows]
    num_passed = sum(result["passed"] for result in results)
    summary = {"cases": results, "passed": num_passed, "failed": len(results) - num_passed}
    sys.stdout.write(json.dumps(summary, indent=1) + "\n" if args.json else _as_text(results))
    return 0 if num_passed == len(results) else 1


def play(row: Mapping[str, Any]) -> Result:
    """One case to its end: its id, whether all of it holds, and what differs."""
    found = _differences(row)
    shown = [{"t": each.t, "what": each.what} for each in found]
    return {"id": row["id"], "passed": not found, "differences": shown}


def _differences(row: Mapping[str, Any]) -> list[Difference]:
    """A case that cannot be read, or on which the engine breaks, differs; the others are still played."""
    found: list[Difference] = []
    try:
        case = read_case(row)
        cluster = VirtualCluster(case)
        cluster.run(until=last_moment(case))
        found.extend(differences(case, cluster.history))
    except CaseError as error:
        found.append(Difference(None, str(error)))
    except Exception as error:  # noqa: BLE001  # the engine's fault in one case must not hide the others
        found.append(Difference(None, f"the engine failed: {type(error).__name__}: {error}"))
    return found


def _as_text(results: Sequence[Result]) -> str:
    lines = []
    for result in results:
        lines.append(f"{'passed' if result['passed'] else 'FAILED'}  {result['id']}")
        lines += [f"    {_moment(each['t'])}{each['what']}" for each in result["differences"]]
    num_failed = sum(not result["passed"] for result in results)
    return "\n".join([*lines, f"{len(results) - num_failed} passed, {num_failed} failed", ""])


def _moment(t: int | None) -> str:
    return "" if t is None else f"t={t}: "
