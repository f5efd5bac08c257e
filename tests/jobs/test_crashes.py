"""A worker that is killed between commit and effect: the order goes out exactly once all the same."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection

from eventlog.models import Command, Event
from eventlog.services import relay_events
from jobs.models import Attempt
from jobs.services.orders import take_orders
from jobs.services.tick import run_tick
from quotas.models import Holding
from tests.jobs.builders import World, at, fresh, used_milli

ROOT = Path(__file__).resolve().parents[2]

# A round in a process of its own, which dies hard at a chosen moment.
ROUND = """
import os, sys
sys.path[:0] = {paths!r}
os.environ["DJANGO_SETTINGS_MODULE"] = "portal.settings"
import django
django.setup()
from datetime import datetime, UTC
{dies}
from jobs.services.tick import run_tick
run_tick(now=datetime(2026, 11, 30, 12, 0, 1, tzinfo=UTC))
"""
BEFORE_COMMIT = """
import eventlog.services
eventlog.services.Command.objects.bulk_create = lambda _rows: os._exit(9)
"""
AFTER_COMMIT = """
import eventlog.services, eventlog.wakeups
eventlog.services.publish = eventlog.wakeups.publish = lambda *_message: os._exit(9)
"""


def die_in_a_round(dies: str) -> None:
    """Run one round that is killed there."""
    name = connection.settings_dict["NAME"]
    url = os.environ["DATABASE_URL"].rpartition("/")[0] + f"/{name}"
    code = ROUND.format(paths=[str(ROOT / "platform"), str(ROOT)], dies=dies)
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "DATABASE_URL": url}, timeout=60, check=False
    )
    assert done.returncode == 9


@pytest.mark.parametrize("moment", [BEFORE_COMMIT, AFTER_COMMIT], ids=["before-commit", "after-commit"])
def test_a_killed_round_leads_to_exactly_one_launch(committed_world: World, moment: str) -> None:
    """Killed before the commit nothing has happened; killed after it, the order lies in the outbox."""
    job = committed_world.submit()
    die_in_a_round(moment)
    is_committed = moment is AFTER_COMMIT
    assert (fresh(job).state == "starting", Attempt.objects.exists()) == (is_committed, is_committed)
    assert used_milli() == (4000 if is_committed else 0)
    run_tick(now=at(2))
    run_tick(now=at(3))
    assert (fresh(job).state, used_milli()) == ("starting", 4000)
    assert Attempt.objects.count() == Holding.objects.count() == Command.objects.count() == 1
    orders = take_orders(epoch=committed_world.epoch, now=at(4))
    assert [order.attempt_id for order in orders] == [str(Attempt.objects.get().id)]


def test_what_was_not_published_is_relayed(committed_world: World) -> None:
    """The event of the killed round reaches those who follow the job."""
    committed_world.submit()
    die_in_a_round(AFTER_COMMIT)
    assert Event.objects.filter(kind="placed", published_at__isnull=True).count() == 1
    assert relay_events(now=at(5)) == 1
    assert not Event.objects.filter(published_at__isnull=True).exists()
