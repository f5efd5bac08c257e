"""A page asks the database as often for many rows as for few."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ray_runtime.protocol import EndCause, ReportKind
from tests.jobs.builders import World, fresh
from tests.web.browsing import browser_of, text_of

MOST_QUERIES = 30


def queries_of(look: Callable[[], Any]) -> int:
    """How many queries it takes to look."""
    with CaptureQueriesContext(connection) as caught:
        look()
    return len(caught)


@pytest.mark.parametrize("address", ["/", "/jobs", "/queues", "/cluster"])
def test_more_jobs_cost_no_more_queries(world: World, address: str) -> None:
    """Two jobs, then twelve."""
    client = browser_of(world.cast.owner)

    def look() -> str:
        return text_of(client.get(address))

    world.running(name="one")
    world.submit(name="two")
    look()
    few = queries_of(look)
    for number in range(10):
        world.submit(name=f"more-{number}")
    assert queries_of(look) == few <= MOST_QUERIES


def test_more_attempts_cost_no_more_queries(world: World) -> None:
    """On the page of one job."""
    client = browser_of(world.cast.owner)
    job, attempt = world.running()

    def look() -> str:
        return text_of(client.get(f"/jobs/{job.id}"))

    look()
    few = queries_of(look)
    for _again in range(4):
        world.end(attempt, EndCause.NODE_LOST, node="n1")
        attempt = world.place(fresh(job))
        world.report(attempt, ReportKind.RUNNING)
    assert queries_of(look) <= few + 1 <= MOST_QUERIES
